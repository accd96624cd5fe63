"""The tables, in Markdown: right, trials, minutes of each strategy on each family, and what must hold."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.planted.contenders import CONTENDERS, ONE_FACTOR, RULEOUT
from benchmarks.planted.families import ABOUT, DETERMINISTIC, FAMILIES, SOLVABLE
from benchmarks.planted.founding import ADVISED, BLAMED
from benchmarks.planted.histories import HISTORIES
from benchmarks.planted.results import Result
from benchmarks.planted.statistics import calibration, cell, minutes_ratio

CONFIDENT = 0.95
GOALS: dict[str, tuple[str, int, int]] = {
    "single": ("100 %", 11, 9),
    "pair": ("≥ 95 %", 16, 13),
    "triple": ("≥ 95 %", 21, 17),
    "levels": ("100 %", 12, 9),
    "two": ("≥ 95 %", 28, 22),
    "flaky": ("≥ 90 %", 45, 32),
}
"""Of ruleout on each family: the share that is to be right, the trials to reach, and how near the limit comes."""


def tables(results: Sequence[Result]) -> str:
    """All of them, each with a line that says what it shows."""
    deployments = [family for family in FAMILIES if family not in HISTORIES]
    parts = [
        "Right answers · mean trials · mean simulated minutes.",
        matrix(results, deployments),
        "Linear histories: right is the oldest revision that can be seen to fail.",
        matrix(results, list(HISTORIES)),
        "ruleout against its goals (mean trials; the last column is about what can be had at all):",
        goals(results),
        "What must hold:",
        promises(results),
        "Stated probabilities of ruleout's verdicts, and how many of them are right (95 % interval):",
        calibrated(results),
    ]
    if missing := [f"{one.name} did not take part: {one.missing()}." for one in CONTENDERS if one.missing()]:
        parts.append(" ".join(missing))
    return "\n\n".join(part for part in parts if part)


def matrix(results: Sequence[Result], families: Sequence[str]) -> str:
    """A row per family, a column per strategy."""
    present = [one for one in CONTENDERS if any(one.takes_part(family) for family in families)]
    rows = [["family", *(one.name for one in present)]]
    for family in families:
        found = [result for result in results if result.family == family]
        if found:
            rows.append([f"{family}: {ABOUT[family]}", *(_shown(found, one.name) for one in present)])
    return _markdown(rows)


def goals(results: Sequence[Result]) -> str:
    """A row per family of the design: what is to be reached, and what was."""
    rows = [["family", "right", "to reach", "isolated", "trials", "to reach", "near the limit"]]
    for family, (share, trials, limit) in GOALS.items():
        found = cell(result for result in results if (result.strategy, result.family) == (RULEOUT, family))
        if found is not None:
            right = f"{found.right:.0%} of {found.count}"
            rows.append([family, right, share, str(found.isolated), f"{found.trials:.1f}", f"≤ {trials}", str(limit)])
    return _markdown(rows) if len(rows) > 1 else ""


def promises(results: Sequence[Result]) -> str:
    """The figures of the design for ruleout: what is to be reached, and what was measured."""
    own = [result for result in results if result.strategy == RULEOUT]
    asked = [result for result in own if result.family in (*DETERMINISTIC, "flaky")]
    rows = [["", "to reach", "measured"]]
    if asked:
        right = sum(result.right for result in asked)
        rows.append(["right over the six families", "≥ 95 %", f"{right / len(asked):.1%} ({right} of {len(asked)})"])
    false = [result for result in own if result.falsely_isolated]
    for words, families, limit in (
        ("isolated and wrong, five deterministic families", DETERMINISTIC, "0"),
        ("isolated and wrong, flaky", ("flaky",), "≤ 2 in 50"),
        ("isolated and wrong, all others", tuple(set(FAMILIES) - {*DETERMINISTIC, "flaky"}), "0"),
    ):
        met = sum(result.family in families for result in own)
        rows.append([words, limit, f"{sum(result.family in families for result in false)} of {met}"])
    ratio = minutes_ratio(results, RULEOUT, ONE_FACTOR, SOLVABLE)
    if ratio is not None:
        rows.append(["minutes, of those of one factor at a time on what it can solve", "≤ 0.6", f"{ratio:.2f}"])
    confident = [result for result in own if result.probability is not None and result.probability >= CONFIDENT]
    if confident:
        right = sum(result.right for result in confident)
        share = f"{right / len(confident):.1%} ({right} of {len(confident)})"
        rows.append([f"right, of verdicts with probability ≥ {CONFIDENT}", "≥ 95 %", share])
    return _markdown([*rows, *_founding(own)])


def _founding(own: Sequence[Result]) -> list[list[str]]:
    met = [result for result in own if result.family == "founding"]
    if not met:
        return []
    blamed = sum(BLAMED in cause for result in met for cause in result.causes)
    refuted = sum(any(ADVISED in text for text in result.refuted) for result in met)
    right = sum(result.right and result.status == "isolated" for result in met)
    return [
        ["founding case: all four isolated", "all", f"{right} of {len(met)}"],
        ["founding case: trials at most", "≤ 45", str(max(result.trials for result in met))],
        [f"founding case: {BLAMED} claimed", "0", str(blamed)],
        [f"founding case: {ADVISED} refuted as a way out", "all", f"{refuted} of {len(met)}"],
    ]


def calibrated(results: Sequence[Result]) -> str:
    """A row per range of stated probability."""
    rows = [["stated", "verdicts", "mean stated", "right", "interval"]]
    for one in calibration([result for result in results if result.strategy == RULEOUT]):
        low, high = one.interval
        share = f"{one.right / one.count:.1%} ({one.right})"
        limits = f"{one.low:g} to {one.high:g}"
        rows.append([limits, str(one.count), f"{one.stated:.3f}", share, f"{low:.0%} to {high:.0%}"])
    return _markdown(rows) if len(rows) > 1 else ""


def _shown(results: Sequence[Result], name: str) -> str:
    found = cell(result for result in results if result.strategy == name)
    if found is None:
        return "–"
    text = f"{found.right:.0%} · {found.trials:.1f} · {found.minutes:.0f}"
    return f"**{text}**" if name == RULEOUT else text


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *rest])
