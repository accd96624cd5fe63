"""Puts what `make test-engines` printed into the page of worked examples, so that no output on it is made up.

    RULEOUT_TRANSCRIPTS=FOLDER make test-engines
    python tools/worked_examples.py FOLDER

A place for an example is a line `<!-- example: NAME -->` and the block of code behind it. Only transcripts that are in
the folder are put in.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "real-engines.md"
PLACE = re.compile(r"(<!-- example: (?P<name>[\w-]+) -->\n)```console\n.*?```\n", re.DOTALL)


def filled(page: str, transcripts: Path) -> str:
    """The page with each example's transcript in its place."""

    def put(place: re.Match[str]) -> str:
        transcript = transcripts / f"{place['name']}.txt"
        if not transcript.is_file():
            return place[0]
        lines = [line.rstrip() for line in transcript.read_text(encoding="utf-8").splitlines()]
        return f"{place[1]}```console\n{chr(10).join(lines)}\n```\n"

    return PLACE.sub(put, page)


def main(folder: Path) -> None:
    """Rewrites the page."""
    if not folder.is_dir():
        sys.exit(f"{folder} is no folder\n  Give the folder that RULEOUT_TRANSCRIPTS named.")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), folder), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: worked_examples.py FOLDER\n  FOLDER is the one that RULEOUT_TRANSCRIPTS named.")
    main(Path(sys.argv[1]))
