"""Where a message, a warning or a stage is not where a single line puts it."""

from __future__ import annotations

import io

import pytest

from ruleout.model import FailureClass, Stage
from ruleout.model.diagnosis import Diagnosis
from ruleout.reading.diagnose import Stream, read_facts

ARGS = "(APIServer pid=9) INFO 03-04 09:00:00 [utils.py:2] non-default args: {'model': 'Zeta', 'max_model_len': 9}\n"
STACK = (
    '(APIServer pid=9) Traceback (most recent call last):\n(APIServer pid=9)   File "/x/zeta.py", line 3, in check\n'
)
COUNT = "(APIServer pid=9) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n"
SAID = "(APIServer pid=9)   Value error, zeta heads (28) do not divide by 3. [type=value_error, input_value={}, x=1]\n"


def read(text: str) -> Diagnosis:
    return read_facts([Stream("server.log", io.BytesIO(text.encode()))])


@pytest.mark.parametrize("before", ["", STACK])
def test_the_message_of_a_validator_is_its_complaint(before: str) -> None:
    failure = read(ARGS + before + COUNT + SAID).failure
    assert failure is not None
    assert failure.message == "zeta heads (28) do not divide by 3."
    field = "(APIServer pid=9) zeta_len\n(APIServer pid=9)   Input should be at most 8 [type=le, input_value=9, x=1]\n"
    failure = read(ARGS + before + COUNT + field).failure
    assert failure is not None
    assert failure.message == "zeta_len: Input should be at most 8"


def test_a_stack_whose_header_was_cut_off_is_known_from_its_repetition() -> None:
    at = "(EngineCore pid=4) ERROR 03-04 09:01:00 [core.py:7] "
    error = "ValueError: zeta tokens are too many\n"
    whole = '(EngineCore pid=4) Traceback (most recent call last):\n(EngineCore pid=4)   File "/x/kv.py", line 3, in '
    whole += f"get_kv_cache_configs\n(EngineCore pid=4)     check()\n(EngineCore pid=4) {error}"
    found = read(ARGS + f"{at}    check()\n{at}{error}" + whole)
    assert found.failure is not None
    assert (found.stage, found.failure.line) == (Stage.KV_CACHE_ALLOC, 3)


def test_a_forward_during_the_capture_is_no_prompt_s() -> None:
    log = "[2026-03-04 09:00:00 TP0] Capture cuda graph begin. This can take up to several minutes.\n"
    log += "[2026-03-04 09:00:09 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    log += '  File "/x/zeta.py", line 3, in forward\n    f()\ntorch.OutOfMemoryError: CUDA out of memory.\n'
    assert read(log).stage is Stage.CUDA_GRAPH_CAPTURE


def test_a_port_in_use_is_no_failure_of_an_import() -> None:
    stack = 'Traceback (most recent call last):\n  File "/x/bin/zeta", line 8, in <module>\n    main()\n'
    stack += '  File "/x/server.py", line 9, in listen\n    bind()\nOSError: [Errno 98] Address already in use\n'
    assert read(ARGS + stack).stage is Stage.ARG_PARSING


def test_a_server_that_listens_before_its_model_is_loaded_is_not_ready() -> None:
    log = "main: HTTP server is listening, hostname: 0.0.0.0, port: 8080, http threads: 31\n"
    log += "srv    load_model: loading model '/models/zeta.gguf'\n"
    log += "llama_model_loader: loaded meta data with 35 key-value pairs from /models/zeta.gguf\n"
    names = [span.name for span in read(log).stages]
    assert Stage.READY not in names
    later = read(log + "main: server is listening on http://0.0.0.0:8080 - starting the main loop\n")
    assert Stage.READY in [span.name for span in later.stages]


def test_what_a_warning_says_in_its_next_lines_is_not_the_failure_as_long_as_there_is_another() -> None:
    warned = "/x/cuda/__init__.py:235: UserWarning: \nZeta with CUDA capability sm_120 is not compatible with the "
    warned += "current PyTorch installation.\n"
    failure = read(ARGS + warned).failure
    assert failure is not None
    assert failure.line == 3
    failure = read(ARGS + warned + STACK + "(APIServer pid=9) RuntimeError: zeta kernels are missing\n").failure
    assert failure is not None
    assert failure.line == 6


def test_a_server_s_idle_hours_are_no_stage_s_seconds() -> None:
    log = "[2026-03-04 09:00:00] server_args=ServerArgs(model_path='Zeta', tp_size=3)\n"
    log += "[2026-03-04 09:00:07 TP0] Load weight begin. avail mem=40.5 GB\n"
    log += "[2026-03-04 09:02:00] The server is fired up and ready to roll!\n"
    log += "[2026-03-04 12:00:00 TP0] Decode batch. #running-req: 1\n[2026-03-04 19:00:00] SIGTERM received.\n"
    spans = {span.name: span.seconds for span in read(log).stages}
    assert (spans[Stage.WEIGHT_LOAD], spans[Stage.READY], spans[Stage.DECODE]) == (113.0, None, None)


def test_the_usage_of_a_command_is_no_warning() -> None:
    usage = "usage: zeta [-h]\n            [--gc-warning-threshold-secs SECS]\nzeta: error: argument --dtype: invalid\n"
    found = read(usage)
    assert found.failure is not None
    assert found.failure.class_ is not FailureClass.NONE
    assert found.warnings == ()
