"""A million records: written and read back in a bounded time and space, and readable whenever the writer was killed."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ruleout.numerics import records
from ruleout.numerics.starting import carry, records_folder

MANY = 1_000_000
SECONDS = 60.0
BYTES = 1 << 30
WRITING = """
import sys
sys.path.insert(0, sys.argv[1])
import _ruleout_tracer
written = _ruleout_tracer.Records(sys.argv[2])
stats = {"shape": [1, 128, 4096], "dtype": "bfloat16", "nan": 0, "inf": 0, "min": -3.199854, "max": 3.438257}
stats.update(mean=-0.004678447, rms=1.000001, hash="0123456789abcdef")
tensors = [{"place": place, **stats} for place in ("in0", "out0")]
moment = {"phase": "decode", "step": 17, "rank": 3}
for number in range(int(sys.argv[3])):
    module = "model.layers.%d.mlp.down_proj" % (number % 80)
    written.write("call", module=module, call=number, **moment, tensors=tensors)
"""


def writer(folder: Path, count: int) -> subprocess.Popen[bytes]:
    traced = carry(folder, path="")
    arguments = [traced["PYTHONPATH"], str(records_folder(folder)), str(count)]
    return subprocess.Popen([sys.executable, "-c", WRITING, *arguments])


@pytest.mark.slow
def test_a_million_records_take_under_a_minute_and_a_gigabyte(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    cpu = time.process_time()
    process = writer(tmp_path, MANY)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    (path,) = records_folder(tmp_path).glob("*.jsonl")
    assert path.stat().st_size < BYTES
    assert sum(1 for _ in records.calls(path)) == MANY
    assert records.process(path).calls == MANY
    spent = time.process_time() - cpu + used.ru_utime + used.ru_stime
    record_property("seconds of the CPU", spent)
    record_property("bytes", path.stat().st_size)
    assert spent < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 < BYTES
    assert used.ru_maxrss << 10 < BYTES


def test_a_writer_that_is_killed_at_any_moment_leaves_a_readable_file(tmp_path: Path) -> None:
    drawn = random.Random(7)
    for turn in range(8):
        folder = tmp_path / str(turn)
        process = writer(folder, MANY)
        try:
            target, deadline, path = drawn.randrange(1, 2_000_000), time.monotonic() + 60, None
            while path is None or path.stat().st_size < target:
                path = next(records_folder(folder).glob("*.jsonl"), None)
                assert time.monotonic() < deadline
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        told = records.process(path)
        lines = path.read_bytes().count(b"\n")
        assert told.torn <= 1
        assert told.calls == lines
        assert [call.moment.call for call in records.calls(path)][:lines] == list(range(lines))
