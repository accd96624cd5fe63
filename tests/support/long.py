"""An investigation of thousands of trials, written as the journal writes it, without launching anything."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ruleout.investigation.casefile import parse_case
from ruleout.model import (
    Case,
    Configuration,
    Evidence,
    Exposure,
    Failure,
    FailureClass,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
    Verdict,
)
from ruleout.model.codec import to_json
from ruleout.store import Store

FACTORS = 16
OTHER = Failure(FailureClass.OOM, Exposure(Stage.WEIGHT_LOAD), "out of memory", "mask", "RuntimeError")
SHOWN = Failure(
    FailureClass.DEVICE_SIDE_ASSERT,
    Exposure(Stage.DECODE),
    "probability tensor contains inf",
    "target",
    "RuntimeError",
    evidence=(Evidence("server.log", 812, "probability tensor contains inf"),),
)
OUTCOMES = (
    Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "the failure to explain", SHOWN),
    Outcome(OutcomeKind.CLEAN, Stage.DECODE, "every probe passed"),
    Outcome(OutcomeKind.OTHER, Stage.WEIGHT_LOAD, "another failure came first", OTHER),
)


def case_text(name: str = "long") -> str:
    """Its case file."""
    factors = "".join(f"  f{n}: {{flag: --f{n}, levels: [a, b, c], baseline: a}}\n" for n in range(FACTORS))
    return f"name: {name}\ncommand: [serve, --api-key, sk-aB3dE5gH7jK9mN1pQ3sT]\nmode: job\nfactors:\n{factors}"


def case_of() -> Case:
    """The case itself."""
    return parse_case(case_text(), "case.yaml", Path())


def trials(case: Case, number: int) -> tuple[Trial, ...]:
    """So many trials, the baseline first."""
    return tuple(
        Trial(n, _moved(case, n), "tells most", OUTCOMES[(n - 1) % 3], 12.0, f"trials/{n:04d}/server.log")
        for n in range(1, number + 1)
    )


def write(folder: Path, number: int, verdict: Verdict | None = None) -> Case:
    """An investigation of so many trials in a folder; with a verdict of them, if one is given."""
    folder.mkdir(parents=True)
    text = case_text()
    (folder / "case.yaml").write_text(text)
    case = parse_case(text, "case.yaml", folder)
    rows: list[tuple[float, str, int | None, str]] = [(time.time(), "case", None, json.dumps({"text": text}))]
    for trial in trials(case, number):
        plan = {"configuration": dict(trial.configuration), "purpose": trial.purpose, "token": f"t{trial.id}"}
        done = {"outcome": to_json(trial.outcome), "minutes": trial.minutes, "log": trial.log}
        leading = {"claim": f"f{trial.id % 3}=a", "probability": 0.5, "others": [["f4=a", 0.2]]}
        for kind, body in (("planned", plan), ("finished", done), ("leading", leading)):
            rows.append((time.time(), kind, trial.id, json.dumps(body)))
    if verdict is not None:
        rows.append((time.time(), "verdict", None, json.dumps({"verdict": to_json(verdict)})))
    with Store(folder, writing=True) as store:
        store._db.execute("BEGIN")
        store._db.executemany("INSERT INTO events (wall, kind, trial, body) VALUES (?, ?, ?, ?)", rows)
        store._db.execute("COMMIT")
    return case


def _moved(case: Case, number: int) -> Configuration:
    if number == 1:
        return case.baseline
    names = {f"f{number % FACTORS}", f"f{number // FACTORS % FACTORS}"}
    return case.baseline.moved(dict.fromkeys(names, "bc"[number % 2]))
