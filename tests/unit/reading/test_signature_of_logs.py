"""A failure keeps its signature in another run: under other ranks, lines, paths, times, sizes, places in the log."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleout.model.diagnosis import DiagnosedFailure
from ruleout.reading.diagnose import Stream, read_facts
from ruleout.reading.signature import normalise

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.log"))
LAB = Path(os.environ.get("RULEOUT_LAB_LOGS") or Path(__file__).parents[4] / "shared" / "lab" / "logs")
NUMBERS = st.integers(1, 9999)


def failure(log: str) -> DiagnosedFailure | None:
    return read_facts([Stream("server.log", io.BytesIO(log.encode()))]).failure


FAILING = {
    path.stem: path.read_text(errors="replace")
    for path in (*FIXTURES, *sorted(LAB.glob("*.log")))
    if failure(path.read_text(errors="replace"))
}


def another_run(log: str, shift: int, folder: str, rank: int, size: float) -> str:
    """The log of another run: everything that differs between two runs is different."""
    log = re.sub(r"\b(pid=)\d+", rf"\g<1>{shift + 100}", log)
    log = re.sub(r'(File ")/[^"]*/([^/"]+", line )\d+', rf"\g<1>/{folder}/\g<2>{shift}", log)
    log = re.sub(r"(?<=\[\d{4}-\d\d-\d\d )\d\d(?=:\d\d:\d\d)", f"{shift % 24:02}", log)
    log = re.sub(r"(?<= )\d\d:(\d\d):(\d\d) \[(\w+\.py):\d+\]", rf"{shift % 24:02}:\1:\2 [\3:{shift}]", log)
    log = re.sub(r"\bTP\d+\]", f"TP{rank}]", log)
    log = re.sub(r"\[rank\d+\]:", f"[rank{rank}]:", log)
    log = re.sub(r"\d+(?:\.\d+)? (?=[GM]i?B)", f"{size:.2f} ", log)
    log = re.sub(r"0x[0-9a-f]{6,}", f"0x{shift:012x}", log)
    log = re.sub(r"/models/|ckpt/", f"/{folder}/", log)
    log = re.sub(r"block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\]", f"block: [{rank},0,0], thread: [{shift},0,0]", log)
    return f"2026-01-01 00:00:00 INFO another line\n\n{log}"


@pytest.mark.parametrize("name", sorted(FAILING))
@settings(max_examples=4, deadline=None)
@given(NUMBERS, st.text("abcdefgh_", min_size=1, max_size=9), st.integers(0, 7), st.floats(0.01, 999))
def test_another_run_of_the_same_failure_has_its_signature(
    name: str, shift: int, folder: str, rank: int, size: float
) -> None:
    one, other = failure(FAILING[name]), failure(another_run(FAILING[name], shift, folder, rank, size))
    assert one
    assert other
    assert (other.signature, other.class_) == (one.signature, one.class_), (one.message, other.message)


def test_different_failures_have_different_signatures() -> None:
    told: dict[str, set[str]] = {}
    for log in FAILING.values():
        if found := failure(log):
            told.setdefault(found.signature, set()).add(normalise(found.message))
    assert all(len(messages) == 1 for messages in told.values()), told
