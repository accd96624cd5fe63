"""Lines that are like one that changed nothing are passed over; that may never change what is read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ruleout.model import Diagnosis, FailureClass
from ruleout.reading import facts
from ruleout.reading.diagnose import Stream, read_facts

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.log"))
LINES = [line for path in FIXTURES for line in path.read_bytes().splitlines()]
DULL = (
    b"[2025-11-29 20:41:%02d TP0] INFO: request %d timed out in the queue",
    b'INFO:     127.0.0.1:%d%04d - "POST /v1/completions HTTP/1.1" 500 Internal Server Error',
    b"worker %d exited with code %d",
    b"WARNING 11-29 20:41:%02d [a.py:%d] no watchdog",
    b"ERROR 11-29 20:41:%02d [serving_chat.py:200] Error in preprocessing prompt inputs %d",
)


def read(lines: list[bytes]) -> Diagnosis:
    return read_facts([Stream("log", io.BytesIO(b"\n".join(lines)))])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(LINES),
            st.tuples(st.sampled_from(DULL), st.integers(0, 59), st.integers(0, 99999)).map(lambda t: t[0] % t[1:]),
        ),
        max_size=80,
    )
)
def test_passing_over_dull_lines_changes_nothing(lines: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "_DULL", 0)
        every = read(lines)
    assert read(lines) == every


def test_a_status_or_an_exit_code_makes_another_line_of_it() -> None:
    ordinary = [b"worker exited with code 0: Killed processes: 0"] * 50
    found = read([*ordinary, b"[4242.1] Out of memory: Killed process 4242 (python3)"]).failure
    assert found is not None
    assert found.class_ is FailureClass.HOST_OOM_KILL
