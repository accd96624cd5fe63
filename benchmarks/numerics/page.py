"""The page of a run: accuracy and slowdown of every instrument in one table, then where the answers went wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.numerics.cases import FAULTS, HEALTHY, Case
from benchmarks.numerics.scoring import Score
from benchmarks.numerics.slowdown import PHASES, SIZES, Ratio

OURS = "ruleout"
Scores = Mapping[str, Mapping[str, Score]]
"""By instrument, then by name of case."""
GOALS = {"large": 1.15, "tiny": 1.4}
"""Of watching, as the ratio of CPU time while all is finite."""
WAYS = {OURS: "ruleout, watching"}
"""What an instrument is called where it has several ways of working."""


@dataclass(frozen=True)
class Run:
    """All that was measured.

    Attributes:
        setting: machine, versions, seed and date, a line each.
        without: instruments that could not be had, and why.
        drawn: how many places the judge refused before it had one for each fault.
    """

    cases: Sequence[Case]
    truths: Mapping[str, Mapping[str, object]]
    scores: Scores
    ratios: Sequence[Ratio]
    setting: Sequence[str]
    without: Mapping[str, str]
    drawn: int


def page(run: Run) -> str:
    """Markdown."""
    faults = [case for case in run.cases if case.faulty]
    healthy = [case for case in run.cases if not case.faulty]
    lines = [
        "# Tracing numbers, measured",
        "",
        "By `make bench-numerics` (`SEED=0 CASES=60`): faults are planted in tiny models of five architectures in two",
        "releases of transformers, in float32, float16 and bfloat16, and each model is asked twice, by `generate` or a",
        "loop of prefill and decode. Before anything is measured, a judge that looks at everything proves each fault:",
        "that it shows in what is read, and that the truth written down for it is what happened. Beside them there are",
        "healthy runs with masks, padding and memory that nobody wrote. Each case is a process of its own.",
        "",
        *(f"- {line}" for line in run.setting),
        f"- {run.drawn} places were refused by the judge (no such place in that model, or the fault does not show).",
        "",
        "## Accuracy and slowdown",
        "",
        *_main_table(run, faults, healthy),
        "",
        "Right module: the innermost one whose inputs were finite and whose output was not. Right operation: also the",
        "first that made the number, or the parameter that brought it along. Of healthy runs none should be reported.",
        "Slowdown: CPU time of a process with the instrument over one without, while all is finite; medians, quartiles",
        "in brackets. `–`: it has no such answer.",
        "",
        *_notes(run),
        "## By kind of fault",
        "",
        *_kinds(faults, run.scores, FAULTS),
        "",
        "## By kind of healthy run",
        "",
        "Runs in which something was reported.",
        "",
        *_kinds(healthy, run.scores, HEALTHY),
        "",
        "## ruleout's other answers",
        "",
        *_other(run, faults),
        "",
        "## Where ruleout was not right",
        "",
        *_wrong(run),
    ]
    return "\n".join(lines) + "\n"


def _main_table(run: Run, faults: Sequence[Case], healthy: Sequence[Case]) -> list[str]:
    heads = [f"{_size(run.ratios, size)}, {phase}" for size in SIZES for phase in PHASES]
    rows = [_row(["instrument", "right module", "right operation", "reports on healthy runs", *heads])]
    rows.append(_row(["---"] * (4 + len(heads))))
    labels = [*run.scores, *(ratio.label for ratio in run.ratios if ratio.label not in WAYS.values())]
    for label in dict.fromkeys(labels):
        scores = run.scores.get(label)
        cells = ["–"] * 3
        if scores is not None:
            modules = [scores[case.name].module for case in faults]
            operations = [scores[case.name].operation for case in faults]
            reports = sum(scores[case.name].answered for case in healthy)
            cells = [_share(modules), _share(operations), f"{reports} of {len(healthy)}"]
        slow = [_ratio(run.ratios, WAYS.get(label, label), size, phase) for size in SIZES for phase in PHASES]
        rows.append(_row([_name(label), *cells, *slow]))
    return rows


def _notes(run: Run) -> list[str]:
    lines = [f"- {name} is not in the table: {why}." for name, why in run.without.items()]
    for size, goal in GOALS.items():
        found = [r for r in run.ratios if r.label == WAYS[OURS] and r.size == size]
        if found:
            worst = max(r.median for r in found)
            verdict = "reached" if worst <= goal else "missed"
            lines.append(f"- Watching, {_size(run.ratios, size)}: {worst:.2f}× at most, to reach {goal:g}×: {verdict}.")
    return [*lines, ""] if lines else []


def _kinds(cases: Sequence[Case], scores: Scores, kinds: Mapping[str, str]) -> list[str]:
    rows = [_row(["kind", *map(_name, scores)]), _row(["---"] * (1 + len(scores)))]
    for kind, what in kinds.items():
        names = [case.name for case in cases if case.kind == kind]
        if names:
            faulty = kind in FAULTS
            cells = [
                f"{sum(given[n].module for n in names)} · {sum(given[n].operation for n in names)} of {len(names)}"
                if faulty
                else f"{sum(given[n].answered for n in names)} of {len(names)}"
                for given in scores.values()
            ]
            rows.append(_row([f"{kind}: {what}", *cells]))
    return [*(["Right modules · right operations.", ""] if cases and cases[0].faulty else []), *rows]


def _other(run: Run, faults: Sequence[Case]) -> list[str]:
    scores = run.scores.get(OURS)
    if scores is None:
        return []
    moments = [each.moment for case in faults if (each := scores[case.name]).moment is not None]
    several = [scores[case.name].rank for case in faults if case.ranks > 1 and scores[case.name].rank is not None]
    return [
        f"- Phase and step, where it says them: {_share(moments)}.",
        f"- The rank, of two: {_share(several)}.",
    ]


def _wrong(run: Run) -> list[str]:
    scores = run.scores.get(OURS, {})
    rows = [_row(["case", "kind", "truth", "said"]), _row(["---"] * 4)]
    for case in run.cases:
        score = scores.get(case.name)
        if score is None or (score.operation and score.moment is not False and score.rank is not False):
            continue
        truth = run.truths.get(case.name)
        what = f"{case.kind}, {case.family}, {case.environment.removeprefix('transformers-')}"
        rows.append(_row([case.name, what, _truth(truth) if truth else "nothing", f"`{score.said}`"]))
    return rows if len(rows) > 2 else ["Nowhere."]


def _truth(truth: Mapping[str, object]) -> str:
    operations = truth["operations"]
    first = operations[0] if isinstance(operations, list) and operations else ""
    what = f"parameter {truth['parameter']}" if truth["parameter"] else first
    return f"`{truth['module']} {what} {truth['phase']} {truth['step']}`" + (
        f" rank {truth['rank']}" if truth["rank"] else ""
    )


def _ratio(ratios: Iterable[Ratio], label: str, size: str, phase: str) -> str:
    for each in ratios:
        if (each.label, each.size, each.phase) == (label, size, phase):
            return f"{each.median:.2f} ({each.low:.2f}–{each.high:.2f})"
    return "–"


def _size(ratios: Iterable[Ratio], size: str) -> str:
    parameters = next((each.parameters for each in ratios if each.size == size), 0)
    return f"{parameters / 1e6:.{0 if parameters > 1e6 else 1}f} M parameters" if parameters else size


def _share(right: Sequence[bool | None]) -> str:
    return f"{sum(map(bool, right))} of {len(right)} ({sum(map(bool, right)) / len(right):.0%})" if right else "–"


def _name(label: str) -> str:
    named: dict[str, str] = defaultdict(lambda: label, {"nothing": "two without any", OURS: "**ruleout, watching**"})
    return named[label]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
