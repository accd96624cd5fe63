"""Rotary positions: what each library makes of them, and what is said of that."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.models import model
from tests.support.random_rope import FAMILIES, config
from tests.support.rope_variants import CHANGES, GLM, changed

from ruleout.audit import ModelFolder, audit
from ruleout.audit.rope.checks import READERS
from ruleout.audit.rope.comparing import compared
from ruleout.audit.rope.fields import fits
from ruleout.audit.rope.meaning import meant
from ruleout.audit.rope.rotation import Head, rotation
from ruleout.model.audit import Audit, Launch, RopeOutcome, Severity

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 128,
    "num_attention_heads": 4,
    "head_dim": 32,
    "num_hidden_layers": 2,
    "vocab_size": 512,
    "max_position_embeddings": 4096,
}


def audited(tmp_path: Path, config: dict[str, Any], launch: Launch | None = None) -> Audit:
    return audit(ModelFolder(model(tmp_path / "m", config)), launch)


def outcomes(found: Audit) -> dict[str, str]:
    return {name: reading.outcome.value for name, reading in found.rope.items()}


def test_the_default_frequencies_are_powers_of_theta() -> None:
    found = rotation("default", {"rope_theta": 10000.0}, Head(8, 8, 4096), np.float64)
    assert found.frequencies.tolist() == pytest.approx([1.0, 0.1, 0.01, 0.001])


def test_yarn_leaves_what_turns_often_and_stretches_what_turns_seldom() -> None:
    given = {"rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 1024}
    plain = rotation("default", given, Head(64, 64, 4096)).frequencies
    found = rotation("yarn", given, Head(64, 64, 4096))
    assert found.frequencies[0] == pytest.approx(plain[0])
    assert found.frequencies[-1] == pytest.approx(plain[-1] / 4)
    assert found.scaling == pytest.approx(0.1 * math.log(4) + 1)


def test_a_version_5_configuration_loses_its_theta_under_version_4(tmp_path: Path) -> None:
    found = audited(tmp_path, {**LLAMA, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}})
    assert outcomes(found)["transformers-4.57"] == RopeOutcome.DIFFERENT
    assert outcomes(found)["transformers-5.24"] == RopeOutcome.SAME
    errors = found.rope["transformers-4.57"].angle_error
    assert errors["1k"] < errors["8k"] < errors["128k"]
    assert errors["8k"] == pytest.approx(8 * errors["1k"], rel=1e-3)


def test_a_version_4_configuration_is_read_alike_by_all(tmp_path: Path) -> None:
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling["original_max_position_embeddings"] = 1024
    found = audited(tmp_path, {**LLAMA, "rope_theta": 500000.0, "rope_scaling": scaling})
    assert set(outcomes(found).values()) == {"same"}


def test_the_theta_that_a_scaling_beside_the_parameters_takes_away_is_told(tmp_path: Path) -> None:
    found = audited(tmp_path, changed(CHANGES["both: rope_parameters + rope_scaling yarn f4"]))
    finding = next(f for f in found.findings if f.id == "rope-theta-reset")
    assert finding.severity is Severity.ERROR
    assert "1000000" in finding.what
    assert finding.where == "config.json: rope_scaling"
    assert outcomes(found)["vllm"] == "different"


def test_sglang_does_not_read_the_attention_factor_of_yarn(tmp_path: Path) -> None:
    given = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 1024}
    found = audited(tmp_path, {**LLAMA, "rope_parameters": {**given, "attention_factor": 1.0}})
    assert outcomes(found) == {
        "transformers-4.57": "different",
        "transformers-5.2": "same",
        "transformers-5.24": "same",
        "vllm": "same",
        "sglang": "different",
    }
    assert found.rope["sglang"].attention_scaling == pytest.approx(1.1386, rel=1e-4)


def test_vllm_turns_a_part_of_a_head_where_transformers_turns_all_of_it(tmp_path: Path) -> None:
    given = {"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5}
    found = audited(tmp_path, {**LLAMA, "rope_parameters": given})
    assert (outcomes(found)["vllm"], outcomes(found)["transformers-5.24"]) == ("different", "same")
    assert found.rope["vllm"].frequencies == 8


def test_an_integer_for_a_linear_factor_ends_both_engines(tmp_path: Path) -> None:
    for factor, outcome in ((4, "fails"), (4.0, "same")):
        given = {"rope_type": "linear", "rope_theta": 1e6, "factor": factor}
        found = audited(tmp_path, {**LLAMA, "rope_parameters": given})
        assert outcomes(found)["vllm"] == outcomes(found)["sglang"] == outcome
        assert outcomes(found)["transformers-5.24"] == "same"


GEMMA = {
    "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "head_dim": 32, "vocab_size": 512,
    "hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 6, "max_position_embeddings": 4096,
}  # fmt: skip


def test_parameters_by_the_kind_of_layer_are_read_by_kind(tmp_path: Path) -> None:
    kinds = ["sliding_attention"] * 5 + ["full_attention"]
    parameters = {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    }
    found = audited(tmp_path, {**GEMMA, "layer_types": kinds, "rope_parameters": parameters})
    assert outcomes(found)["transformers-5.24"] == outcomes(found)["transformers-5.2"] == "same"
    assert outcomes(found)["transformers-4.57"] == "different"
    assert found.rope["transformers-4.57"].layer_type == "full_attention"


@pytest.mark.parametrize(("key", "old"), [("rope_type", "same"), ("type", "fails")])
def test_5_2_does_not_look_into_the_parameters_of_a_kind_where_all_layers_are_of_one(
    tmp_path: Path, key: str, old: str
) -> None:
    given = {kind: {key: "default", "rope_theta": 1e6} for kind in ("full_attention", "sliding_attention")}
    found = audited(tmp_path, {**GEMMA, "layer_types": ["sliding_attention"] * 6, "rope_parameters": given})
    assert (outcomes(found)["transformers-5.2"], outcomes(found)["transformers-5.24"]) == (old, "same")


def test_parameters_by_the_kind_of_layer_are_lost_on_a_model_with_one_kind(tmp_path: Path) -> None:
    given = {kind: {"rope_type": "default", "rope_theta": 500000.0} for kind in ("full_attention", "sliding_attention")}
    found = audited(tmp_path, {**LLAMA, "rope_parameters": given})
    assert {name: told for name, told in outcomes(found).items() if name.startswith("t")} == dict.fromkeys(
        ("transformers-4.57", "transformers-5.2", "transformers-5.24"), "different"
    )
    assert outcomes(found)["vllm"] == outcomes(found)["sglang"] == "fails"
    assert found.rope["transformers-5.24"].parameters["rope_theta"] == 10000.0
    assert found.rope["transformers-5.24"].angle_error["1k"] > 10
    assert any(finding.id == "rope-different" and finding.severity is Severity.ERROR for finding in found.findings)


def test_what_matters_depends_on_what_the_command_starts(tmp_path: Path) -> None:
    config = changed(CHANGES["head_dim=64 (qk_rope_head_dim=32)"])
    for launch, severity in (
        (Launch("transformers", "5.2.0"), Severity.ERROR),
        (Launch("transformers", "5.24.0"), Severity.NOTE),
        (Launch("transformers", "5.3.0"), Severity.WARNING),
        (Launch("transformers", "4.56.0"), Severity.NOTE),
        (Launch("transformers"), Severity.WARNING),
        (Launch("sglang", "0.5.23"), Severity.NOTE),
        (None, Severity.WARNING),
    ):
        found = audited(tmp_path, config, launch)
        assert [f.severity for f in found.findings if f.id == "rope-fails"] == [severity], launch


def test_the_warning_at_the_start_says_nothing_about_a_model_that_is_read_right(tmp_path: Path) -> None:
    found = audited(tmp_path, GLM, Launch("sglang", "0.5.23"))
    told = next(f for f in found.findings if f.id == "rope-start-warning")
    assert told.severity is Severity.NOTE
    assert "says nothing" in told.what


@pytest.mark.parametrize("reader", READERS)
def test_no_value_of_a_configuration_is_a_crash(reader: str) -> None:
    odd: list[Any] = [None, True, 0, -1, 1.5, "x", "", [], [1, "a"], {}, {"a": {}}, math.nan, math.inf, 10**400, [[]]]
    chance = random.Random(7)
    keys = ["rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "head_dim", "hidden_size"]
    keys += ["num_attention_heads", "max_position_embeddings", "qk_rope_head_dim", "layer_types", "rope_interleave"]
    keys += ["original_max_position_embeddings", "num_hidden_layers", "model_type", "sliding_window_pattern"]
    inner = ["rope_type", "type", "rope_theta", "factor", "beta_fast", "attention_factor", "short_factor", "mscale"]
    inner += ["long_factor", "truncate", "low_freq_factor", "original_max_position_embeddings", "mscale_all_dim"]
    for seed in range(1500):
        found = config(seed)
        for _ in range(chance.randrange(1, 4)):
            found[chance.choice(keys)] = chance.choice(odd)
        for place in (found.get("rope_parameters"), found.get("rope_scaling")):
            if isinstance(place, dict) and place:
                place[chance.choice(inner)] = chance.choice(odd)
        told = compared(READERS[reader](found), meant(found))
        assert isinstance(told.outcome, RopeOutcome)


def test_what_only_a_long_text_ends_in_is_no_crash() -> None:
    given = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": -2.0}
    found = rotation("dynamic", given, Head(32, 32, 512))
    assert np.isfinite(found.at(512)).all()
    assert np.isnan(found.at(128_000)).all()


def test_every_family_of_the_experiments_is_known_to_the_newest_release() -> None:
    for kind, own in FAMILIES.items():
        healthy = {**LLAMA, "head_dim": ..., **own, "model_type": kind, "rope_theta": 10000.0}
        told = READERS["transformers-5.24"]({k: v for k, v in healthy.items() if v is not ...})
        assert not told.untold, kind


@pytest.mark.parametrize("model_type", ["qwen2_vl", "qwen2_5_vl"])
def test_positions_of_several_axes_are_read_as_the_default_ones(tmp_path: Path, model_type: str) -> None:
    scaling = {"type": "mrope", "mrope_section": [4, 6, 6]}
    found = audited(tmp_path, {**LLAMA, "model_type": model_type, "rope_theta": 1e6, "rope_scaling": scaling})
    assert outcomes(found).pop("transformers-4.57") == "unknown"
    assert {told for name, told in outcomes(found).items() if name != "transformers-4.57"} == {"same"}
    assert not [finding for finding in found.findings if finding.id == "rope-fails"]


def test_a_rope_type_that_some_code_of_its_own_knows_is_no_error(tmp_path: Path) -> None:
    for kind in ("mrope", "ntk", "deepseek_yarn", "bailing_mrope"):
        found = audited(tmp_path / kind, {**LLAMA, "rope_theta": 1e6, "rope_scaling": {"type": kind, "factor": 2.0}})
        assert not [finding for finding in found.findings if finding.id.startswith("rope-fails")], kind
        assert outcomes(found)["transformers-5.24"] == "unknown"
    found = audited(tmp_path / "none", {**LLAMA, "rope_theta": 1e6, "rope_scaling": {"type": "nonsense"}})
    assert outcomes(found)["transformers-5.24"] == "fails"


@pytest.mark.parametrize("model_type", ["phi", "persimmon", "stablelm", "nemotron", "glm", "glm4", "gpt_neox"])
def test_a_part_of_a_head_is_turned_where_attention_takes_a_part(tmp_path: Path, model_type: str) -> None:
    sizes = {key: LLAMA[key] for key in LLAMA if key != "head_dim"} | {"hidden_size": 2560, "num_attention_heads": 32}
    head = {"head_dim": 80} if model_type.startswith("glm") else {}
    found = audited(
        tmp_path, {**sizes, **head, "model_type": model_type, "partial_rotary_factor": 0.4, "rope_theta": 10000.0}
    )
    assert not set(outcomes(found).values()) & {"fails", "different"}


def test_a_part_of_a_head_that_attention_may_not_know_is_not_called_an_error(tmp_path: Path) -> None:
    found = audited(
        tmp_path, {**LLAMA, "model_type": "solar_open", "partial_rotary_factor": 0.5, "rope_theta": 10000.0}
    )
    assert outcomes(found)["transformers-5.24"] == "unknown"


def test_sizes_by_other_names_are_not_called_missing(tmp_path: Path) -> None:
    names = {"model_type": "gptj", "architectures": ["GPTJForCausalLM"], "n_embd": 4096, "n_head": 16, "rotary_dim": 64}
    assert not set(outcomes(audited(tmp_path, names)).values()) & {"fails", "different", "nan"}


def test_a_theta_that_is_left_to_the_default_matters_only_where_that_is_implausible(tmp_path: Path) -> None:
    def missing(model_type: str) -> list[Severity]:
        found = audited(tmp_path / model_type, {**LLAMA, "model_type": model_type})
        return [finding.severity for finding in found.findings if finding.id == "rope-theta-missing"]

    assert missing("llama") == missing("falcon") == missing("gemma3_text") == [Severity.NOTE]
    assert missing("qwen3") == [Severity.ERROR]


def test_two_shares_that_differ_leave_open_what_attention_goes_by(tmp_path: Path) -> None:
    scaling = {"type": "dynamic", "rope_theta": 1e6, "factor": 2.0, "partial_rotary_factor": 1.0}
    told = {**LLAMA, "model_type": "phi", "partial_rotary_factor": 0.5, "rope_parameters": scaling}
    assert outcomes(audited(tmp_path, told))["transformers-5.2"] == "unknown"


LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "absurd"),
    [
        ({}, False),
        ({"factor": 2048.0}, False),
        ({"factor": 0.5}, True),
        ({"factor": -8.0}, True),
        ({"factor": 1e6}, True),
        ({"low_freq_factor": 8.0}, True),
        ({"original_max_position_embeddings": -1}, True),
        ({"rope_type": "linear", "factor": 0.25}, True),
        ({"rope_type": "default", "factor": 0.25}, False),
    ],
)
def test_a_scaling_that_no_model_was_trained_with_is_told(
    tmp_path: Path, changes: dict[str, Any], absurd: bool
) -> None:
    found = audited(tmp_path, {**LLAMA, "rope_parameters": {**LLAMA3, **changes}})
    told = [one.severity for one in found.findings if one.id == "rope-scaling-absurd"]
    assert told == [Severity.WARNING] * absurd


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "blt"},
        {"model_type": "moonshine", "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.9}},
        {"model_type": "mistral4", "head_dim": 128, "qk_rope_head_dim": 64, "hidden_size": 4096,
         "num_attention_heads": 32, "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
        {"model_type": "deepseek_v4", "head_dim": 512, "hidden_size": 4096, "num_attention_heads": 64,
         "rope_parameters": {kind: {"rope_type": "default", "rope_theta": 1e4} for kind in ("main", "compress")}},
    ],
    ids=lambda config: str(config["model_type"]),
)  # fmt: skip
def test_what_a_model_does_in_a_way_of_its_own_is_not_known_and_no_error(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    found = audited(tmp_path, {"architectures": ["SomeForCausalLM"], **config})
    assert set(outcomes(found).values()) <= {"unknown", "fails"}
    assert not any(one.why.startswith(("KeyError", "RuntimeError")) for one in found.rope.values())


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ("per_loop", "Literal['per_loop','last_loop']", True),
        ([0.0, {"__float__": "Infinity"}], "list[float]", True),
        ([0.0, {"value": 1}], "list[float]", False),
        (3.0, "int", False),
    ],
)
def test_a_type_is_held_against_what_transformers_itself_writes(value: Any, annotation: str, expected: bool) -> None:
    assert fits(value, annotation) is expected
