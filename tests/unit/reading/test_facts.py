"""Stages, settings, environment and engine of a log, in each format."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path

import pytest

from ruleout.model import FailureClass, Stage, UsageError
from ruleout.model.diagnosis import ChosenBy, Diagnosis, LogOutcome
from ruleout.reading.diagnose import Stream, read_facts
from ruleout.reading.formats import FORMATS
from ruleout.reading.pairs import pairs

FIXTURES = Path(__file__).parent / "fixtures"


def fixture(name: str) -> Diagnosis:
    return read_facts([FIXTURES / f"{name}.log"])


def text(log: str) -> Diagnosis:
    return read_facts([Stream("pasted", io.BytesIO(log.encode()))])


def settings(found: Diagnosis) -> dict[str, tuple[str | None, str | None, ChosenBy | None]]:
    return {s.name: (s.requested, s.resolved, s.chosen_by) for s in found.settings}


def test_requested_and_resolved_settings_are_two_things_and_the_engine_s_own_word_wins_over_its_dump() -> None:
    found = settings(fixture("sglang-resolved-settings"))
    assert found["kv_cache_dtype"] == ("auto", "fp8_e4m3", ChosenBy.ENGINE)
    assert found["tp_size"] == ("2", "2", ChosenBy.USER)
    assert found["disable_radix_cache"] == ("True", None, ChosenBy.USER)
    assert found["attention_backend"] == (None, "triton", ChosenBy.ENGINE)
    assert found["nsa_decode_backend"] == (None, "flashmla_kv", ChosenBy.ENGINE)
    assert found["cuda_graph_bs"][1] == "[1, 2, 4]"
    assert found["api_key"][2] is ChosenBy.DEFAULT


def test_stages_have_their_lines_and_the_seconds_that_the_engine_or_its_clock_tells() -> None:
    found = fixture("sglang-resolved-settings")
    spans = {span.name: (span.line, span.seconds) for span in found.stages}
    assert spans[Stage.WEIGHT_LOAD] == (8, 118.5)
    assert spans[Stage.CUDA_GRAPH_CAPTURE] == (11, 11.0)
    assert spans[Stage.READY] == (15, None)
    assert [span.name for span in found.stages][-3:] == [Stage.READY, Stage.PREFILL, Stage.DECODE]
    assert (found.stage, found.outcome, found.failure) == (Stage.DECODE, LogOutcome.HEALTHY, None)
    assert (found.environment.tp, found.environment.model_type) == (2, "glm_moe_dsa")
    assert (found.environment.transformers, found.environment.quantization) == ("5.2.0", "modelopt_fp4")
    assert found.command.startswith("python3 -m sglang.launch_server")


def test_llama_cpp() -> None:
    found = fixture("llamacpp-cuda-error")
    assert (found.engine.name, found.engine.version) == ("llama.cpp", "5335 (4f711afe)")
    assert found.failure
    assert (found.failure.class_, found.failure.line) == (FailureClass.ILLEGAL_MEMORY_ACCESS, 20)
    assert (found.stage, found.outcome) == (Stage.PREFILL, LogOutcome.CRASH)
    assert (found.environment.gpu, found.environment.sm) == ("NVIDIA GeForce RTX 4070", "89")
    assert (found.environment.model_type, found.environment.quantization) == ("gemma3", "Q4_0")
    assert settings(found)["flash_attn"][1] == "1"


def test_tensorrt_llm() -> None:
    found = fixture("tensorrt-llm-attention-sinks")
    assert (found.engine.name, found.engine.version) == ("tensorrt-llm", "1.2.0rc1")
    assert found.failure
    assert (found.failure.class_, found.failure.rank) == (FailureClass.INCOMPATIBLE_CONFIG_ASSERT, 1)
    assert abs(found.failure.line - 6) <= 6
    assert found.stage in (Stage.WARMUP, Stage.WEIGHT_LOAD)


def test_lmdeploy() -> None:
    found = fixture("lmdeploy-bitmask")
    assert found.engine.name == "lmdeploy"
    assert found.failure
    assert (found.failure.class_, found.failure.line) == (FailureClass.INCOMPATIBLE_CONFIG_ASSERT, 7)
    assert found.stage is Stage.PREFILL
    assert settings(found)["session_len"][1] == "32768"


def test_an_engine_that_nobody_knows_with_its_environment_s_dump_and_a_container_s_times() -> None:
    found = fixture("generic-engine")
    environment = found.environment
    assert (environment.torch, environment.cuda, environment.driver) == ("2.9.0+cu128", "12.8", "570.133.20")
    assert (environment.gpu, environment.gpus, environment.python) == ("NVIDIA H100 80GB HBM3", 2, "3.12.3")
    assert (environment.transformers, environment.triton) == ("4.57.1", "3.5.0")
    assert found.failure
    assert (found.failure.class_, found.failure.line, found.failure.rank) == (FailureClass.SHAPE_MISMATCH, 17, 1)
    assert found.failure.frames == ("engine.py:step", "model.py:forward_decode")
    assert found.stage is Stage.DECODE
    assert [span.seconds for span in found.stages] == [10.5, 4.5]  # until it failed


@pytest.mark.parametrize(
    "prefix",
    [
        "vllm-1  | ",
        "[pod/vllm-0/server] ",
        "Nov 29 12:00:00 host vllm[12]: ",
        "2026-01-05T10:00:00.1Z stderr F ",
        "2025-05-30 18:28:27.890 | ",
        "> ",
    ],
)
def test_the_prefixes_of_containers_and_journals_hide_nothing(prefix: str) -> None:
    plain = (FIXTURES / "vllm-worker-dies.log").read_text()
    found = text("".join(f"{prefix}{line}\n" for line in plain.splitlines()))
    assert found.failure
    assert (found.failure.line, found.failure.exception) == (11, "FileNotFoundError")
    assert found.engine.name == "vllm"
    assert found.environment.model == "/models/tiny"


def test_docker_s_json_lines_are_read_as_what_they_hold() -> None:
    import json

    plain = (FIXTURES / "vllm-worker-dies.log").read_text().splitlines(keepends=True)
    found = text("".join(json.dumps({"log": line, "stream": "stderr"}) + "\n" for line in plain))
    assert found.failure
    assert (found.failure.line, found.failure.exception) == (11, "FileNotFoundError")


def test_a_compressed_log_is_read_and_one_that_breaks_off_is_truncated(tmp_path: Path) -> None:
    packed = gzip.compress((FIXTURES / "sglang-device-assert.log").read_bytes() * 40)
    path = tmp_path / "server.log.gz"
    path.write_bytes(packed)
    whole = read_facts([path])
    assert whole.failure
    assert (whole.failure.line, whole.sources[0].truncated) == (4, False)
    path.write_bytes(packed[: len(packed) - 20])
    assert read_facts([path]).sources[0].truncated
    path.write_bytes(packed[:12])
    assert read_facts([path]).failure is None


def test_a_log_packed_by_xz_is_read_and_one_that_breaks_off_is_truncated(tmp_path: Path) -> None:
    packed = lzma.compress((FIXTURES / "sglang-device-assert.log").read_bytes() * 40)
    path = tmp_path / "server.log.xz"
    path.write_bytes(packed)
    whole = read_facts([tmp_path])
    assert whole.failure
    assert (whole.failure.line, whole.sources[0].truncated) == (4, False)
    path.write_bytes(packed[: len(packed) - 40])
    assert read_facts([path]).sources[0].truncated


def test_a_log_packed_by_zstd_is_refused_with_a_word_unless_others_are_beside_it(tmp_path: Path) -> None:
    (tmp_path / "server.log.1.zst").write_bytes(b"\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00")
    with pytest.raises(UsageError, match=r"packed by zstd.*\n?.*zstd -dc"):
        read_facts([tmp_path])
    (tmp_path / "server.log").write_text("RuntimeError: acme broke\n")
    assert [source.name for source in read_facts([tmp_path]).sources] == ["server.log"]


def test_of_a_folder_of_rank_logs_the_first_by_time_is_the_failure_and_others_follow(tmp_path: Path) -> None:
    for rank, second in ((0, 9), (1, 5), (10, 7)):
        (tmp_path / f"rank{rank}.log").write_text(
            f"2026-01-05 10:00:0{second} INFO start\n"
            f"RuntimeError: CUDA error: misaligned address\nValueError: rank {rank} {rank}\n"
        )
    (tmp_path / "notes.md").write_text("RuntimeError: nothing")
    found = read_facts([tmp_path])
    assert [source.name for source in found.sources] == ["rank0.log", "rank1.log", "rank10.log"]
    assert found.failure
    assert (found.failure.source, found.failure.rank, found.failure.line) == ("rank1.log", 1, 2)
    assert {evidence.source for evidence in found.failure.consequences} == {"rank0.log", "rank1.log", "rank10.log"}


def test_no_source_and_an_empty_folder_are_errors_and_an_empty_log_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no log"):
        read_facts([])
    with pytest.raises(ValueError, match="no log"):
        read_facts([tmp_path])
    with pytest.raises(FileNotFoundError):
        read_facts([tmp_path / "none.log"])
    found = text("")
    assert (found.outcome, found.failure, found.stage) == (LogOutcome.UNKNOWN, None, Stage.UNKNOWN)


def test_of_pairs_the_top_level_is_split_whatever_stands_in_it() -> None:
    told = "a=1, b='x, y', c=[1, {'d': 2}], 'e': torch.bfloat16, f=<Mode.FULL: 2>, "
    told += "g='it''s', h=Config(i=1), j=None) and k=2"
    assert dict(pairs(told)) == {
        "a": "1",
        "b": "x, y",
        "c": "[1, {'d': 2}]",
        "e": "bfloat16",
        "f": "Mode.FULL",
        "g": "it''s",
        "h": "Config(i=1)",
        "j": "None",
    }
    assert dict(pairs("{'a': 1, 'b': 'cut off")) == {"a": "1"}
    assert list(pairs("((((" * 100_000)) == []


def test_a_pattern_of_a_format_is_re2_s_and_every_engine_has_a_format() -> None:
    assert {form.name for form in FORMATS} == {
        *("sglang", "vllm", "transformers", "llama.cpp", "tensorrt-llm", "lmdeploy", ""),
    }


def test_a_pattern_that_is_given_up_does_not_hide_which_stage_failed() -> None:
    serving = "[2026-03-04 09:12:40 TP0] Prefill batch, #new-seq: 1\n"
    serving += "[2026-03-04 09:12:41 TP0] Decode batch, #running-req: 1\n"
    log = "[2026-03-04 09:12:28] The server is fired up and ready to roll!\n" + serving * 3000
    late = "[2026-03-04 09:13:40 TP0] Prefill batch, #new-seq: 1\n"
    crash = "[2026-03-04 09:13:41 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    crash += '  File "/srv/x.py", line 3, in step\n    y()\n'
    crash += "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    assert text(log + late + crash).stage is Stage.PREFILL
    assert text(log + crash).stage is Stage.DECODE


def test_sglang_s_own_report_of_its_environment() -> None:
    found = fixture("sglang-check-env")
    environment = found.environment
    assert (found.engine.name, found.engine.version) == ("sglang", "0.5.5.post3")
    assert (environment.gpu, environment.gpus, environment.sm) == ("NVIDIA GB300", 4, "103")
    assert (environment.cuda, environment.driver, environment.torch) == ("13.0", "580.82.07", "2.9.1+cu130")
    assert (environment.flashinfer, environment.triton, environment.transformers) == ("0.5.3", "3.5.1", "4.57.1")


def test_what_was_copied_out_of_a_framed_terminal_is_read() -> None:
    plain = (FIXTURES / "sglang-device-assert.log").read_text().splitlines()
    found = text("".join(f"│ {line:<150} │\n" for line in plain))
    assert found.failure
    assert (found.failure.line, found.failure.class_) == (4, FailureClass.DEVICE_SIDE_ASSERT)
    assert found.stage is Stage.DECODE


def test_a_stack_of_windows_has_the_frames_of_any_other() -> None:
    found = text(
        'Traceback (most recent call last):\n  File "C:\\\\env\\\\vllm\\\\loader.py", line 3, in load_weights\n    x\n'
        "ValueError: no C:\\\\models\\\\a.bin\n"
    )
    assert found.failure
    assert found.failure.frames == ("loader.py:load_weights",)
    assert found.stage is Stage.WEIGHT_LOAD


def test_vllm_s_report_of_the_environment_has_columns() -> None:
    found = text(
        "PyTorch version              : 2.9.1+cu129\nCUDA used to build PyTorch   : 12.9\n"
        "Python version               : 3.12.3 (main, Nov  6 2025)\nNvidia driver version        : 580.95.05\n"
        "    Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.\nvLLM Version                 : 0.13.0\n"
    ).environment
    assert (found.torch, found.cuda, found.python, found.driver) == ("2.9.1+cu129", "12.9", "3.12.3", "580.95.05")
    assert (found.gpu, found.sm) == ("NVIDIA GB10", "121")


@pytest.mark.parametrize(("asked", "found"), [("half", "torch.float16"), ("bf16", "bfloat16"), ("float", "float32")])
def test_another_spelling_of_the_type_that_was_asked_for_is_no_choice_of_the_engine(asked: str, found: str) -> None:
    log = f"INFO 01-01 00:00:00 [utils.py:1] non-default args: {{'model': 'M', 'dtype': '{asked}'}}\n"
    log += "INFO 01-01 00:00:01 [core.py:9] Initializing a V1 LLM engine (v0.15.0) with config: model='M', "
    log += f"dtype={found}, max_seq_len=4096\n"
    assert settings(text(log))["dtype"][2] is ChosenBy.USER


@pytest.mark.parametrize(
    ("lines", "in_effect"),
    [
        ("Cannot use AttentionBackendEnum.FLASH_ATTN backend on CPU.", "CPU_ATTN"),
        ("Cannot use AttentionBackendEnum.FLASH_ATTN backend on CPU.\nUsing CPU_MLA backend.", "CPU_MLA"),
        ("Cannot use AttentionBackendEnum.FLASH_ATTN backend on XPU.", None),
    ],
)
def test_what_vllm_takes_instead_of_a_backend_is_known_where_there_is_only_one(
    lines: str, in_effect: str | None
) -> None:
    asked = "(APIServer pid=1) INFO 01-01 00:00:00 [api.py:1] non-default args: {'attention_backend': 'FLASH_ATTN'}\n"
    log = asked + "".join(f"(Worker pid=2) INFO 01-01 00:00:01 [cpu.py:1] {line}\n" for line in lines.splitlines())
    assert settings(text(log))["attention_backend"] == ("FLASH_ATTN", in_effect, ChosenBy.ENGINE)


def test_a_line_that_only_speaks_of_a_warm_up_is_none() -> None:
    head = "(APIServer pid=1) WARNING 01-01 00:00:00 [vllm.py:1] "
    found = text(
        f"{head}non-default args: {{}}\n{head}Enforce eager set, disabling CUDAGraphs and JIT kernel warmup.\n"
    )
    assert "warmup" not in [stage.name for stage in found.stages]
