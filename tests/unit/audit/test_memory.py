"""Bytes a token and weights a rank follow from the configuration, and tokens from what an engine sets aside."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.audit.memory import GLM5, GLM5_NVFP4, KIMI_K2, PRO_6000, QWEN25, answers
from tests.support.checkpoints import library_wrote

from ruleout.audit import ModelFolder, audit
from ruleout.audit.checkpoint_families import parameters
from ruleout.audit.memory_cache import cache
from ruleout.audit.memory_deployment import deployment
from ruleout.audit.memory_reserve import fraction_static
from ruleout.audit.memory_weights import by_configuration, per_rank, stored
from ruleout.audit.quantised_reading import declared
from ruleout.audit.tensors import Tensor
from ruleout.model.audit import Audit, Host, Launch, Severity

SHARED = Path(os.environ.get("RULEOUT_SHARED") or Path(__file__).parents[4] / "shared")
LOGS = [SHARED / "corpus" / "logs", SHARED / "lab" / "logs"]
GIB = 1 << 30


def sglang(version: str | None = "0.5.9", **arguments: str) -> Launch:
    return Launch("sglang", version, arguments)


def audited(config: dict[str, Any], folder: Path, launch: Launch, host: Host | None) -> Audit:
    """An audit of a folder that holds a configuration and nothing else."""
    (folder / "config.json").write_text(json.dumps(config))
    return audit(ModelFolder(folder), launch, host)


@pytest.mark.parametrize(
    ("config", "launch", "per_token"),
    [
        (QWEN25, sglang(), 28 * 2 * 2 * 128 * 2),
        (QWEN25, sglang(tp="2"), 28 * 2 * 1 * 128 * 2),
        (QWEN25, sglang(tp="4"), 28 * 2 * 1 * 128 * 2),
        (QWEN25, sglang(kv_cache_dtype="fp8_e5m2"), 28 * 2 * 2 * 128),
        (QWEN25, sglang(kv_cache_dtype="fp4_e2m1"), 28 * 2 * 2 * (64 + 8)),
        (QWEN25, Launch("vllm", None, {"pipeline_parallel_size": "4"}), 7 * 2 * 2 * 128 * 2),
        (KIMI_K2, sglang(tp="8"), 61 * 576 * 2),
        (KIMI_K2, sglang(tp="8", kv_cache_dtype="fp8_e4m3"), 61 * 576),
        (GLM5, sglang(kv_cache_dtype="bf16"), 78 * (576 * 2 + 132)),
        (GLM5, sglang(kv_cache_dtype="fp8_e4m3"), 78 * (576 + 132)),
        (GLM5, sglang("0.5.23", kv_cache_dtype="fp8_e4m3"), 78 * (656 + 132)),
        (GLM5, Launch("vllm", "0.32.0", {"kv_cache_dtype": "fp8"}), 78 * (656 + 132)),
    ],
)
def test_bytes_of_a_token(config: dict[str, Any], launch: Launch, per_token: int) -> None:
    assert cache(config, deployment(launch, None, config, None)).counted() == per_token


def test_a_deployment_that_printed_its_pool_is_met_to_the_byte() -> None:
    """314,304 tokens in 29.32 GB of bfloat16: https://github.com/voipmonitor/rtx6kpro/blob/07e8898/models/glm5.md"""
    held = cache(GLM5, deployment(sglang(kv_cache_dtype="bf16"), None, GLM5, None))
    assert round(314_304 * held.counted() / GIB, 2) == pytest.approx(29.32, abs=0.005)


@pytest.mark.parametrize(("sm", "dtype"), [("120", "fp8_e4m3"), ("100", "fp8_e4m3"), ("90", "bfloat16")])
def test_the_cache_type_that_sglang_chooses_for_sparse_attention_depends_on_the_gpu(sm: str, dtype: str) -> None:
    assert deployment(sglang(), Host(sm), GLM5, None).cache_dtype == dtype
    assert deployment(sglang(kv_cache_dtype="bf16"), Host(sm), GLM5, None).cache_dtype == "bf16"


def test_all_ranks_together_hold_what_is_stored_and_what_each_needs() -> None:
    weights = by_configuration(parameters(QWEN25), None)
    whole = sum(weight.bytes for weight in weights)
    one = per_rank(weights, deployment(sglang(), None, QWEN25, None), kv_heads=2, layers=28, drafting=False)
    two = per_rank(weights, deployment(sglang(tp="2"), None, QWEN25, None), kv_heads=2, layers=28, drafting=False)
    four = per_rank(weights, deployment(sglang(tp="4"), None, QWEN25, None), kv_heads=2, layers=28, drafting=False)
    keys = 28 * 2 * (2 * 128 * 1536 + 2 * 128) * 2  # K and V, weights and biases, in bytes
    norms = (28 * 2 + 1) * 1536 * 2
    assert one == whole
    assert two == pytest.approx((whole - norms) / 2 + norms)
    assert four == pytest.approx((whole - norms - keys) / 4 + keys / 2 + norms)


def test_stages_of_a_pipeline_hold_their_layers_and_the_ends_hold_the_tables() -> None:
    weights = by_configuration(parameters(QWEN25), None)
    table = 151936 * 1536 * 2
    layers = sum(weight.bytes for weight in weights) - 2 * table - 1536 * 2
    four = deployment(sglang(pp_size="4"), None, QWEN25, None)
    assert per_rank(weights, four, kv_heads=2, layers=28, drafting=False) == pytest.approx(layers / 4 + table + 3072)


def test_weights_by_headers_and_by_configuration_are_the_same() -> None:
    quantisation = declared(GLM5_NVFP4)
    assert quantisation is not None
    asked = [p for p in parameters({**GLM5, "num_hidden_layers": 5}) if p.part != "vocabulary"]
    held: dict[str, Tensor] = {}
    bits = {"U8": 8, "F8_E4M3": 8, "F32": 32}
    for parameter in asked:
        scheme = quantisation.scheme(parameter.module) if parameter.linear else None
        if scheme is None:
            held[parameter.name] = Tensor(parameter.name, "BF16", parameter.shape, 0, 2 * parameter.count)
            continue
        for entry in scheme.layout(*parameter.shape):
            name, dtype = f"{parameter.module}.{entry.suffix}", next(iter(entry.dtypes))
            size = math.prod(entry.shapes[0]) * bits[dtype] // 8
            held[name] = Tensor(name, dtype, entry.shapes[0], 0, size)
    deployed = deployment(sglang(tp="8"), PRO_6000, GLM5, GLM5_NVFP4)
    by_header, by_config = (
        per_rank(weights, deployed, kv_heads=1, layers=5, drafting=False)
        for weights in (stored(asked, held), by_configuration(asked, quantisation))
    )
    assert by_header == pytest.approx(by_config, rel=1e-4)


@pytest.mark.parametrize(
    ("gpus", "mib", "fraction"), [(8, 97887, 0.848), (1, 81559, 0.835), (8, 81559, 0.818), (1, 24564, 0.847)]
)
def test_the_fraction_that_sglang_chooses(gpus: int, mib: int, fraction: float) -> None:
    """0.848 is what an RTX PRO 6000 printed with eight ranks; the others follow from the same table."""
    launch = sglang(tp=str(gpus))
    assert fraction_static(launch, mib, deployment(launch, None, QWEN25, None), latent=False) == pytest.approx(
        fraction, abs=0.001
    )


REAL = list(answers(LOGS))


@pytest.mark.skipif(not REAL, reason="no logs of real servers here")
@pytest.mark.parametrize("answer", REAL, ids=lambda answer: answer.case.log)
def test_tokens_are_those_that_real_servers_printed(answer: Any) -> None:
    low, high = answer.rounded
    assert answer.given_pool == pytest.approx(answer.seen, rel=0.005) or low <= answer.seen <= high
    assert answer.alone == pytest.approx(answer.seen, rel=0.15) or answer.between[0] <= answer.seen <= answer.between[1]
    assert answer.off is None or abs(answer.off) < 0.05


def test_glm5_nvfp4_on_eight_gpus_is_near_what_a_deployment_reported(tmp_path: Path) -> None:
    found = audited({**GLM5, "quantization_config": GLM5_NVFP4}, tmp_path, sglang(tp="8"), PRO_6000)
    assert found.memory is not None
    assert found.memory.kv_tokens == pytest.approx(425_664, rel=0.05)
    assert found.memory.assumed["kv_cache_dtype"] == "fp8_e4m3"
    assert found.memory.weights_gib_per_rank == pytest.approx(57.06, rel=0.02)
    assert "memory-cache-uncounted" in {finding.id for finding in found.findings}


def ids(found: Audit, *severities: Severity) -> set[str]:
    return {f.id for f in found.findings if f.id.startswith("memory") and (not severities or f.severity in severities)}


@pytest.mark.parametrize(
    ("config", "launch", "host", "expected"),
    [
        (GLM5, sglang(tp="8"), PRO_6000, "memory-does-not-fit"),
        (QWEN25, Launch("vllm", "0.32.0", {"max_model_len": "32768"}), Host("75", 1, 6 * GIB), "memory-kv-too-small"),
        (QWEN25, sglang(tp="8"), Host("90", 4, 80 * GIB), "memory-too-few-gpus"),
        (QWEN25, sglang(tp="5"), None, "memory-heads"),
        (QWEN25, sglang(tp="3"), None, "memory-kv-heads"),
        (QWEN25, sglang(tp="4"), None, "memory-kv-heads-repeated"),
        (QWEN25, sglang(pp_size="30"), None, "memory-layers"),
        ({**QWEN25, "vocab_size": 151937}, sglang(tp="2"), None, "memory-vocabulary"),
        (GLM5, sglang(tp="8", ep_size="7"), None, "memory-experts"),
        ({**GLM5, "n_routed_experts": 250}, sglang(tp="8", ep_size="8"), None, "memory-experts"),
        ({**QWEN25, "intermediate_size": 8962}, sglang(tp="4"), None, "memory-inner"),
    ],
)
def test_what_does_not_fit_or_divide_is_found(
    config: dict[str, Any], launch: Launch, host: Host | None, expected: str, tmp_path: Path
) -> None:
    assert expected in ids(audited(config, tmp_path, launch, host))


def test_a_rank_gets_whole_groups_of_scales_or_an_error(tmp_path: Path) -> None:
    blocks = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    config = {**QWEN25, "intermediate_size": 8960, "quantization_config": blocks}
    assert "memory-groups" in ids(audited(config, tmp_path, sglang(tp="4"), None))  # 2240 a rank is 17.5 blocks
    assert "memory-groups" not in ids(audited(config, tmp_path, sglang(tp="2"), None))


def test_a_deployment_that_fits_has_no_findings(tmp_path: Path) -> None:
    found = audited(QWEN25, tmp_path, Launch("vllm", "0.32.0", {}), Host("90", 1, 80 * GIB))
    assert ids(found, Severity.ERROR, Severity.WARNING) == set()
    assert found.memory is not None
    assert found.memory.kv_tokens is not None
    assert found.memory.kv_tokens > 2_000_000


def test_without_a_host_what_is_known_is_told(tmp_path: Path) -> None:
    folder = library_wrote("llama", np.random.default_rng(0)).write(tmp_path)
    need = audit(ModelFolder(folder)).memory
    assert need is not None
    assert need.kv_tokens is None
    assert need.kv_bytes_per_token == 3 * 2 * 2 * 32 * 2


def test_without_a_command_nothing_is_said_of_what_fits(tmp_path: Path) -> None:
    """How many ranks there will be is not known, and one of them need not hold the model."""
    found = audited({**GLM5, "quantization_config": GLM5_NVFP4}, tmp_path, Launch(), PRO_6000)
    assert ids(found) == set()
    assert found.memory is not None
    assert found.memory.kv_tokens is None


def test_what_is_measured_and_not_computed_has_two_ends(tmp_path: Path) -> None:
    need = audited(QWEN25, tmp_path, sglang(), Host("90", 1, 80 * GIB)).memory
    assert need is not None
    assert need.kv_tokens is not None
    assert need.kv_tokens_between is not None
    low, high = need.kv_tokens_between
    assert 0 < low < need.kv_tokens < high < 1.2 * low
    given = audited(QWEN25, tmp_path, sglang(max_total_tokens="1000"), Host("90", 1, 80 * GIB)).memory
    assert given is not None
    assert given.kv_tokens_between == (1000, 1000)


@pytest.mark.parametrize(("told", "expected"), [("32768", True), ("auto", False), ("-1", False)])
def test_a_context_that_is_made_to_fit_fits(told: str, expected: bool, tmp_path: Path) -> None:
    found = audited(QWEN25, tmp_path, Launch("vllm", "0.32.0", {"max_model_len": told}), Host("75", 1, 6 * GIB))
    assert ("memory-kv-too-small" in ids(found)) is expected


def test_memory_that_is_the_hosts_own_is_less_certain(tmp_path: Path) -> None:
    def width(sm: str) -> float:
        need = audited(QWEN25, tmp_path, sglang(), Host(sm, 1, 80 * GIB)).memory
        assert need is not None
        assert need.kv_tokens_between is not None
        return need.kv_tokens_between[1] / need.kv_tokens_between[0]

    assert width("121") > width("120")


def test_it_is_sure_not_to_fit_only_where_it_fits_at_neither_end(tmp_path: Path) -> None:
    """The weights are 2.9 GiB: with a tenth of so much memory there are 0.3 GiB too few, with some more it may do."""
    for gib, expected in ((29, Severity.ERROR), (32, Severity.WARNING), (60, None)):
        host = Host("90", 1, int(gib * GIB))
        found = audited(QWEN25, tmp_path, sglang(mem_fraction_static="0.1"), host)
        told = [one.severity for one in found.findings if one.id == "memory-does-not-fit"]
        assert told == ([] if expected is None else [expected]), gib


@pytest.mark.parametrize("engine", ["transformers", "tensorrt-llm", "command"])
def test_of_an_engine_whose_way_is_not_known_only_the_weights_are_held_against_the_memory(
    engine: str, tmp_path: Path
) -> None:
    for gib, expected in ((2, {"memory-does-not-fit"}), (80, set())):
        found = audited(QWEN25, tmp_path, Launch(engine, None, {}), Host("90", 1, gib * GIB))
        assert found.memory is not None
        assert found.memory.kv_tokens is None
        assert ids(found, Severity.ERROR) == expected
