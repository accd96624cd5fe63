"""From a command and the log of its failure to a case: named, recognised, with few factors and a reason for each."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from ruleout.engines import ENGINES
from ruleout.investigation.bare import bare_case, widened
from ruleout.investigation.casefile import parse_case
from ruleout.investigation.casewriting import case_text
from ruleout.model import Case, Mode, UsageError

_INIT = "INFO 11-30 01:51:30 [core.py:1] Initializing a V1 LLM engine (v0.32.0{0}) with config: model='m', "
CPU = _INIT.format("+cpu") + "dtype=torch.float32"
GPU = _INIT.format("") + "device_config=cuda"
SPARSE = "NotImplementedError: Sparse Attention is not supported on CPU."
GRAPHS = "RuntimeError: CUDA error: operation failed due to a previous error during capture"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))  # no engine is installed


def failed(command: str, folder: Path, *lines: str) -> Case:
    log = folder / "server.log"
    log.write_text("\n".join(lines) + "\n")
    case, choices = widened(bare_case(shlex.split(command)), log)
    assert [choice.factor for choice in choices] == list(case.factors)
    assert all(choice.why for choice in choices)
    return case


def levels(case: Case) -> dict[str, tuple[str, ...]]:
    return {factor.name: factor.levels for factor in case.factors}


@pytest.mark.parametrize(
    ("command", "name", "engine", "mode"),
    [
        ("vllm serve /models/GLM-5-NVFP4/ --tp 8", "vllm-GLM-5-NVFP4", "vllm", Mode.SERVE),
        ("A=b python -m sglang.launch_server --model-path org/m", "sglang-m", "sglang", Mode.SERVE),
        ("llama-server -hf org/m:Q4_K_M", "llama.cpp-m-Q4_K_M", "llama.cpp", Mode.SERVE),
        ("transformers serve", "transformers", "transformers", Mode.SERVE),
        ("python3 -u scripts/train.py --x 1", "train", "command", Mode.JOB),
        ("./run.sh", "run", "command", Mode.JOB),
    ],
)
def test_a_case_is_named_after_engine_and_model(command: str, name: str, engine: str, mode: Mode) -> None:
    case = bare_case(shlex.split(command))
    assert (case.name, case.engine, case.mode, case.factors) == (name, engine, mode, ())


def test_without_a_command_there_is_nothing_to_investigate() -> None:
    with pytest.raises(UsageError, match="nothing to investigate"):
        bare_case(())


@pytest.mark.parametrize(
    ("word", "command", "env"),
    [
        ("A=b vllm serve m --x 'c d' 2>&1 | tee log", ("vllm", "serve", "m", "--x", "c d"), {"A": "b"}),
        ("python train.py --x 1", ("python", "train.py", "--x", "1"), {}),
        ("python train.py && echo", ("sh", "-c", """python train.py && exec "$@\"""", "sh", "echo"), {}),
    ],
)
def test_a_command_in_quotes_is_read_as_a_shell_reads_it(
    word: str, command: tuple[str, ...], env: dict[str, str]
) -> None:
    case = bare_case([word])
    assert (case.command, case.env) == (command, env)


@pytest.mark.parametrize(
    ("command", "what", "remedy"),
    [
        ("bash -c 'vllm serve $MODEL'", "$MODEL in it is known to the shell alone", "values in their places"),
        ("bash -c 'cd /x; vllm serve m | grep -v INFO'", "cannot be taken apart", "without pipes"),
        ("ssh box vllm serve m", "ssh starts vllm serve", "host: {ssh"),
        ("kubectl exec pod -- vllm serve m", "kubectl starts vllm serve", "inside of the pod"),
        ("docker exec -it c vllm serve m", "docker exec starts vllm serve", "docker run"),
        ("docker run --gpus all team/own:1 --model m", "the image team/own:1 starts a program", "--entrypoint vllm"),
        ("docker compose up", "docker compose up: what it starts stands in its file", "docker run"),
    ],
)
def test_a_server_that_no_trial_reaches_is_refused_with_what_to_give_instead(
    command: str, what: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as error:
        bare_case(shlex.split(command))
    assert what in error.value.what
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    "command",
    ["bash -c 'vllm serve m & sleep 9; curl localhost:8000'", "vllm bench serve --model m", "ssh box ./test.sh"],
)
def test_what_ends_by_itself_stays_a_job(command: str) -> None:
    assert bare_case(shlex.split(command)).mode is Mode.JOB


def test_what_the_command_sets_is_varied_to_its_absence_and_to_what_else_is_worth_a_trial(tmp_path: Path) -> None:
    case = failed("vllm serve m --dtype float32 --block-size=16 --enforce-eager", tmp_path, CPU)
    assert levels(case)["dtype"] == ("float32", "absent", "bfloat16")
    assert levels(case)["block_size"] == ("16", "absent")
    assert levels(case)["enforce_eager"] == ("present", "absent")
    assert list(levels(case))[:3] == ["dtype", "block_size", "enforce_eager"]
    assert len(case.factors) <= 8


@pytest.mark.parametrize(
    "flag",
    ["--served-model-name x", "--tensor-parallel-size 8", "--tp 8", "--port 1", "--tokenizer t", "--trust-remote-code",
     "--model m", "--device cpu", "--api-key k", "--chat-template t", "--capture-sizes 1 2 4", "-q fp8"],
)  # fmt: skip
def test_what_makes_it_another_deployment_is_not_varied(flag: str, tmp_path: Path) -> None:
    plain = failed("vllm serve m", tmp_path, CPU)
    assert failed(f"vllm serve m {flag}", tmp_path, CPU).factors == plain.factors


def test_variables_of_the_engine_are_factors_and_secrets_are_not(tmp_path: Path) -> None:
    command = "VLLM_USE_X=1 CUDA_VISIBLE_DEVICES=0 HF_TOKEN=abc VLLM_API_KEY=k HOME=/x vllm serve m"
    assert levels(failed(command, tmp_path, CPU))["vllm_use_x"] == ("1", "unset")
    named = {name for name, found in levels(failed(command, tmp_path, CPU)).items() if "unset" in found}
    assert named == {"vllm_use_x"}


def test_a_refusal_that_no_setting_changes_is_not_searched(tmp_path: Path) -> None:
    assert failed("vllm serve m --dtype float32 --enforce-eager", tmp_path, CPU, SPARSE).factors == ()


def test_a_flag_that_the_refusal_names_is_varied_alone(tmp_path: Path) -> None:
    error = "sglang serve: error: argument --attention-backend: invalid choice: 'nope' (choose from 'triton', 'fa3')"
    command = "sglang serve --model-path m --device cpu --attention-backend nope --dtype float32"
    case = failed(command, tmp_path, "usage: sglang serve [-h] --model-path MODEL_PATH", error)
    assert levels(case) == {"attention_backend": ("nope", "absent", "torch_native", "intel_amx")}


def test_a_level_that_the_refusal_names_is_varied_alone(tmp_path: Path) -> None:
    error = "importlib.metadata.PackageNotFoundError: No package metadata was found for flashinfer_python"
    command = "sglang serve --model-path m --device cpu --attention-backend flashinfer --dtype float32"
    frame = (
        '  File "/venv/lib/python3.11/site-packages/sglang/srt/entrypoints/engine.py", line 9, in _set_envs_and_config'
    )
    case = failed(command, tmp_path, "Traceback (most recent call last):", frame, "    check()", error)
    assert levels(case) == {"attention_backend": ("flashinfer", "absent", "torch_native", "intel_amx")}


def test_what_the_log_speaks_for_is_offered_first(tmp_path: Path) -> None:
    case = failed("vllm serve m --max-model-len 512", tmp_path, GPU, "Capturing CUDA graph shapes", GRAPHS)
    assert case.factors[0].name == "enforce_eager"
    assert case.factors[0].levels == ("absent", "present")
    assert not {"moe_backend", "disable_custom_all_reduce"} & set(levels(case))  # no experts, one rank


def test_where_memory_is_suspected_the_largest_size_that_works_is_searched_for(tmp_path: Path) -> None:
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    case = failed("VLLM_CPU_KVCACHE_SPACE=40 vllm serve m --max-model-len 4096", tmp_path, GPU, error)
    assert levels(case)["max_model_len"][:4] == ("4096", "4000", "3550", "3150")
    assert levels(case)["vllm_cpu_kvcache_space"][:4] == ("40", "36", "32", "28")
    assert levels(case)["vllm_cpu_kvcache_space"][-2:] == ("2", "1")
    assert case.factor("max_model_len").ordered


def test_a_start_that_says_why_it_failed_is_searched_in_that_alone(tmp_path: Path) -> None:
    error = (
        "ValueError: Available memory on node 0 (7.5/9.25 GiB) on kv cache allocation is less than requested memory "
        "for kv (64.0 GiB). Decrease --kv-cache-memory-bytes, VLLM_CPU_KVCACHE_SPACE, or reduce memory used by others."
    )
    command = "VLLM_CPU_KVCACHE_SPACE=64 vllm serve m --max-model-len 512 --dtype float32 --enforce-eager"
    case = failed(command, tmp_path, CPU, "Starting to load model m", error)
    assert list(levels(case)) == ["vllm_cpu_kvcache_space", "max_model_len"]
    assert case.factor("vllm_cpu_kvcache_space").ordered
    assert levels(case)["max_model_len"] == ("512", "absent"), "the log names another size"


def test_where_memory_is_not_suspected_what_sets_it_apart_is_left_alone(tmp_path: Path) -> None:
    case = failed("VLLM_CPU_KVCACHE_SPACE=40 vllm serve m --max-num-seqs 8", tmp_path, GPU, GRAPHS)
    assert "vllm_cpu_kvcache_space" not in levels(case)
    assert levels(case)["max_num_seqs"] == ("8", "absent")


def test_without_a_log_the_flags_and_what_usually_matters_are_offered() -> None:
    case, _ = widened(bare_case(shlex.split("vllm serve m --dtype float32")), None, ask=False)
    assert "dtype" in levels(case)
    assert "enforce_eager" in levels(case)


def offered(command: str) -> Case:
    return widened(bare_case(shlex.split(command)), None, ask=False)[0]


def test_without_a_log_an_expert_s_few_are_offered_by_what_the_command_tells_of_model_and_machine() -> None:
    found = levels(offered("python3 -m sglang.launch_server --model-path org/GLM-5-NVFP4 --tp 8"))
    assert list(found) == [
        *("attention_backend", "dsa_decode_backend", "dsa_prefill_backend", "kv_cache_dtype", "fp4_gemm_backend"),
        *("moe_runner_backend", "disable_cuda_graph", "disable_custom_all_reduce"),
    ]
    assert found["kv_cache_dtype"] == ("absent", "bf16", "fp8_e4m3")


def test_a_former_name_that_the_command_uses_stays() -> None:
    found = levels(offered("sglang serve --model-path m --nsa-decode-backend flashmla_sparse"))
    assert found["nsa_decode_backend"][:2] == ("flashmla_sparse", "absent")
    assert "trtllm" in found["nsa_decode_backend"]
    assert "dsa_decode_backend" not in found


def test_what_is_on_by_itself_is_switched_off_not_left_out() -> None:
    found = levels(offered("vllm serve m --enable-prefix-caching"))
    assert found["no_enable_prefix_caching"] == ("absent", "present")
    assert "enable_prefix_caching" not in found
    assert levels(offered("vllm serve m --no-enable-prefix-caching"))["no_enable_prefix_caching"] == (
        "present",
        "absent",
    )


def test_what_is_given_several_times_or_is_left_to_the_engine_is_no_level_to_leave_out() -> None:
    found = levels(offered("vllm serve m --middleware x --middleware y --kv-cache-dtype auto --x auto"))
    assert "middleware" not in found
    assert found["kv_cache_dtype"] == ("auto", "bfloat16", "fp8")
    assert "x" not in found


def test_the_level_that_holds_without_the_flag_is_no_other_level() -> None:
    assert levels(offered("llama-server -m a.gguf -ngl 9"))["cache_type_k"] == ("absent", "q8_0")
    assert levels(offered("llama-server -m a.gguf -ngl 9 -ctk f16"))["cache_type_k"] == ("f16", "q8_0")
    assert levels(offered("llama-server -m a.gguf -ngl 9 -ctk q8_0"))["cache_type_k"] == ("q8_0", "absent", "f16")
    assert levels(offered("trtllm-serve m --backend pytorch"))["backend"] == ("pytorch", "_autodeploy")


def test_ranks_that_do_not_come_together_are_tried_without_the_way_that_may_be_broken(tmp_path: Path) -> None:
    error = (
        "[rank0]:[E1130 01:52:00 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds"
    )
    case = failed("vllm serve m --tensor-parallel-size 2", tmp_path, GPU, error)
    assert levels(case)["nccl_p2p_disable"] == ("unset", "1")


def test_what_a_configuration_file_sets_is_varied_from_the_command_line(tmp_path: Path) -> None:
    config = tmp_path / "serve.yaml"
    config.write_text(
        "model: org/m-FP8\nserved_model_name: name\nport: 9000\nkv-cache-dtype: fp8\nenforce-eager: true\n"
        "enable-lora: false\ncudagraph-capture-sizes: [1, 2]\ntensor-parallel-size: 8\n"
    )
    case = offered(f"vllm serve --config {config}")
    assert case.name == "vllm-m-FP8"
    assert levels(case)["kv_cache_dtype"] == ("fp8", "bfloat16")
    assert levels(case)["no_enforce_eager"] == ("absent", "present")
    assert not {"enforce_eager", "port", "enable_lora", "tensor_parallel_size"} & set(levels(case))
    assert "linear_backend" in levels(case)
    launch = ENGINES["vllm"].launch(case, case.baseline)
    assert launch.argv[:4] == ("vllm", "serve", "--config", str(config))
    assert '"model": "name"' in str(ENGINES["vllm"].requests(case, case.baseline)[0].body)


@pytest.mark.parametrize("text", ["", "- a", "a: [", "\0"])
def test_a_configuration_file_that_cannot_be_read_sets_nothing(text: str, tmp_path: Path) -> None:
    config = tmp_path / "serve.yaml"
    config.write_text(text)
    assert offered(f"vllm serve m --config {config}") == replace(
        offered("vllm serve m"), command=("vllm", "serve", "m", "--config", str(config))
    )
    assert offered("vllm serve m --config /nowhere.yaml").factors == offered("vllm serve m").factors


def test_a_variable_that_is_known_has_its_levels() -> None:
    case = offered("VLLM_USE_DEEP_GEMM=1 vllm serve org/m-FP8")
    assert levels(case)["vllm_use_deep_gemm"] == ("1", "unset", "0")


def test_a_release_is_offered_what_it_has_under_the_name_that_it_has_there(tmp_path: Path) -> None:
    log = (
        "INFO 11-30 01:51:30 [core.py:1] Initializing a V1 LLM engine (v{0}) with config: model='m', device_config=cuda"
    )
    new = failed("vllm serve m", tmp_path, log.format("0.18.0"), "RuntimeError: CUDA error: an illegal memory access")
    old = failed("vllm serve m", tmp_path, log.format("0.12.0"), "RuntimeError: CUDA error: an illegal memory access")
    assert "--attention-backend" in {factor.target for factor in new.factors}
    assert "VLLM_ATTENTION_BACKEND" in {factor.target for factor in old.factors}
    assert not {"--attention-backend", "--linear-backend"} & {factor.target for factor in old.factors}


def test_variables_that_only_say_where_or_how_much_is_told_are_no_factors() -> None:
    command = "NCCL_DEBUG=INFO VLLM_LOGGING_LEVEL=DEBUG NCCL_SOCKET_IFNAME=eth0 VLLM_HOST_IP=10.0.0.1 vllm serve m"
    assert not {name for name, found in levels(offered(command)).items() if "unset" in found}
    assert "nccl_p2p_disable" in levels(offered(f"NCCL_P2P_DISABLE=1 {command}"))


def test_a_job_has_its_flags() -> None:
    case, _ = widened(bare_case(shlex.split("python train.py --backend fast -v --tf32 --depth=4")), None)
    assert levels(case) == {
        "backend": ("fast", "absent"),
        "tf32": ("present", "absent"),
        "depth": ("4", "absent"),
    }


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve m --dtype float32 --enforce-eager",
        """VLLM_X='a "b": #c' vllm serve 'my model' --compilation-config '{"mode": 0}' --flag off""",
        "python train.py --lr 1e-3 --null null --yes yes --empty ''",
        "llama-server -m a.gguf -fa on",
        "python train.py",
    ],
)
def test_the_case_file_reads_back_as_the_case(command: str) -> None:
    case, choices = widened(bare_case(shlex.split(command)), None, ask=False)
    assert parse_case(case_text(case, choices)) == case


def test_the_case_file_says_why_and_offers_what_may_be_added(tmp_path: Path) -> None:
    case, choices = widened(bare_case(shlex.split("vllm serve m --dtype float32")), None, ask=False)
    text = case_text(case, choices)
    assert "  # given in the command\n  dtype: {flag: --dtype," in text
    for line in text.splitlines():
        if line.startswith(("#  weights", "#  layers")):
            text = text.replace(line, line.removeprefix("#"))
    with_proxies = parse_case(text)
    assert [f.name for f in with_proxies.factors if f.proxy] == ["weights", "layers"]
    assert "#  NCCL_DEBUG=INFO" in text
