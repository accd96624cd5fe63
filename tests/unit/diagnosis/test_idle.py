"""A setting that is off is no clue: a dump of all settings names everything that never ran."""

from __future__ import annotations

from pathlib import Path

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.model import Component, Stage
from ruleout.reading.diagnose import read_run

DUMP = "server_args=ServerArgs(model_path='/m/acme', tp_size=8, {rest}, enable_lora=False)"
CRASH = """\
[2026-02-26 10:05:02 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/srv/worker.py", line 5, in step
    torch.cuda.synchronize()
torch.AcceleratorError: CUDA error: device-side assert triggered
"""


def suspects(folder: Path, rest: str, more: str = "") -> dict[Component, float]:
    """The suspects of a short log that begins with that dump, and with more lines."""
    log = folder / "server.log"
    log.write_text(f"[2026-02-26 10:00:00] {DUMP.format(rest=rest)}{more}\n{CRASH}", encoding="utf-8")
    run = read_run([log])
    assert run.diagnosis.stage not in (Stage.ARG_PARSING, Stage.MODEL_CONFIG)
    return {s.component: s.probability for s in diagnosed(run.diagnosis, run.near, run.lines).suspects}


def test_what_is_off_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    off = "moe_a2a_backend='none', quantization=None, page_size=1"
    assert suspects(tmp_path, off) == suspects(tmp_path, "page_size=1, watchdog_timeout=300, dp_size=1")


def test_what_is_known_to_be_off_is_not_suspected_and_leaves_the_others_their_order(tmp_path: Path) -> None:
    unknown = suspects(tmp_path, "page_size=1, watchdog_timeout=300, dp_size=1")
    known = suspects(tmp_path, "speculative_algorithm=None, page_size=1")
    assert Component.SPEC_DECODE in unknown
    assert Component.SPEC_DECODE not in known
    rest = [c for c in unknown if c is not Component.SPEC_DECODE]
    assert list(known)[: len(rest)] == rest


def test_what_is_on_is_a_clue(tmp_path: Path) -> None:
    on = suspects(tmp_path, "speculative_algorithm='EAGLE', moe_a2a_backend='none', quantization=None")
    assert next(iter(on)) is Component.SPEC_DECODE


def test_models_that_sglang_steps_over_at_each_start_are_no_clue(tmp_path: Path) -> None:
    passed = "\n[2026-02-26 10:00:04] Ignore import error when loading sglang.srt.models.a: No module named 'cutlass'"
    begun = "\n[2026-02-26 10:00:05 TP0] Load weight begin."
    assert suspects(tmp_path, "page_size=1", passed + begun) == suspects(tmp_path, "page_size=1", begun)
