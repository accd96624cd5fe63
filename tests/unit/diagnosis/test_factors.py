"""What a log makes likely is asked first; what it says of no factor favours none."""

from __future__ import annotations

import pytest

from ruleout.diagnosis.factors import component_of, priors, spoken_of
from ruleout.model import Component, Evidence, Factor, Mechanism
from ruleout.model.diagnosis import Suspect


def factor(name: str, target: str = "", proxy: bool = False) -> Factor:
    """A factor with two levels."""
    return Factor(name, Mechanism.FLAG, target, ("a", "b"), "a", proxy=proxy)


@pytest.mark.parametrize(
    ("target", "component"),
    [
        ("--kv-cache-dtype", Component.KV_CACHE_DTYPE),
        ("--cache-type-k", Component.KV_CACHE_DTYPE),
        ("--attention-backend", Component.ATTENTION_BACKEND),
        ("--nsa-decode-backend", Component.ATTENTION_BACKEND),
        ("--moe-runner-backend", Component.MOE_RUNNER),
        ("--fp4-gemm-backend", Component.QUANTIZATION),
        ("--disable-custom-all-reduce", Component.ALLREDUCE),
        ("--enforce-eager", Component.CUDA_GRAPH),
        ("--mem-fraction-static", Component.MEMORY),
        ("VLLM_CPU_KVCACHE_SPACE", Component.MEMORY),
        ("--speculative-algorithm", Component.SPEC_DECODE),
        ("NCCL_P2P_LEVEL", Component.NCCL),
        ("--disable-radix-cache", Component.SCHEDULER),
        ("--zorble", None),
    ],
)
def test_a_factor_belongs_to_a_component_by_the_words_of_its_flag(target: str, component: Component | None) -> None:
    assert component_of(factor("x", target)) is component


def test_a_suspects_probability_is_shared_by_the_factors_of_its_component() -> None:
    factors = [factor("attn", "--attention-backend"), factor("dec", "--decode-attention-backend"), factor("z")]
    told = priors([Suspect(Component.ATTENTION_BACKEND, "", 0.6)], factors)
    assert told["attn"] == told["dec"] > told["z"]
    assert sum(told.values()) == pytest.approx(1)


def test_the_factor_that_the_fix_sets_comes_before_others_of_the_component() -> None:
    factors = [factor("a", "--attention-backend"), factor("b", "--decode-attention-backend"), factor("c")]
    fixed = Suspect(Component.ATTENTION_BACKEND, "", 0.6, fix={"set": {"--decode-attention-backend": "x"}})
    told = priors([fixed], factors)
    assert told["b"] > told["a"] > told["c"]


def test_a_missing_kernel_speaks_for_every_setting_that_chooses_kernels() -> None:
    factors = [factor("a", "--attention-backend"), factor("m", "--moe-runner-backend"), factor("s", "--x")]
    told = priors([Suspect(Component.KERNEL_ARCH_SUPPORT, "", 0.8)], factors)
    assert told["a"] == told["m"] > told["s"]


def test_what_falls_to_no_factor_favours_none() -> None:
    assert priors([Suspect(Component.WEIGHTS_CHECKPOINT, "", 0.9)], [factor("a", "--attention-backend")]) == {}


def test_a_proxy_takes_no_part() -> None:
    told = priors(
        [Suspect(Component.ATTENTION_BACKEND, "", 0.9)],
        [factor("attn", "--attention-backend"), factor("p", "--attention-chunk", proxy=True)],
    )
    assert set(told) == {"attn"}


@pytest.mark.parametrize(("target", "named"), [("--zorble", True), ("--zorb", False), ("--zorble-size", False)])
def test_a_factor_that_the_failing_line_names_is_spoken_of(target: str, named: bool) -> None:
    suspect = Suspect(
        Component.OTHER, "", 0.6, evidence=(Evidence("log", 3, "ValueError: decrease --zorble, or else"),)
    )
    told = priors([suspect], [factor("it", target), factor("z", "--quux")])
    assert (told.get("it", 0.0) > told.get("z", 0.0)) is named
    assert (spoken_of([suspect], factor("it", target)) > 0) is named
