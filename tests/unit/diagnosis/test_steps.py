"""What to try next: the likeliest to settle it per minute first, only what this run and this release allow, priced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ruleout.diagnosis.alternatives import alternative
from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.flags import COSTS, KNOWN, cost, spelt
from ruleout.diagnosis.looks import LOOKS
from ruleout.diagnosis.steps import minutes, steps
from ruleout.diagnosis.view import view
from ruleout.model import (
    ChosenBy,
    Component,
    DiagnosedFailure,
    Diagnosis,
    EngineId,
    Environment,
    FailureClass,
    LogOutcome,
    Setting,
    Stage,
    StageSpan,
    StepKind,
    Suspect,
)
from ruleout.reading.diagnose import read_run

C, F = Component, FailureClass

RUN = Diagnosis(
    EngineId("sglang", "0.5.9"),
    LogOutcome.CRASH,
    Stage.DECODE,
    (
        StageSpan(Stage.WEIGHT_LOAD, 10, 540.0),
        StageSpan(Stage.CUDA_GRAPH_CAPTURE, 20, 60.0),
        StageSpan(Stage.READY, 30, 7200.0),
        StageSpan(Stage.DECODE, 40),
    ),
    DiagnosedFailure(F.OTHER, "s", "it broke", 50, text="it broke"),
    Environment(tp=8),
    command="python3 -m sglang.launch_server --model-path /m --attention-backend fa3 --tp 8",
)


def suspect(component: Component, probability: float, **more: object) -> Suspect:
    return replace(Suspect(component, "claim", probability, test=COMPONENTS[component].test), **more)  # type: ignore[arg-type]


def told(text: str, folder: Path) -> Diagnosis:
    path = folder / "server.log"
    path.write_text(text + "\n")
    run = read_run([path])
    return diagnosed(run.diagnosis, run.near, run.lines)


def test_minutes_are_the_log_s_own_without_the_wait_for_a_first_request() -> None:
    assert minutes(RUN) == 10.0
    assert minutes(replace(RUN, stages=())) is None
    late = replace(RUN, stages=(*RUN.stages, StageSpan(Stage.SHUTDOWN, 60, 600.0)))
    assert minutes(late) == 10.0


def test_a_trial_says_its_minutes_its_price_and_the_whole_command() -> None:
    first = steps(view(RUN), [suspect(C.ATTENTION_BACKEND, 0.5)])[0]
    assert (first.kind, first.change, first.minutes) == (StepKind.TRIAL, {"--attention-backend": "triton"}, 10.0)
    assert first.command.endswith("--model-path /m --tp 8 --attention-backend triton")
    assert "slower" in first.cost
    unknown = steps(view(replace(RUN, stages=(), command="")), [suspect(C.ATTENTION_BACKEND, 0.5)])[0]
    assert (unknown.minutes, unknown.command) == (None, "")


def test_a_look_of_seconds_comes_before_a_trial_of_minutes_even_if_it_is_about_the_less_likely() -> None:
    failure = DiagnosedFailure(F.IMPORT_ABI, "s", "ImportError: x", 50, text="ImportError: x")
    run = replace(RUN, failure=failure)
    found = steps(view(run), [suspect(C.CUDA_GRAPH, 0.4), suspect(C.INSTALL_ABI, 0.3)])
    assert [step.kind for step in found[:2]] == [StepKind.READ, StepKind.TRIAL]
    assert found[0].command == "python3 -m pip check"


def test_where_a_start_fails_in_seconds_the_trial_of_the_likelier_comes_first() -> None:
    failure = DiagnosedFailure(F.COMPILE_ERROR, "s", "nvcc", 50, text="nvcc error")
    run = replace(RUN, failure=failure, stages=(StageSpan(Stage.ARG_PARSING, 1, 6.0),))
    found = [suspect(C.CUDA_GRAPH, 0.6), suspect(C.OTHER, 0.2)]
    assert steps(view(run), found)[0].kind is StepKind.TRIAL
    slow = replace(run, stages=(StageSpan(Stage.WEIGHT_LOAD, 1, 3600.0),))
    assert steps(view(slow), found)[0].kind is StepKind.READ


def test_one_trial_for_two_suspects_is_proposed_once_and_names_both() -> None:
    found = steps(view(RUN), [suspect(C.ATTENTION_BACKEND, 0.3), suspect(C.KERNEL_ARCH_SUPPORT, 0.3)])
    trials = [step for step in found if step.kind is StepKind.TRIAL]
    assert len(trials) == 1
    assert "neither attention_backend nor kernel_arch_support" in trials[0].why


def test_a_level_in_effect_is_not_proposed_but_the_next_one(tmp_path: Path) -> None:
    has = replace(RUN, settings=(Setting("attention_backend", None, "triton", ChosenBy.ENGINE, 3),))
    assert alternative(has, suspect(C.ATTENTION_BACKEND, 0.5)) == {"--attention-backend": "flashinfer"}
    kept = replace(RUN, settings=(Setting("kv_cache_dtype", "auto", "torch.bfloat16", ChosenBy.ENGINE, 3),))
    assert alternative(kept, suspect(C.KV_CACHE_DTYPE, 0.5)) == {}
    renamed = replace(
        RUN,
        environment=Environment(quantization="modelopt_fp4"),
        settings=(Setting("fp4_gemm_runner_backend", None, "flashinfer_cudnn", ChosenBy.ENGINE, 3),),
    )
    assert alternative(renamed, suspect(C.QUANTIZATION, 0.5)) == {"--fp4-gemm-backend": "flashinfer_cutlass"}


def test_what_a_traceback_leads_through_or_the_hardware_lacks_is_not_proposed() -> None:
    assert RUN.failure is not None
    through = replace(RUN, failure=replace(RUN.failure, frames=("triton_backend.py:forward_extend",)))
    assert alternative(through, suspect(C.ATTENTION_BACKEND, 0.5)) == {"--attention-backend": "flashinfer"}
    amd = replace(through, environment=Environment(sm="gfx1201"))
    assert alternative(amd, suspect(C.ATTENTION_BACKEND, 0.5)) == {"--attention-backend": "torch_native"}
    cpu = replace(RUN, settings=(Setting("device", None, "cpu", ChosenBy.ENGINE, 3),))
    assert alternative(cpu, suspect(C.CUDA_GRAPH, 0.5)) == {}
    assert alternative(RUN, suspect(C.QUANTIZATION, 0.5)) == {}  # nothing is in FP4


def test_speculation_is_taken_away_with_all_of_its_flags() -> None:
    asked = [Setting(f"speculative_{name}", "3", None, ChosenBy.USER, 1) for name in ("algorithm", "num_steps")]
    run = replace(RUN, settings=tuple(asked))
    change = alternative(run, suspect(C.SPEC_DECODE, 0.5))
    assert change == {"--speculative-algorithm": "absent", "--speculative-num-steps": "absent"}
    assert alternative(RUN, suspect(C.SPEC_DECODE, 0.5)) == {}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the estimated maximum model length is 4096", {"--max-model-len": "4096"}),
        ("the estimated maximum model length is 12", {}),
        ("too little memory for the KV cache", {"--max-model-len": "20000"}),
    ],
)
def test_memory_is_made_by_the_figures_of_the_run(text: str, wanted: dict[str, str]) -> None:
    run = replace(
        RUN,
        engine=EngineId("vllm", "0.15.0"),
        stage=Stage.KV_CACHE_ALLOC,
        failure=DiagnosedFailure(F.OOM, "s", text, 50, text=text),
        settings=(Setting("max_model_len", None, "40000", ChosenBy.ENGINE, 1),),
    )
    assert alternative(run, suspect(C.MEMORY, 0.5)) == wanted


def test_flags_are_spelt_as_the_release_knows_them() -> None:
    change = {"--attention-backend": "TRITON_ATTN"}
    assert spelt(EngineId("vllm", "0.13.0"), change) == change
    assert spelt(EngineId("vllm", "0.12.0"), change) == {"VLLM_ATTENTION_BACKEND": "TRITON_ATTN"}
    assert spelt(EngineId("vllm", "0.9.1"), change) is None
    assert spelt(EngineId("vllm", None), change) == spelt(EngineId("vllm", "0.1.dev1+g68"), change) == change
    dsa = {"--dsa-decode-backend": "fa3"}
    assert spelt(EngineId("sglang", "0.5.9"), dsa) == {"--nsa-decode-backend": "fa3"}
    assert spelt(EngineId("sglang", "0.5.23"), dsa) == dsa
    assert spelt(EngineId("vllm", "0.15.0"), {"--kv-cache-dtype": "bf16"}) == {"--kv-cache-dtype": "bfloat16"}


def test_every_change_of_a_component_has_a_price_or_is_one_of_equals() -> None:
    free = {"flashinfer", "FLASHINFER", "sdpa", "flashinfer_cutlass", "marlin", "cutlass"}
    for about in COMPONENTS.values():
        for changes in about.changes.values():
            for change in changes:
                assert cost(change) or set(change.values()) <= free, change
    assert all(words for _, _, words in COSTS)
    assert all(bounds for bounds in KNOWN.values())


def test_graphs_and_a_wider_cache_say_what_they_cost() -> None:
    assert "slower" in cost({"--enforce-eager": ""})
    assert "half" in cost({"--kv-cache-dtype": "bfloat16"})
    assert cost({"--unknown": "level"}) == ""


def test_a_failure_reported_late_is_run_again_so_that_it_names_its_kernel(tmp_path: Path) -> None:
    found = told(
        "$ python3 -m sglang.launch_server --model-path /m\n"
        "[2025-11-29 20:05:22 TP0] Decode batch. #running-req: 9\n"
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
        "CUDA kernel errors might be asynchronously reported at some other API call",
        tmp_path,
    )
    debug = next(step for step in found.next if "CUDA_LAUNCH_BLOCKING" in step.change)
    assert debug.command.startswith("CUDA_LAUNCH_BLOCKING=1 python3 -m sglang.launch_server")
    assert "for the test only" in debug.cost


def test_a_look_is_filled_with_what_the_log_says(tmp_path: Path) -> None:
    found = told(
        "ValueError: The checkpoint you are trying to load has model type `acme_moe` but Transformers does not "
        "recognize this architecture.",
        tmp_path,
    )
    assert found.next[0].kind is StepKind.READ
    assert "'acme_moe' in t.CONFIG_MAPPING" in found.next[0].command
    missing = told("ModuleNotFoundError: No module named 'acme.kernels'", tmp_path)
    assert missing.next[0].command == "python3 -m pip show acme"


def test_every_look_is_about_something_and_short_enough_to_copy() -> None:
    for look in LOOKS:
        assert look.components
        assert 0 < look.decides <= 1
        assert len(look.command) < 110
        assert len(look.says) <= 75


def test_what_is_behind_a_rule_and_what_its_change_costs_are_told(tmp_path: Path) -> None:
    found = told("ValueError: kernel expected KV dtype: KV dtype expected bfloat16, but got float8_e4m3fn", tmp_path)
    first = found.suspects[0]
    assert first.rule == "fp8-kv-refused"
    assert first.behind
    assert "half" in str(first.fix["cost"])


LATE_FAULT = (
    "[2025-03-03 08:00:01] server_args=ServerArgs(model_path='acme/Small-7B', tp_size=2, device='cuda')\n"
    "[2025-03-03 08:00:05 TP0] Load weight begin. avail mem=78.11 GB\n"
    "[2025-03-03 08:00:38] The server is fired up and ready to roll!\n"
    "[2025-03-03 08:01:00 TP0] Prefill batch. #new-seq: 4, #new-token: 8192, #cached-token: 12\n"
    "[2025-03-03 08:01:02 TP0] Decode batch. #running-req: 5, #token: 9121, token usage: 0.03\n"
    "[2025-03-03 {time} TP1] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/acme/sglang/srt/managers/scheduler.py", line 2300, in event_loop_overlap\n'
    "    self.step()\n"
    "RuntimeError: CUDA error: an illegal memory access was encountered"
)


def test_a_failure_after_hours_takes_trials_of_hours_and_says_so(tmp_path: Path) -> None:
    late = [s for s in told(LATE_FAULT.format(time="11:01:02"), tmp_path).next if s.kind is StepKind.TRIAL]
    assert late
    assert all(step.minutes is not None and step.minutes > 180 for step in late)
    assert all("must last longer than 3 h 0 min" in step.why for step in late)
    soon = [s for s in told(LATE_FAULT.format(time="08:01:04"), tmp_path).next if s.kind is StepKind.TRIAL]
    assert soon
    assert all(step.minutes is not None and step.minutes < 2 and "must last" not in step.why for step in soon)


def test_serving_that_only_an_access_log_without_times_shows_counts_too(tmp_path: Path) -> None:
    found = told(
        "INFO 03-03 08:00:01 [api_server.py:12] vLLM API server version 0.13.0\n"
        "INFO 03-03 08:00:20 [gpu_model_runner.py:3] Graph capturing finished in 9 secs, took 0.81 GiB\n"
        "INFO:     Application startup complete.\n"
        'INFO:     10.0.0.9:1 - "POST /v1/completions HTTP/1.1" 200 OK\n'
        "ERROR 03-03 11:10:12 [core.py:82] EngineCore encountered a fatal error.\n"
        "ERROR 03-03 11:10:12 [core.py:82] Traceback (most recent call last):\n"
        'ERROR 03-03 11:10:12 [core.py:82]   File "/acme/vllm/v1/engine/core.py", line 3, in run_busy_loop\n'
        "ERROR 03-03 11:10:12 [core.py:82] RuntimeError: CUDA error: an illegal memory access was encountered",
        tmp_path,
    )
    assert any("must last longer than 3 h" in step.why for step in found.next)


def vllm(version: str, **more: object) -> Diagnosis:
    return replace(RUN, engine=EngineId("vllm", version), settings=(), **more)  # type: ignore[arg-type]


def test_no_flag_and_no_level_is_proposed_that_the_release_lacks() -> None:
    for version, wanted in (
        ("0.6.3", {}),
        ("0.9.1", {"--no-enable-prefix-caching": ""}),
        ("0.13.0", {"--no-enable-prefix-caching": "", "--no-async-scheduling": ""}),
    ):
        assert alternative(vllm(version), suspect(C.SCHEDULER, 0.5)) == wanted
    old = replace(RUN, engine=EngineId("sglang", "0.4.6.post5"))
    assert alternative(old, suspect(C.MOE_RUNNER, 0.5)) == {}
    assert alternative(old, suspect(C.KV_CACHE_DTYPE, 0.5)) == {"--kv-cache-dtype": "auto"}
    assert alternative(vllm("0.9.2"), suspect(C.KV_CACHE_DTYPE, 0.5)) == {"--kv-cache-dtype": "auto"}


def test_auto_is_the_model_s_own_type_unless_its_weights_or_its_attention_say_other() -> None:
    auto = replace(RUN, settings=(Setting("kv_cache_dtype", None, "auto", None, 3),))
    assert alternative(auto, suspect(C.KV_CACHE_DTYPE, 0.5)) == {}
    for ran in (Environment(quantization="modelopt_fp4"), Environment(model_type="deepseek_v32")):
        changed = alternative(replace(auto, environment=ran), suspect(C.KV_CACHE_DTYPE, 0.5))
        assert changed == {"--kv-cache-dtype": "bf16"}


def out_of_memory(class_: FailureClass = F.OOM, text: str = "CUDA out of memory", **more: object) -> Diagnosis:
    failure = DiagnosedFailure(class_, "s", text, 50, text=text)
    share = Setting("gpu_memory_utilization", "0.75", None, ChosenBy.USER, 1)
    batch = Setting("max_num_batched_tokens", None, "8192", ChosenBy.ENGINE, 1)
    length = Setting("max_model_len", None, "40000", ChosenBy.ENGINE, 1)
    run = replace(RUN, engine=EngineId("vllm", "0.15.0"), failure=failure, settings=(share, batch, length))
    return replace(run, **more)  # type: ignore[arg-type]


def test_memory_is_taken_from_what_holds_it_at_that_stage() -> None:
    weights = StageSpan(Stage.WEIGHT_LOAD, 10, 5.0)
    early = out_of_memory(stage=Stage.KERNEL_COMPILE, stages=(weights, StageSpan(Stage.KERNEL_COMPILE, 20)))
    assert alternative(early, suspect(C.MEMORY, 0.5)) == {"--max-num-batched-tokens": "4096"}
    late = out_of_memory(stages=(weights, StageSpan(Stage.KV_CACHE_ALLOC, 20), StageSpan(Stage.DECODE, 30)))
    assert alternative(late, suspect(C.MEMORY, 0.5)) == {"--gpu-memory-utilization": "0.65"}
    assert alternative(out_of_memory(stage=Stage.WEIGHT_LOAD), suspect(C.MEMORY, 0.5)) == {}
    assert alternative(out_of_memory(F.HOST_OOM_KILL, "Killed"), suspect(C.MEMORY, 0.5)) == {}  # the host's memory


def test_a_cache_of_so_many_bytes_is_no_matter_of_the_length() -> None:
    given = Setting("kv_cache_memory_bytes", "100000", None, ChosenBy.USER, 1)
    run = out_of_memory(text="No available memory for the cache blocks", stage=Stage.KV_CACHE_ALLOC, settings=(given,))
    assert alternative(run, suspect(C.MEMORY, 0.5)) == {"--kv-cache-memory-bytes": "absent"}


def test_a_trial_for_memory_does_not_claim_to_refute_it() -> None:
    late = out_of_memory(stages=(StageSpan(Stage.KV_CACHE_ALLOC, 20), StageSpan(Stage.DECODE, 30)))
    trial = next(s for s in steps(view(late), [suspect(C.MEMORY, 0.9)]) if s.kind is StepKind.TRIAL)
    assert "frees too little" in trial.why


def test_nothing_is_changed_that_computes_later_than_the_failure() -> None:
    joining = replace(RUN, stage=Stage.DISTRIBUTED_INIT)
    for component in (C.SCHEDULER, C.ATTENTION_BACKEND, C.CUDA_GRAPH):
        assert alternative(joining, suspect(component, 0.5)) == {}
    assert alternative(joining, suspect(C.ALLREDUCE, 0.5)) == {"--disable-custom-all-reduce": ""}
    assert RUN.failure
    loading = replace(RUN, stage=Stage.WEIGHT_LOAD, failure=replace(RUN.failure, exception="KeyError"))
    assert alternative(loading, suspect(C.ATTENTION_BACKEND, 0.5)) == {}


def test_a_broken_gpu_is_looked_at_before_anything_is_changed(tmp_path: Path) -> None:
    found = told("torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", tmp_path)
    assert found.suspects[0].rule == "gpu-memory-uncorrectable"
    assert "nvidia-smi -q" in found.next[0].command


def test_a_failure_of_numbers_may_be_traced_and_that_comes_after_what_decides_more() -> None:
    text = "probability tensor contains either `inf`, `nan` or element < 0"
    failure = DiagnosedFailure(F.DEVICE_SIDE_ASSERT, "s", text, 50, text=text)
    found = steps(view(replace(RUN, failure=failure)), [suspect(C.ATTENTION_BACKEND, 0.7)])
    assert [step.kind for step in found] == [StepKind.TRIAL, StepKind.TRACE]
    assert found[1].command == f"ruleout trace -- {RUN.command}"
    assert found[1].minutes == 10.0
    piped = replace(RUN, failure=failure, command=f"{RUN.command} 2>&1 | tee log")
    trace = steps(view(piped), [suspect(C.ATTENTION_BACKEND, 0.7)])[-1]
    assert (trace.kind, trace.command) == (StepKind.TRACE, "")
    assert trace.why.startswith("ruleout trace -- COMMAND: ")


@pytest.mark.parametrize(
    ("engine", "class_"), [("sglang", F.OOM), ("sglang", F.OTHER), ("llama.cpp", F.NAN_INF), ("", F.NAN_INF)]
)
def test_a_trace_is_not_proposed_where_it_would_tell_nothing(engine: str, class_: FailureClass) -> None:
    failure = DiagnosedFailure(class_, "s", "x", 50, text="x")
    run = replace(RUN, engine=EngineId(engine), failure=failure)
    assert StepKind.TRACE not in [step.kind for step in steps(view(run), [suspect(C.ATTENTION_BACKEND, 0.7)])]
