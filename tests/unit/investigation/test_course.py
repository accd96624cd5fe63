"""What a page tells of how an investigation went is what its folder holds: lines, times of stages, a trace."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.support.traced import DOWN, HELLO, born, operation, write

from ruleout.investigation.birthplace import birthplace
from ruleout.investigation.course import BEHIND, LONGEST, around, course, laps
from ruleout.investigation.folder import Folder
from ruleout.investigation.journal import Journal
from ruleout.model import (
    Case,
    Configuration,
    Evidence,
    Exposure,
    Failure,
    FailureClass,
    Observation,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
    Verdict,
    VerdictStatus,
)
from ruleout.model.course import Belief, Lap
from ruleout.numerics.starting import records_folder
from ruleout.store import Store

CASE = Case("c", "command", ("serve",), stages={Stage.WEIGHT_LOAD: "loading", Stage.DECODE: "decoding"})
LOG = "[2026-01-01 10:00:05] loading\n[2026-01-01 10:01:05] decoding\nRuntimeError: boom\nbehind\n"


def made(
    folder: Folder, log: str = LOG, *, minutes: float = 2.0, events: list[dict[str, object]] | None = None
) -> Trial:
    """A trial with its log and events on the disk."""
    failure = Failure(
        FailureClass.OTHER, Exposure(Stage.DECODE), "boom", "s", evidence=(Evidence("server.log", 3, "boom"),)
    )
    spool = folder.trial(1)
    spool.mkdir(parents=True)
    (spool / "server.log").write_text(log)
    (spool / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events or []))
    outcome = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "it", failure)
    return Trial(1, Configuration(), "the baseline", outcome, minutes, folder.log(1))


def event(kind: str, mono: float, **more: object) -> dict[str, object]:
    """An event of the agent, whose wall clock is an hour and some minutes off the log's."""
    return {
        "schema": "ruleout.event/1",
        "kind": kind,
        "seq": int(mono),
        "mono": mono,
        "wall": 1767265200 + mono,
        **more,
    }


def test_the_lines_around_one_are_numbered_as_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(1, 200_001)))
    first, lines = around(log, 150_000)
    assert lines[150_000 - first] == "line 150000"
    assert len(lines) == 150_000 - first + 1 + BEHIND
    assert around(log, 1)[1][0] == "line 1"
    assert around(log, 200_001) == (199_997, ())
    assert around(tmp_path / "gone", 1) == (1, ())


def test_a_line_of_a_megabyte_is_cut_and_a_progress_bar_shows_its_last_state(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 1_000_000 + b"\nloading 1 %\rloading 2 %\nend\n")
    _, lines = around(log, 2)
    assert len(lines[0]) <= LONGEST + 1
    assert lines[1:] == ("loading 2 %", "end")


def test_stages_begin_by_the_logs_clock_however_far_its_zone_is_from_the_agents(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    events = [event("agent", 0), event("started", 1), event("end", 120)]
    assert laps(CASE, folder, made(folder, events=events)) == (Lap("weight_load", 5.0), Lap("decode", 65.0))


def test_where_minutes_are_simulated_the_first_stage_begins_at_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    events = [event("agent", 0), event("end", 1)]
    assert laps(CASE, folder, made(folder, minutes=12.0, events=events)) == (
        Lap("weight_load", 0.0),
        Lap("decode", 60.0),
    )


def test_a_log_without_times_tells_no_stages_but_the_agent_when_it_was_ready(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    events = [event("agent", 0), event("ready", 30), event("end", 120)]
    assert laps(CASE, folder, made(folder, "loading\ndecoding\n", events=events)) == (Lap("ready", 30.0),)
    assert laps(CASE, Folder(tmp_path / "gone"), Trial(1, Configuration(), "", minutes=2.0)) == ()


def test_a_course_has_the_beliefs_the_evidence_and_the_last_trace(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    trial = made(folder)
    found_born = {"module": "m.0", "class": "Mlp", "operation": "aten.div", "phase": "decode", "step": 1, "rank": None}
    for number, document in ((1, found_born), (2, None)):
        path = tmp_path / "traces" / f"{number:04d}" / "trace.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"schema": "ruleout.trace/1", "born": document, "told": "there"}))
    assert trial.outcome is not None
    verdict = Verdict(VerdictStatus.ISOLATED, 0.99, trials=(trial,), failure=trial.outcome.failure)
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        journal.add("leading", 1, claim="a", probability=0.6, others=[["a", 0.6], ["b", 0.2]])
        journal.add("leading", 2, claim="b", probability=0.7)
        found = course(CASE, folder, journal, verdict)
    assert found.beliefs == (Belief(1, (("a", 0.6), ("b", 0.2))), Belief(2, (("b", 0.7),)))
    (excerpt,) = found.excerpts
    assert (excerpt.address, excerpt.lines[3 - excerpt.first]) == ("trials/0001/server.log:3", "RuntimeError: boom")
    assert found.birth is not None
    assert (found.birth.module, found.birth.moment, found.birth.source) == (
        "m.0",
        "decode, step 1",
        "traces/0001/trace.json",
    )


def test_evidence_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1\n2\n3\n")
    folder = Folder(tmp_path / "case")
    trial = made(folder)
    failure = Failure(
        FailureClass.OTHER, Exposure(Stage.DECODE), "m", "s", evidence=(Evidence("../../../secret", 3, "x"),)
    )
    verdict = Verdict(VerdictStatus.NARROWED, 0.5, trials=(trial,), failure=failure)
    with Store(folder.path, writing=True) as store:
        assert course(CASE, folder, Journal.read(store), verdict).excerpts == ()


def test_a_trial_that_was_traced_shows_its_birth_where_no_other_trace_was_made(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    made(folder)
    write(records_folder(folder.trial(1)), HELLO, born(), operation())
    seen = (Observation("born in the division"),)
    outcome = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "it", observed=seen)
    plain = Trial(1, Configuration(), "traced", outcome)
    assert birthplace(folder, (plain,)) is None
    found = birthplace(folder, (replace(plain, instruments=Configuration({"RULEOUT_TRACE_MODE": "watch"})),))
    assert found is not None
    assert (found.module, found.operation, found.told) == (DOWN, "aten.mm.default", "born in the division")
    assert found.source == "trials/0001/evidence/trace.txt"
