"""report.html: the same story for a browser, in one file that needs no network: the conclusion, then what bears it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ruleout.model import Case, Trial, Verdict
from ruleout.report import words
from ruleout.report.summary import facts, headline

MARKS = {"reproduced": "✗", "clean": "✓", "masked": "▒", "unresolved": "?", "unfinished": "…"}
"""Outcomes are told apart without colour, too."""
WORTH_A_LINE = 0.001
BAR_REM = 10.0


def page(case: Case, verdict: Verdict) -> str:
    """The page. Logs are linked relative to the folder of the investigation."""
    environment = Environment(
        loader=PackageLoader("ruleout.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("page.html.j2").render(
        case=case,
        headline=headline(case, verdict),
        facts=list(facts(case, verdict, "")),
        rows=[_row(case, trial) for trial in verdict.trials],
        hypotheses=list(_hypotheses(verdict)),
        lists=[
            ("Looks ruled out, is not", list(_looks_ruled_out(case, verdict))),
            ("Changes of mind", [f"after trial {p.after_trial}: from “{p.from_}” to “{p.to}”" for p in verdict.pivots]),
            ("Assumptions", [f"{a.status}: {a.text} (test: {a.test})" for a in verdict.assumptions]),
        ],
    )


def _row(case: Case, trial: Trial) -> dict[str, Any]:
    outcome = words.outcome(trial.outcome)
    judged = trial.outcome
    stage = (judged.failure.exposure.stage if judged.failure else judged.reached) if judged else ""
    levels = [trial.configuration.get(f.name, f.baseline) for f in case.factors]
    return {
        "id": trial.id,
        "outcome": outcome,
        "mark": MARKS[outcome],
        "reason": judged.reason if judged else "",
        "stage": stage,
        "time": words.minutes(trial.minutes),
        "levels": [(level, level != f.baseline) for level, f in zip(levels, case.factors, strict=True)],
        "purpose": trial.purpose,
        "log": trial.log,
    }


def _hypotheses(verdict: Verdict) -> Iterator[dict[str, Any]]:
    for h in verdict.hypotheses:
        if h.probability >= WORTH_A_LINE:
            yield {
                "percent": words.percent(h.probability),
                "width": round(BAR_REM * h.probability, 2),
                "claim": h.claim,
                "status": h.status.replace("_", " "),
                "because": ", ".join(map(str, h.because)),
            }


def _looks_ruled_out(case: Case, verdict: Verdict) -> Iterator[str]:
    for masked in verdict.masked:
        changed = words.changes(masked.configuration, case.baseline)
        yield f"trial {masked.trial}, {changed}: failed otherwise ({masked.failure})"
    for left in verdict.not_ruled_out:
        untried = f"; untried: {', '.join(left.untried)}" if left.untried else ""
        yield f"{left.factor}: tried {', '.join(left.tried)}{untried}"
