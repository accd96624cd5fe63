"""Whatever the bytes are, reading them ends, soon, without an exception, and says nothing that cannot be looked up."""

from __future__ import annotations

import io
import json
import random
import resource
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ruleout.interfaces.cli.diagnosis import screen
from ruleout.model import Diagnosis, FailureClass
from ruleout.reading.diagnose import Stream, read_facts
from ruleout.reading.sources import Unpacked
from ruleout.report.diagnosis import diagnosis_document

FIXTURES = sorted((Path(__file__).parents[1] / "unit" / "reading" / "fixtures").glob("*.log"))
LINES = [line for path in FIXTURES for line in path.read_bytes().splitlines()]
CALM = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def read(data: bytes) -> Diagnosis:
    """Reads, renders in every way, and checks what must hold of any answer."""
    diagnosis = read_facts([Stream("log", io.BytesIO(data))])
    (source,) = diagnosis.sources
    breaks = {data.count(b"\n")} if b"\n" in data else {0, data.count(b"\r")}  # some copies have carriage returns only
    assert any(source.lines - count in (0, 1) for count in breaks)
    failure = diagnosis.failure
    lines = [fact.line for facts in (diagnosis.stages, diagnosis.settings, diagnosis.warnings) for fact in facts]
    lines += [failure.line, *(c.line for c in failure.consequences)] if failure else []
    assert all(0 <= line <= source.lines for line in lines)
    if failure:
        assert failure.class_ is not FailureClass.NONE
        assert failure.signature
    json.loads(json.dumps(diagnosis_document(diagnosis), allow_nan=False))
    for width in (80, 200):
        rows = [text for text, _ in screen(diagnosis, width)]
        assert len(rows) <= 24
        assert max(map(len, rows)) <= width
    return diagnosis


def timed(data: bytes, seconds: float) -> Diagnosis:
    began = time.process_time()
    diagnosis = read(data)
    assert time.process_time() - began < seconds
    return diagnosis


@CALM
@given(st.binary(max_size=4000))
@example(b"")
@example(b"\n")
@example(b"\r")
@example(b"\0")
@example(b"\xff\xfe" + "Traceback (most recent call last):\n".encode("utf-16-le"))
def test_any_bytes_can_be_read(data: bytes) -> None:
    read(data)


PIECES = st.one_of(
    st.sampled_from(LINES),
    st.sampled_from(LINES).flatmap(lambda line: st.integers(0, len(line)).map(lambda end: line[:end])),
    st.binary(max_size=30),
    st.sampled_from([b"\0" * 9, b"\r", b"\x1b[31m", b"\x1b]0;title\x07", b"\xc3", b"\xef\xbb\xbf", b"  | ", b"^" * 50]),
    st.text(max_size=20).map(lambda text: text.encode("utf-16", "surrogatepass")),
    st.text(max_size=20).map(lambda text: text.encode("latin-1", "replace")),
)


@settings(CALM, max_examples=150)
@given(
    st.lists(PIECES, max_size=60),
    st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"]),
    st.sampled_from([b"", b"[rank3]: ", b"(Worker pid=7) ", b"vllm-1  | ", b"2025-11-29T20:41:31.123Z stderr F "]),
)
def test_lines_of_logs_in_any_order_broken_anywhere_can_be_read(pieces: list[bytes], end: bytes, before: bytes) -> None:
    read(end.join(before + piece for piece in pieces))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_log_that_breaks_off_can_be_read(path: Path) -> None:
    data = path.read_bytes()
    for end in range(len(data) - 1, max(0, len(data) - 4096), -41):
        read(data[:end])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_log_can_break_off_at_every_byte_of_its_last_four_kilobytes() -> None:
    data = b"".join(path.read_bytes() for path in FIXTURES)[-4400:]
    for end in range(len(data) - 4096, len(data)):
        read_facts([Stream("log", io.BytesIO(data[:end]))])


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_compressed_log_that_breaks_off_says_so(path: Path, tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(path.read_bytes())
    for end in range(2, len(packed), 61):
        (tmp_path / "server.log.gz").write_bytes(packed[:end])
        assert read_facts([tmp_path / "server.log.gz"]).sources[0].truncated


def test_damaged_compression_ends_a_log_and_raises_nothing() -> None:
    import gzip

    packed = bytearray(gzip.compress(b"".join(path.read_bytes() for path in FIXTURES)))
    rng = random.Random(3)
    for _ in range(200):
        damaged = bytearray(packed)
        damaged[rng.randrange(10, len(damaged))] ^= 1 << rng.randrange(8)
        stream = Unpacked(io.BytesIO(bytes(damaged)))
        while stream.read(1 << 16):
            pass


def _chain(depth: int) -> str:
    def one(number: int) -> str:
        return (
            f'Traceback (most recent call last):\n  File "/x/layer{number}.py", line {number}, in call\n    call()\n'
            f"ValueError: it broke at depth {number}\n"
        )

    between = (
        "\nDuring handling of the above exception, another exception occurred:\n\n",
        "\nThe above exception was the direct cause of the following exception:\n\n",
    )
    return "".join(one(n) + (between[n % 2] if n < depth else "") for n in range(1, depth + 1))


@pytest.mark.parametrize("depth", [1, 10, 2000])
def test_a_chain_of_exceptions_of_any_depth_has_one_first_failure(depth: int) -> None:
    diagnosis = timed(_chain(depth).encode(), 5)
    assert diagnosis.failure
    assert diagnosis.failure.exception == "ValueError"


def test_nested_groups_of_exceptions_can_be_read() -> None:
    text = "  + Exception Group Traceback (most recent call last):\n"
    for depth in range(1, 30):
        text += "  " * depth + "| ExceptionGroup: several (1 sub-exception)\n" + "  " * depth + "+-+---- 1 ------\n"
    timed(text.encode(), 5)


@pytest.mark.parametrize(
    "piece",
    [
        b"a", b" ", b"\0", b"\r", b"(", b"[", b"'", b'"', b"=", b"a=", b"a=b, ", b"(a", b"{'a': ", b"Error: ", b"Error",
        b"Traceback (most recent call last)", b"ServerArgs(", b"non-default args: {", b"|", b"[rank0]: ", b"/a", b"#",
        b"File \"x\", line 1, in f ", b"$ ", b"python -m a --b c ", b"\xff", b"^", b"~", b"+-", b"Assertion `", b"1.",
        b"(EngineCore pid=1) ", b"INFO 11-29 16:25:30 [a.py:9] ", b"\x1b[", b"\x1b]", b"Warning: ", b"--a", b"A_B=c ",
        b"CUDA error: ", b",", b"Error in a: ", b"a: ", b"a: Assertion `b' ", b"error: a ", b"terminate called ",
    ],
)  # fmt: skip
def test_no_line_takes_more_than_its_length(piece: bytes) -> None:
    timed(piece * (300_000 // len(piece)), 4)
    timed((piece * 300 + b"\n") * max(1, 1000 // len(piece)), 4)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("piece", [b"x", b"\0", b"Error: ", b"\r 50%|###  |", b"server_args=ServerArgs(a=1, "])
def test_a_hundred_megabytes_on_one_line_cost_neither_minutes_nor_memory(piece: bytes, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("wb") as stream:
        for _ in range(100):
            stream.write(piece * (1_000_000 // len(piece)))
        stream.write(b"\nRuntimeError: CUDA error: out of memory\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    diagnosis = read_facts([path])
    assert time.process_time() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert diagnosis.sources[0].lines == 2
