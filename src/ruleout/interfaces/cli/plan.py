"""`--dry-run`: what would be varied, how the baseline would be launched, and what it may cost."""

from __future__ import annotations

import shlex

from ruleout.engines import engine_named
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.streams import tell_json
from ruleout.interfaces.cli.verdict import indented
from ruleout.investigation.loop import DEFAULT_TRIALS, check_launches
from ruleout.model import Budget, Case
from ruleout.reasoning.costs import DEFAULT_MINUTES
from ruleout.report import words


def tell_plan(case: Case, budget: Budget, as_json: bool, text: str = "") -> None:
    """Print the plan. Raises UsageError when a factor cannot be set on this command.

    Args:
        text: the case file, where it was made from a command.
    """
    engine = engine_named(case.engine)
    check_launches(case, engine)
    launch = engine.launch(case, case.baseline)
    each = case.cost.trial or DEFAULT_MINUTES
    most = budget.trials or DEFAULT_TRIALS
    every = sum(len(f.others) for f in case.factors) + 1
    if as_json:
        tell_json(
            {
                "schema": "ruleout.plan/1",
                "case": case.name,
                "command": list(launch.argv),
                "environment": {k: v for k, v in launch.env.items() if v is not None},
                "factors": [
                    {"name": f.name, "levels": list(f.levels), "baseline": f.baseline, "proxy": f.proxy}
                    for f in case.factors
                ],
                "minutes_per_trial": each,
                "most_trials": most,
                "one_factor_at_a_time": {"trials": every, "minutes": every * each},
                **({"case_file": text} if text else {}),
            }
        )
        return
    console = answer_console()
    console.print(f"{case.name}: nothing is launched")
    console.print(f"  baseline  {shlex.join(launch.argv)}", soft_wrap=True)  # to be copied: as it is
    estimate = "" if case.cost.trial else " (no cost.trial in the case; this is a guess)"
    rows = [("factor", words.factor(factor)) for factor in case.factors]
    rows += [("", "(* the failing deployment's)")] if rows else []
    rows += [
        ("price", f"about {words.minutes(each)} a trial{estimate}, at most {words.count(most, 'trial')}"),
        ("", f"every level by itself would be {words.count(every, 'trial')}, {words.minutes(every * each)}"),
        ("first", "the baseline; what comes next depends on what it shows"),
        *([("", "and the factors are chosen by its log: those above are chosen without one")] if text else []),
    ]
    for label, told in rows:
        for row in indented(f"  {label:<10}{told}", console.width, 12):
            console.print(row, soft_wrap=True)
    if text:
        console.print("")
        console.print(text.rstrip(), markup=False, soft_wrap=True)
