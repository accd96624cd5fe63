"""Two plots: how many answers are right after how many minutes, and whether stated probabilities come true.

The colours are of middle brightness on no background, so that they can be read on a light page and on a dark one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.planted.contenders import CONTENDERS, RULEOUT
from benchmarks.planted.families import FAMILIES
from benchmarks.planted.histories import HISTORIES
from benchmarks.planted.results import Result
from benchmarks.planted.statistics import calibration

INK = "#7a7f87"
COLOURS = ("#e0562f", "#3f87d9", "#2f9e75", "#a071d6", "#b08a1e", "#d4589a", "#5f9ea0", "#2f9e75", "#a071d6")
"""One for each contender, in their order; those of histories meet only ruleout and one factor at a time."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), "-.", ":")
"""So that no strategy is told by its colour alone."""
GROUPS = {
    "the six families of the design": ("single", "pair", "triple", "levels", "two", "flaky"),
    "families that hurt": tuple(f for f in FAMILIES if f in ("misleading", "crowded", "elsewhere", "founding")),
    "linear histories": tuple(HISTORIES),
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "planted",
    "font.family": "sans-serif",
    "font.size": 9,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
WIDTH, HEIGHT = 7.2, 3.6
"""Inches of one panel."""


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write minutes.svg and calibration.svg; their paths. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(STYLE)
    return [_minutes(results, folder / "minutes.svg"), _calibration(results, folder / "calibration.svg")]


def _minutes(results: Sequence[Result], path: Path) -> Path:
    from matplotlib.figure import Figure

    shown = {name: families for name, families in GROUPS.items() if any(r.family in families for r in results)}
    figure = Figure(figsize=(WIDTH, HEIGHT * max(1, len(shown))), layout="constrained")
    for number, (name, families) in enumerate(shown.items(), 1):
        axes = figure.add_subplot(len(shown), 1, number)
        _axes(axes, name, "simulated minutes of trials", "share of scenarios answered right")
        inside = [result for result in results if result.family in families]
        limit = 1.05 * max(result.minutes for result in inside)
        for contender, colour, dash in zip(CONTENDERS, COLOURS, DASHES, strict=True):
            own = [result for result in inside if result.strategy == contender.name]
            if own:
                times = sorted(result.minutes for result in own if result.right)
                shares = [rank / len(own) for rank in range(len(times) + 1)]
                axes.step(
                    [0, *times, limit], [*shares, shares[-1]], where="post", color=colour, linestyle=dash,
                    linewidth=2.4 if contender.name == RULEOUT else 1.4, label=contender.name,
                )  # fmt: skip
        axes.set_xlim(0, limit)
        axes.set_ylim(-0.02, 1.05)
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3.2)
    return _saved(figure, path)


def _calibration(results: Sequence[Result], path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    _axes(axes, "verdicts of ruleout", "stated probability", "share that is right (95 % interval)")
    bins = calibration([result for result in results if result.strategy == RULEOUT])
    for place, one in enumerate(bins):
        low, high = one.interval
        share = one.right / one.count
        axes.errorbar(
            place, share, yerr=[[max(0.0, share - low)], [max(0.0, high - share)]],
            fmt="o", color=COLOURS[0], capsize=4, label="" if place else "right",
        )  # fmt: skip
        axes.hlines(one.stated, place - 0.3, place + 0.3, color=COLOURS[1], label="" if place else "stated, on average")
        axes.annotate(f"{one.right} of {one.count}", (place, 0.03), ha="center", fontsize=8)
    axes.set_xticks(range(len(bins)), [f"{one.low:g} to {one.high:g}" for one in bins])
    axes.set_xlim(-0.6, len(bins) - 0.4)
    axes.set_ylim(0, 1.05)
    if bins:
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _saved(figure, path)


def _axes(axes: Any, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_facecolor("none")
    axes.grid(color=INK, alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _saved(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, transparent=True, metadata={"Date": None})
    return path
