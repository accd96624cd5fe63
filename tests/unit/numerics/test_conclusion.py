"""What the records of several processes come to: one birth, what explains it, and what was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.traced import (
    DOWN,
    HELLO,
    HOOKS,
    born,
    checkpoint,
    coverage,
    model_process,
    operation,
    weight,
    write,
)

from ruleout.model.trace import BadWeight, Phase, TensorStats
from ruleout.model.traced import Found
from ruleout.numerics.conclusion import Concluded, concluded
from ruleout.numerics.weights import explains

STATS = TensorStats("weight", (2, 4), "float32", nan=1)


def of(folder: Path, *records: dict[str, Any]) -> Concluded:
    return concluded(model_process(folder, *records))


def test_nothing_bad_is_nothing_found_and_says_what_was_seen(tmp_path: Path) -> None:
    found = of(tmp_path)
    assert (found.born, found.weights, found.brought, found.called) == (None, (), False, True)
    assert (found.coverage.modules, found.coverage.calls, found.coverage.processes) == (2, 6, 1)
    assert (found.coverage.prefill, found.coverage.decode) == (1, 2)
    assert [shake.torch for shake in found.handshakes] == ["2.13.0"]


def test_a_module_and_the_operation_in_it_are_one_birth(tmp_path: Path) -> None:
    found = of(tmp_path, born(), operation())
    assert found.born is not None
    assert (found.born.module, found.born.operation) == (DOWN, "aten.mm.default")
    assert found.born.frames[-1].line == 90
    assert found.operation is not None
    assert (found.born.phase, found.born.step) == (Phase.PREFILL, 0), "when it was first seen, not when it was watched"


def test_without_an_operation_the_module_is_all_that_is_known(tmp_path: Path) -> None:
    found = of(tmp_path, born())
    assert found.born is not None
    assert (found.born.module, found.born.operation) == (DOWN, "")
    assert found.born.inputs[0].place == "in0"


def test_an_operation_elsewhere_is_not_the_one_of_this_birth(tmp_path: Path) -> None:
    found = of(tmp_path, born(), operation("model.layers.2.self_attn"))
    assert found.born is not None
    assert found.born.operation == ""


def test_an_operation_of_the_parent_counts_only_where_inputs_were_not_looked_at(tmp_path: Path) -> None:
    parents = operation("model.layers.2.mlp", "aten.div.Tensor")
    unsure = of(tmp_path / "a", born(exact=False), parents).born
    assert unsure is not None
    assert (unsure.module, unsure.operation) == ("model.layers.2.mlp", "aten.div.Tensor")
    sure = of(tmp_path / "b", born(), parents).born
    assert sure is not None
    assert (sure.module, sure.operation) == (DOWN, "")


def test_the_first_birth_of_all_processes_is_the_one(tmp_path: Path) -> None:
    model_process(tmp_path, born("model.layers.1.mlp", t=8.0), pid=41)
    model_process(tmp_path, born("model.layers.2.mlp", t=7.0, rank=1), pid=42)
    found = concluded(tmp_path)
    assert found.born is not None
    assert (found.born.module, found.born.rank, found.born.pid) == ("model.layers.2.mlp", 1, 42)


def test_what_came_from_another_rank_is_later_than_its_origin(tmp_path: Path) -> None:
    model_process(tmp_path, born("model.layers.1.mlp", t=6.0, rank=0, collective="c10d.allreduce_.default"), pid=41)
    model_process(tmp_path, born("model.layers.1.mlp.experts", t=7.0, rank=1), pid=42)
    found = concluded(tmp_path)
    assert found.born is not None
    assert (found.born.rank, found.born.collective) == (1, "")


def test_what_a_collective_operation_brought_is_later_than_its_origin_too(tmp_path: Path) -> None:
    theirs = "model.layers.1.mlp"
    model_process(
        tmp_path,
        born(theirs, t=6.0, rank=0),
        operation(theirs, "c10d.allreduce_.default", t=9.0, rank=0, collective=True),
        pid=41,
    )
    model_process(tmp_path, born("model.layers.1.mlp.act_fn", t=7.0, rank=1), pid=42)
    found = concluded(tmp_path)
    assert found.born is not None
    assert (found.born.module, found.born.rank) == ("model.layers.1.mlp.act_fn", 1)


def test_what_came_with_the_inputs_of_a_stage_is_later_too(tmp_path: Path) -> None:
    model_process(tmp_path, born("model.layers.9", t=6.0, rank=1, outside=True), pid=41)
    model_process(tmp_path, born("model.layers.1.mlp", t=7.0, rank=0), pid=42)
    found = concluded(tmp_path)
    assert found.born is not None
    assert (found.born.rank, found.born.outside) == (0, False)


def test_a_buffer_of_the_checkpoint_is_a_weight(tmp_path: Path) -> None:
    gate = "model.layers.1.mlp.gate"
    assert of(tmp_path, weight(gate, "e_score_correction_bias", buffer=True), born(gate)).brought


def test_a_weight_that_was_bad_in_its_file_brought_it_along(tmp_path: Path) -> None:
    found = of(tmp_path, checkpoint(), weight(), born(), operation())
    assert found.brought
    (one,) = found.weights
    assert (one.tensor, one.file) == (f"{DOWN}.weight", "model-00003-of-00003.safetensors")
    assert (one.module, one.parameter) == (DOWN, "weight")
    assert found.born is not None
    assert found.born.parameter == "weight"


def test_a_weight_elsewhere_does_not_explain_a_birth_and_is_told_all_the_same(tmp_path: Path) -> None:
    found = of(tmp_path, checkpoint("model.layers.5.mlp.down_proj.weight"), born())
    assert not found.brought
    assert len(found.weights) == 1


def test_a_bad_weight_that_came_out_nowhere_explains_a_failure_of_numbers_and_nothing_else(tmp_path: Path) -> None:
    found = of(tmp_path, checkpoint("model.layers.2.mlp.experts.7.down_proj.weight"))
    assert (found.brought, found.born) == (False, None)
    assert found.found(failed=True, of_numbers=True) is Found.WEIGHTS
    assert found.found(failed=True, of_numbers=False) is Found.FAILURE
    assert found.found(failed=False, of_numbers=False) is Found.NOTHING, "there are weights that nobody reads"
    infinite = of(tmp_path / "inf", checkpoint(nan=0, inf=3))
    assert infinite.found(failed=True, of_numbers=True) is Found.FAILURE


def test_what_was_found_goes_by_the_birth(tmp_path: Path) -> None:
    assert of(tmp_path / "a", born()).found(True, True) is Found.MODULE
    assert of(tmp_path / "b", born(), operation()).found(False, False) is Found.OPERATION
    assert of(tmp_path / "c", checkpoint(), born()).found(True, True) is Found.WEIGHTS


def test_a_buffer_that_is_computed_is_no_weight_that_brought_it_along(tmp_path: Path) -> None:
    rotary = "model.rotary_emb"
    buffer = weight(rotary, "inv_freq", buffer=True, computed=True, nan=0, inf=15)
    found = of(tmp_path / "a", buffer, born(rotary), operation(rotary, "aten.bmm.default"))
    assert not found.brought
    assert found.born is not None
    assert (found.born.operation, found.born.parameter) == ("aten.bmm.default", "inv_freq")
    assert not of(tmp_path / "b", buffer).brought, "infinities that reach nothing may be meant"


@pytest.mark.parametrize(
    ("tensor", "module", "holds"),
    [
        ("model.layers.2.mlp.down_proj.weight", "model.layers.2.mlp.down_proj", True),
        ("model.layers.2.mlp.down_proj.weight", "layers.2.mlp.down_proj", True),
        ("model.layers.2.self_attn.q_proj.weight", "model.layers.2.self_attn.qkv_proj", True),
        ("model.layers.2.mlp.up_proj.weight", "model.layers.2.mlp.gate_up_proj", True),
        ("model.layers.2.mlp.experts.3.down_proj.weight", "model.layers.2.mlp.experts", True),
        ("model.layers.2.mlp.experts.3.down_proj.weight", "model.layers.2.mlp", True),
        ("model.embed_tokens.weight", "embed_tokens", True),
        ("model.layers.2.self_attn.o_proj.weight", "model.layers.2.self_attn.qkv_proj", False),
        ("model.layers.2.mlp.down_proj.weight", "model.layers.2.mlp.gate_up_proj", False),
        ("model.layers.1.mlp.down_proj.weight", "model.layers.2.mlp.down_proj", False),
        ("model.layers.2.mlp.down_proj.weight", "model.layers.2.self_attn.attn", False),
        ("model.norm.weight", "lm_head", False),
    ],
)
def test_names_of_a_checkpoint_and_of_an_engine(tensor: str, module: str, holds: bool) -> None:
    assert explains(BadWeight(STATS, "m.safetensors", tensor), module) is holds


def test_what_graphs_and_compiled_code_hide_is_told(tmp_path: Path) -> None:
    write(tmp_path, HELLO, HOOKS, coverage(compiled=["model"], graphs=12, skipped={"compiling": 4}))
    found = concluded(tmp_path).coverage
    assert found.hidden == (
        "compiled code hides what is inside of model",
        "12 calls only captured or replayed a graph",
    )
    assert found.skipped == {"compiling": 4}


def test_of_compiled_code_any_bad_weight_inside_explains_what_comes_out(tmp_path: Path) -> None:
    outermost = born("", **{"class": "LlamaForCausalLM"})
    found = concluded(write(tmp_path / "a", HELLO, HOOKS, checkpoint(), outermost, coverage(compiled=["model"])))
    assert found.brought
    assert found.born is not None
    assert (found.born.hidden, found.born.explained) == (True, True)
    without = concluded(write(tmp_path / "b", HELLO, HOOKS, outermost, coverage(compiled=["model"])))
    assert without.born is not None
    assert (without.brought, without.born.hidden, without.born.explained) == (False, True, True)
    seen = concluded(write(tmp_path / "c", HELLO, HOOKS, checkpoint(), outermost, coverage()))
    assert not seen.brought, "its modules were seen, and none of them gave a bad number"


def test_processes_without_torch_are_counted_and_shake_no_hands(tmp_path: Path) -> None:
    found = concluded(write(tmp_path, HELLO))
    assert (found.handshakes, found.pythons, found.called) == ((), 1, False)
    nobody = concluded(tmp_path / "empty")
    assert (nobody.handshakes, nobody.pythons) == ((), 0)
