"""Logs of trials that a person ran: as much evidence as each of them is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.investigation.byhand import given, judged
from ruleout.model import (
    Case,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Mechanism,
    OutcomeKind,
    Stage,
    UsageError,
)
from ruleout.reading import signature

KV = Factor("kv", Mechanism.FLAG, "--kv-cache-dtype", ("auto", "bf16", "fp8_e4m3"), "auto")
GRAPH = Factor("graph", Mechanism.FLAG, "--disable-cuda-graph", ("absent", "present"), "absent")
LOAD = Factor("load", Mechanism.WORKLOAD, "concurrency", ("1", "64"), "64")
CASE = Case("c", "sglang", ("serve",), (KV, GRAPH, LOAD))

START = """\
$ python3 -m sglang.launch_server --model-path /m/acme {flags}
[2026-11-03 10:00:00] server_args=ServerArgs(model_path='/m/acme', kv_cache_dtype='{kv}', tp_size=8)
[2026-11-03 10:00:05 TP0] Load weight begin. avail mem=90.00 GB
[2026-11-03 10:03:05 TP0] KV Cache is allocated. #tokens: 4000
[2026-11-03 10:03:09] INFO:     Uvicorn running on http://127.0.0.1:30000
[2026-11-03 10:03:12] The server is fired up and ready to roll!
"""
DECODED = "[2026-11-03 10:04:12 TP0] Decode batch. #running-req: 1, #token: 40, gen throughput (token/s): 11.0\n"
CRASH = """\
[2026-11-03 10:05:00 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/srv/sampler.py", line 9, in forward
    torch.cuda.synchronize()
RuntimeError: the tiles of layer 3 were left unwritten
"""
OTHER = """\
Traceback (most recent call last):
  File "/srv/pool.py", line 9, in set_kv_buffer
    raise ValueError("the backend cannot write that layout")
ValueError: the backend cannot write that layout
"""
MESSAGE = "the tiles of layer 5 were left unwritten"
TARGET = Failure(
    FailureClass.OTHER,
    Exposure(Stage.DECODE, 1),
    MESSAGE,
    signature(FailureClass.OTHER, "RuntimeError", MESSAGE, ()),
    "RuntimeError",
)


def log(folder: Path, body: str, flags: str = "--kv-cache-dtype bf16", kv: str = "bf16") -> Path:
    """A log on disk."""
    path = folder / "hand.log"
    path.write_text(START.format(flags=flags, kv=kv) + body, encoding="utf-8")
    return path


def test_the_configuration_is_read_from_the_command_in_the_log(tmp_path: Path) -> None:
    found = given(CASE, str(log(tmp_path, CRASH, "--kv-cache-dtype=bfloat16 --disable-cuda-graph")))
    assert dict(found.configuration) == {"kv": "bf16", "graph": "present", "load": "64"}
    assert "as in the baseline, since the log does not tell: load" in found.told


def test_what_is_named_goes_before_what_is_read(tmp_path: Path) -> None:
    found = given(CASE, f"{log(tmp_path, CRASH)}:kv=fp8_e4m3,load=1")
    assert dict(found.configuration) == {"kv": "fp8_e4m3", "graph": "absent", "load": "1"}


def test_without_a_command_the_settings_tell(tmp_path: Path) -> None:
    path = tmp_path / "hand.log"
    path.write_text(START.partition("\n")[2].format(kv="bf16") + CRASH, encoding="utf-8")
    assert given(CASE, str(path)).configuration["kv"] == "bf16"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}/missing.log", "No such file"),
        ("{}/hand.log:turbo=1", "no factor 'turbo'"),
        ("{}/hand.log:kv=int3", "not one of its levels"),
        ("{}", "directory"),
    ],
)
def test_what_cannot_be_taken_is_said_in_two_lines(tmp_path: Path, text: str, problem: str) -> None:
    log(tmp_path, CRASH)
    with pytest.raises(UsageError, match=problem):
        given(CASE, text.format(tmp_path))


def test_a_level_in_the_log_that_the_factor_lacks_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="kv=nvfp4"):
        given(CASE, str(log(tmp_path, CRASH, "--kv-cache-dtype nvfp4")))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (DECODED + CRASH, OutcomeKind.REPRODUCED),
        (OTHER, OutcomeKind.OTHER),
        (DECODED, OutcomeKind.CLEAN),
        ("", OutcomeKind.UNRESOLVED),
    ],
)
def test_a_log_is_judged_by_its_failure_and_by_how_far_it_came(tmp_path: Path, body: str, kind: OutcomeKind) -> None:
    outcome = judged(CASE, TARGET, given(CASE, str(log(tmp_path, body))), "server.log")
    assert outcome.kind is kind, outcome.reason
