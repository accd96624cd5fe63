"""How right a diagnosis of labelled failures is, and whether its probabilities can be taken at their word.

    python benchmarks/diagnosis --cases DIR [--repeats N] [--svg FILE] [--counts]

Prints the figures as shipped, and those of each third predicted from the other two (`folds.py` says what that can
and cannot take back), beside two plain peers: base rates of the class alone, and a list of words.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "src")]

import cases  # noqa: E402
import curve  # noqa: E402
import folds  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402

from ruleout.diagnosis.clues import CLUES  # noqa: E402


def main() -> int:
    """Print the tables and draw the curve."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--cases", type=Path, help="a folder of labelled cases")
    asked.add_argument("--repeats", type=int, default=10, help="how often the cases are split into thirds")
    asked.add_argument("--svg", type=Path, help="where to draw the calibration curve")
    asked.add_argument("--counts", action="store_true", help="print the base rates and scales that all cases give")
    given = asked.parse_args()
    if given.cases is None or not given.cases.is_dir():
        print(
            f"no labelled cases at {given.cases or 'the folder of --cases, which was not given'}: nothing is measured"
        )
        print("  Give a folder of them: python benchmarks/diagnosis --cases DIR")
        return 0
    with tempfile.TemporaryDirectory(prefix="ruleout-bench-") as scratch:
        found = cases.read(given.cases, Path(scratch))
    if not found:
        print(f"{given.cases}: no labelled cases in there (*.yaml)\n  Name the folder that holds them.")
        return 1
    report(found, given.repeats, given.svg)
    if given.counts:
        known = folds.Known(folds.counts(found), folds.SCALES)
        print(f"\n{folds.fitted(found, known)}")
        for class_, row in sorted(known.counted.items()):
            told = ", ".join(f"C.{c.name}: {n}" for c, n in sorted(row.items(), key=lambda item: -item[1]))
            print(f"    F.{class_.name}: {{{told}}},")
    return 0


def report(found: Sequence[cases.Case], repeats: int, svg: Path | None) -> None:
    """All figures of these cases."""
    n = len(found)
    right = sum(case.read_class is case.class_ for case in found)
    stages = sum(case.stage_is_right for case in found)
    print(f"{n} cases; class {right / n:.2f}  stage {stages / n:.2f}")
    print(f"{folds.shown(CLUES, found)} of {len(CLUES)} clues are shown by some case\n")
    print(f"{'peers':<42}{measure.ranked(peers.by_class(found))!s:<32}")
    print(f"{'  a list of words':<42}{measure.ranked(peers.by_words(found))!s:<32}")
    for rules in (False, True):
        name = "with rules" if rules else "without rules"
        told = [(folds.SHIPPED.likely(case, rules=rules), case.component) for case in found]
        print(f"{name + ', as shipped':<42}{measure.ranked(told)!s:<32}log loss {measure.log_loss(told):.2f}")
    split = [(folds.learned(train), held) for train, held in folds.thirds(found, repeats)]
    for rules in (False, True):
        name = "with rules" if rules else "without rules"
        told = [(known.likely(case, rules=rules), case.component) for known, held in split for case in held]
        print(f"{name + ', held-out thirds':<42}{measure.ranked(told)!s:<32}log loss {measure.log_loss(told):.2f}")
    curves = {}
    for rules in (False, True):
        name = "with rules" if rules else "without rules"
        told = [(known.likely(case, rules=rules), case.component) for known, held in split for case in held]
        curves[name] = measure.bins(told, repeats)
        print(f"\n{name}, held-out thirds, mean of {repeats} splits")
        print("  given      suspects   mean given   right   90 % interval")
        for one in curves[name]:
            print(
                f"  {one.begin:3.0%}–{one.end:4.0%}{one.number:>10.1f}{one.stated:>13.2f}{one.right:>8.2f}"
                f"   {one.low:.2f}–{one.high:.2f}"
            )
    if svg:
        svg.parent.mkdir(parents=True, exist_ok=True)
        svg.write_text(curve.drawn(curves), encoding="utf-8")
        print(f"\n{svg}: the curve")


if __name__ == "__main__":
    sys.exit(main())
