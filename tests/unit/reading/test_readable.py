"""What is no text, or damaged, is said so; what is only unusual is read."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from ruleout.model.errors import UsageError
from ruleout.reading.runs import read_runs

LOG = b"[2026-03-04 09:00:00] server_args=ServerArgs(model_path='Zeta', tp_size=3)\n" * 9
NOISE = random.Random(4).randbytes(40_000)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (NOISE, "not a text"),
        (b"\x7fELF\x02\x01\x01" + NOISE, "not a text"),
        (b"\x28\xb5\x2f\xfd" + NOISE, "packed by zstd"),
        (b"PK\x03\x04" + NOISE, "a zip archive"),
        (gzip.compress(LOG, mtime=0)[:11], "damaged"),
        (b"\x1f\x8b" + NOISE[:30], "damaged"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_to_do(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "zeta.log"
    path.write_bytes(data)
    with pytest.raises(UsageError) as problem:
        read_runs([path])
    assert (problem.value.what.startswith(f"{path}: "), said in problem.value.what) == (True, True)
    assert problem.value.exit_status == 2


@pytest.mark.parametrize(
    "data",
    [
        LOG,
        b"",
        b"x",
        LOG.decode().encode("utf-16"),
        "Größe überschritten: Fehler beim Öffnen\n".encode("latin-1"),
        "错误:内存不足\n".encode("gbk"),
        b"\x1b[31mERROR\x1b[0m x\x07\r\n" * 4,
        b"\0" * 5000 + LOG,
        gzip.compress(LOG, mtime=0),
    ],
)
def test_unusual_texts_are_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "zeta.log"
    path.write_bytes(data)
    assert len(read_runs([path]).runs) == 1


def test_in_a_folder_what_is_no_log_is_passed_over_unless_nothing_else_is_there(tmp_path: Path) -> None:
    (tmp_path / "core.log").write_bytes(NOISE)
    with pytest.raises(UsageError, match=r"core\.log: not a text"):
        read_runs([tmp_path])
    (tmp_path / "server.log").write_bytes(LOG)
    (run,) = read_runs([tmp_path]).runs
    assert [source.name for source in run.diagnosis.sources] == ["server.log"]


@pytest.mark.parametrize(("lines", "cut"), [(5, False), (100, True)])
def test_a_paste_without_a_last_newline_is_not_cut_off(tmp_path: Path, lines: int, cut: bool) -> None:
    path = tmp_path / "zeta.log"
    path.write_bytes(b"[2026-03-04 09:00:00 TP0] x\n" * lines + b"y")
    assert read_runs([path]).runs[0].diagnosis.sources[0].truncated is cut
