"""The pictures of a page as numbers: shapes only, in units of a drawing that stretches; words are the page's.

Text inside of a drawing shrinks with it and cannot be read on a phone. So lines and bars are drawn in a thousandth of
the width each, and whatever is to be read stands beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ruleout.model import Trial, Verdict
from ruleout.model.course import Belief, Lap
from ruleout.report import words
from ruleout.report.page.trials import MARKS

WIDTH, HEIGHT = 1000, 200
SERIES, POINTS, TICKS = 5, 400, 5
"""Lines of the plot, points of a line, numbers below it."""
WORTH_A_LINE = 0.05
"""A hypothesis that never was likelier than this has no line."""
GROUPS = {
    "start": ("install_import", "arg_parsing", "model_config", "distributed_init"),
    "weights": ("weight_load",),
    "preparing": ("kv_cache_alloc", "kernel_compile", "cuda_graph_capture", "warmup"),
    "serving": ("ready", "prefill", "decode", "concurrency", "shutdown"),
}
"""Stages by the shade that they have in the time line."""
UNTOLD = "untold"
THIN = 1.5
"""The least length of a piece that is still seen."""


@dataclass(frozen=True, slots=True)
class Line:
    """A hypothesis over the trials. `dots`: a path with a dot for each trial; empty where there are too many."""

    claim: str
    now: str
    most: str
    points: Markup
    dots: Markup


@dataclass(frozen=True, slots=True)
class Plot:
    """Probabilities over trials: lines, the numbers below them with their place, and where the leader changed."""

    lines: tuple[Line, ...]
    ticks: tuple[tuple[int, float], ...]
    pivots: tuple[float, ...]
    leaders_only: bool


def beliefs(told: Sequence[Belief], verdict: Verdict) -> Plot | None:
    """The plot; None while there is too little for one."""
    if len(told) < 2:
        return None
    step = -(-len(told) // POINTS)
    kept = [*told[:-1][::step], told[-1]]
    leaders_only = all(len(belief.claims) == 1 for belief in kept)
    most: dict[str, float] = {}
    for belief in told:
        for claim, p in belief.claims:
            most[claim] = max(p, most.get(claim, 0.0))
    last = dict(told[-1].claims)
    ranked = sorted(most, key=lambda claim: (-last.get(claim, 0.0), -most[claim]))
    leaders = sorted(most, key=lambda claim: -most[claim])[:SERIES]
    chosen = [claim for claim in ranked if claim in leaders and most[claim] >= WORTH_A_LINE]
    begin, end = told[0].after, told[-1].after

    def x(number: float) -> float:
        return round(WIDTH * (number - begin) / max(end - begin, 1), 1)

    lines = []
    for claim in chosen:
        at = [(x(b.after), dict(b.claims).get(claim, None if leaders_only else 0.0)) for b in kept]
        path = [(px, round(HEIGHT * (1 - p), 1)) for px, p in at if p is not None]
        dots = "".join(f"M{px:g} {py:g}h0" for px, py in path if py < HEIGHT) if len(path) <= 80 else ""
        points = "" if leaders_only else " ".join(f"{px:g},{py:g}" for px, py in path)
        now = f"{words.percent(last[claim])} in the end" if claim in last else "in the end not among the likeliest"
        lines.append(Line(claim, now, words.percent(most[claim]), Markup(points), Markup(dots)))
    numbers = sorted({begin + round((end - begin) * i / (TICKS - 1)) for i in range(TICKS)})
    ticks = tuple((number, x(number) / 10) for number in numbers)
    return Plot(
        tuple(lines), ticks, tuple(x(p.after_trial) for p in verdict.pivots if begin <= p.after_trial), leaders_only
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """A trial in the time line: pieces by their group (begin, length), and the whole in words."""

    number: int
    outcome: str
    mark: str
    ended: str
    pieces: tuple[tuple[str, float, float], ...]
    told: str


def bars(trials: Sequence[Trial], laps: Mapping[int, Sequence[Lap]]) -> tuple[Bar, ...]:
    """The trials to one scale, the longest as wide as the drawing."""
    made = [trial for trial in trials if words.took(trial) and not words.hearsay(trial)]
    longest = max((trial.minutes for trial in made), default=0.0) * 60
    return tuple(_bar(trial, laps.get(trial.id, ()), longest) for trial in made) if longest else ()


def _bar(trial: Trial, laps: Sequence[Lap], longest: float) -> Bar:
    outcome = words.outcome(trial.outcome)
    total = trial.minutes * 60
    if laps and laps[-1].begin > total:
        laps = ()  # the command said what it would have taken; the times of its log are other ones
    begins = [lap.begin for lap in laps] or [total]
    told = [("before the first line", 0.0, begins[0])] if laps and begins[0] > 1 else []
    ends = [*begins[1:], max(total, begins[-1])]
    told += [(lap.stage, lap.begin, end) for lap, end in zip(laps, ends, strict=True)] if laps else []
    pieces = [(group(stage), begin, end) for stage, begin, end in told] or [(UNTOLD, 0.0, total)]
    scale = WIDTH / longest
    spoken = ", ".join(f"{stage} {words.minutes((end - begin) / 60)}" for stage, begin, end in told)
    return Bar(
        trial.id,
        outcome,
        MARKS[outcome],
        f"{words.minutes(trial.minutes)} {words.reached(trial)}".rstrip(),
        tuple(
            (name, round(begin * scale, 1), round(max((end - begin) * scale, 1.5), 1)) for name, begin, end in pieces
        ),
        f"Trial {trial.id}, {outcome}: {spoken or words.minutes(trial.minutes)}",
    )


def group(stage: str) -> str:
    """The shade of a stage."""
    return next((name for name, stages in GROUPS.items() if stage in stages), UNTOLD)


def strip(trials: Sequence[Trial]) -> tuple[tuple[str, int, Markup], ...]:
    """Of very many trials how each ended: a row of the drawing for each outcome, with its number of trials."""
    ended = [words.outcome(trial.outcome) for trial in trials]
    counts = Counter(ended)
    step = WIDTH / max(len(trials), 1)
    rows = {outcome: number for number, outcome in enumerate(o for o in MARKS if counts[o])}
    paths: dict[str, list[str]] = {outcome: [] for outcome in rows}
    for number, outcome in enumerate(ended):
        paths[outcome].append(f"M{number * step:.4g} {10 * rows[outcome] + 1}v8")
    return tuple((outcome, counts[outcome], Markup("".join(path))) for outcome, path in paths.items())
