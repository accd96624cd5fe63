"""Bytes, lines, stages and bounds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ruleout.model import FailureClass, Stage
from ruleout.reading import StageFollower, read_log
from ruleout.reading.diagnose import Stream, read_facts
from ruleout.reading.triggers import Which, compiled

FIXTURES = Path(__file__).parent / "fixtures"
STAGES = {Stage.WEIGHT_LOAD: "Load weight begin", Stage.READY: "fired up", Stage.DECODE: "Decode batch"}
WORDS = st.sampled_from(
    [
        *(b"Traceback (most recent call last):\n", b'  File "a.py", line 1, in f\n', b"ValueError: x\n", b"\r", b"\n"),
        *(b"\0", b"\x1b[3", b"[rank0]: ", b"(W pid=1) ERROR 11-29 12:00:00 [a.py:1] ", b"  + ", b"\xff\xfe"),
        *(b"terminate called\n", b"During handling of the above exception, another exception occurred:\n"),
        b"RULEOUT_COST_MINUTES=1e999\n",
    ]
)
FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)


@FUZZ
@given(st.one_of(st.binary(max_size=400), st.lists(WORDS, max_size=30).map(b"".join)))
@example(b"")
def test_no_bytes_break_the_reader(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(data)
    reading = read_log(path, STAGES)
    assert reading.bytes == len(data)
    assert reading.lines >= data.count(b"\n")


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.log")))
def test_a_log_cut_anywhere_near_its_end_is_read(tmp_path: Path, name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / "server.log"
    for cut in range(max(0, len(data) - 2048), len(data)):
        path.write_bytes(data[:cut])
        assert read_log(path, STAGES).bytes == cut


def test_a_missing_file_is_not_found_and_an_empty_one_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_log(tmp_path / "none.log", {})
    (tmp_path / "empty.log").touch()
    reading = read_log(tmp_path / "empty.log", STAGES, source="trial 1")
    assert (reading.source, reading.lines, reading.bytes, reading.stages) == ("trial 1", 0, 0, ())
    assert (reading.reached, reading.failure, reading.failure_stage) == (Stage.UNKNOWN, None, Stage.UNKNOWN)


def test_stages_follow_the_log_s_own_sequence(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("fired up\nLoad weight begin\nDecode batch\nDecode batch\nLoad weight begin\nDecode batch\n")
    reading = read_log(path, STAGES)
    assert [(m.stage, m.line) for m in reading.stages[:3]] == [("ready", 1), ("weight_load", 2), ("decode", 3)]
    assert reading.reached is Stage.DECODE
    assert reading.lines == 6


def test_a_stage_may_match_any_piece_of_a_progress_bar_and_a_pattern_re2_refuses(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"Loading 0%\rLoading 50%\rDone 100%\nx\nfoobar\n")
    reading = read_log(path, {Stage.WEIGHT_LOAD: "^Loading 0", Stage.READY: r"foo(?=bar)"})
    assert [(mark.stage, mark.line) for mark in reading.stages] == [(Stage.WEIGHT_LOAD, 1), (Stage.READY, 3)]
    with pytest.raises(ValueError, match=r"\(open"):
        read_log(path, {Stage.READY: "(open"})


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("RULEOUT_COST_MINUTES=12.0\n", 12.0),
        ("x RULEOUT_COST_MINUTES=1\nRULEOUT_COST_MINUTES=2.5", 2.5),
        ("RULEOUT_COST_MINUTES=nan\n", None),
        ("RULEOUT_COST_MINUTES=-1\n", None),
        ("nothing\n", None),
    ],
)
def test_the_last_reported_cost_wins(tmp_path: Path, text: str, minutes: float | None) -> None:
    path = tmp_path / "server.log"
    path.write_text(text)
    assert read_log(path, {}).cost_minutes == minutes


def test_a_failure_after_a_line_of_megabytes_and_across_chunks_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("wb") as stream:
        stream.write(b"x" * (5 << 20) + b" Decode batch\n")
        stream.write(b"INFO: all is well\n" * 200_000)
        stream.write(b"Traceback (most recent call last):\n" + b'  File "a.py", line 1, in f\n' * 300)
        stream.write(b"RuntimeError: CUDA error: an illegal memory access was encountered")
    reading = read_log(path, STAGES)
    assert reading.failure
    assert reading.failure.line == reading.lines == 200_303
    assert reading.failure.class_ is FailureClass.ILLEGAL_MEMORY_ACCESS
    assert reading.stages[0].line == 1
    assert len(reading.failure.frames) <= 64


def test_a_log_of_failures_only_keeps_the_first_and_few_others(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("w") as stream:
        for kind in range(20_000):
            stream.write(f"ValueError: thing {chr(97 + kind % 26)}{chr(97 + kind // 26 % 26)} is not supported\n")
        stream.write("Decode batch\n")
    reading = read_log(path, STAGES)
    assert reading.failure
    assert reading.failure.line == 1
    assert len(reading.failure.consequences) == 10
    assert reading.reached is Stage.DECODE


def test_thousands_of_device_assertions_do_not_hide_the_host_s_report(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    line = "/a.cu:1: k: block: [{0},0,0], thread: [0,0,0] Assertion `index < size` failed.\n"
    path.write_text(
        "".join(line.format(n) for n in range(3000)) + "RuntimeError: CUDA error: device-side assert triggered\n"
    )
    found = read_log(path, {}).failure
    assert found
    assert (found.line, found.exception, found.message) == (1, "RuntimeError", "Assertion `index < size` failed.")


def test_a_follower_reads_only_what_is_new_and_starts_over_when_the_log_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    follower = StageFollower(path, STAGES)
    assert follower.poll() is None
    path.write_text("hello\nLoad weight be")
    assert follower.poll() is None
    with path.open("a") as stream:
        stream.write("gin\n" + "x" * 3_000_000)
    assert follower.poll() is Stage.WEIGHT_LOAD
    assert len(follower._rest) <= 70_000
    with path.open("a") as stream:
        stream.write("\nDecode batch\n")
    assert follower.poll() is Stage.DECODE
    assert follower.poll() is Stage.DECODE
    path.write_text("fired up\n")
    assert follower.poll() is Stage.READY


@pytest.mark.slow
def test_a_gigabyte_without_a_newline_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("wb") as stream:
        stream.truncate(1 << 30)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nRuntimeError: shape mismatch\n")
    program = (
        "import sys; from pathlib import Path; from ruleout.reading import read_log;"
        "r = read_log(Path(sys.argv[1]), {}); assert r.failure and r.failure.line == 2, r;"
        # Not ru_maxrss: a child's begins with what its parent had at the fork.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 300 << 20


def test_which_of_many_patterns_a_line_has_is_told_whichever_engine_takes_them() -> None:
    which = Which([r"\bshards\b", r"^\[quux", r"(?<!not )loaded", r"absent"])  # RE2 takes no lookbehind
    assert which.of(b"[quux] shards loaded") == [0, 1, 2]
    assert which.of(b"shards not loaded") == [0]
    assert which.of(b"nothing of it") == []


def test_a_second_log_is_read_with_the_patterns_of_the_first() -> None:
    text = b"[2026-03-02 09:00:01 TP0] Load weight begin. avail mem=70 GB\nValueError: no such shard\n"
    read_facts([Stream("rank0.log", io.BytesIO(text))])
    before = compiled.cache_info().misses
    read_facts([Stream("rank1.log", io.BytesIO(text.replace(b"TP0", b"TP1")))])
    assert compiled.cache_info().misses == before
