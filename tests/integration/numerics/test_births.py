"""Where a bad number is born, and where it only passes by: small models, each with one thing wrong, or nothing."""

from __future__ import annotations

import json
import subprocess
import textwrap
from pathlib import Path

import pytest
from tests.integration.numerics.conftest import Traced, Tracing

from ruleout.model.trace import Phase
from ruleout.numerics.replay import write_replay

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

MODEL = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))

class Model(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.embed = nn.Embedding(32, 8)
        self.layers = nn.ModuleList(blocks or [Block() for _ in range(3)])
        self.head = nn.Linear(8, 32)

    def forward(self, input_ids, **more):
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

def ask(model, times=2, length=6, **more):
    for _ in range(times):
        model(input_ids=torch.arange(length)[None], **more)

def replace(module, forward):
    module.forward = forward.__get__(module)

"""


def births(traced: Traced) -> list[tuple[str, str]]:
    assert traced.status == 0, traced.out
    assert traced.only.errors == ()
    return [(birth.module, birth.non_finite) for birth in traced.only.births]


def operations(traced: Traced) -> list[tuple[str, str]]:
    return [(each.module, each.op) for each in traced.only.operations]


def test_a_healthy_model_is_covered_and_nothing_is_told(tracing: Tracing) -> None:
    traced = tracing.run(MODEL + "ask(Model())")
    assert births(traced) == []
    assert operations(traced) == []
    assert traced.only.weights == ()
    assert traced.only.hooks
    assert traced.only.ended
    assert traced.only.torch
    assert traced.only.coverage.steps == {"prefill": 2}
    assert traced.only.coverage.modules["layers.2.down"] == 2
    assert [(model.root, model.class_, model.modules) for model in traced.only.models] == [("", "Model", 13)]


def test_a_division_between_two_children_belongs_to_the_module_that_calls_them(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        inner = self.up(x)
        return x + self.down(inner / (inner.sum(-1, keepdim=True) * 0))
    replace(model.layers[1], forward)
    ask(model)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert [module for module, _ in births(traced)] == ["layers.1"]
    assert operations(traced) == [("layers.1", "aten.div.Tensor")]
    (operation,) = traced.only.operations
    assert operation.moment.phase is Phase.PREFILL
    assert operation.moment.step == 0
    assert operation.frames[-1].function == "forward"
    assert operation.frames[-1].file.endswith("program.py")
    assert operation.args[0].finite == 1
    assert operation.args[1].finite == 1
    script = write_replay(operation, traced.folder / "replay")
    done = subprocess.run([str(tracing.python), str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "bad numbers again" in done.stdout


def test_a_child_that_only_hands_on_what_it_got_is_not_blamed(tracing: Tracing) -> None:
    program = """
    model = Model()
    model.layers[1].keep = nn.Identity()
    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.keep(x / (x * 0)))))
    replace(model.layers[1], forward)
    ask(model)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert [module for module, _ in births(traced)] == ["layers.1"]
    assert operations(traced) == [("layers.1", "aten.div.Tensor")]


def test_a_module_that_changes_its_input_in_place_is_blamed_itself(tracing: Tracing) -> None:
    program = """
    model = Model()
    def norm(self, x, residual):
        residual.add_(x)
        x.copy_(residual / (residual * 0))
        return x, residual
    def forward(self, x):
        return self.norm(self.up(x)[..., :8].clone(), self.first(x))[0]
    model.layers[1].norm, model.layers[1].first = nn.Identity(), nn.Linear(8, 8)
    replace(model.layers[1].norm, norm)
    replace(model.layers[1], forward)
    ask(model)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert operations(traced) == [("layers.1.norm", "aten.div.Tensor")]


def test_a_weight_that_brought_it_along_is_named_and_no_operation_is(tracing: Tracing) -> None:
    traced = tracing.run(MODEL + "model = Model(); model.layers[2].up.weight[3, 1] = float('nan'); ask(model, 3)")
    (weight,) = traced.only.weights
    assert (weight.module, weight.parameter, weight.stats.first) == ("layers.2.up", "weight", (3, 1))
    assert births(traced) == [("layers.2.up", "nan")]
    assert [each.place for each in traced.only.births[0].parameters] == ["weight"]
    assert operations(traced) == []
    assert traced.only.armed == ()


MEANT = {
    "a mask of minus infinity": "s = s.masked_fill(torch.ones(6, 6).triu(1).bool(), float('-inf')).softmax(-1)",
    "a mask that is added": "s = (s + torch.full((6, 6), torch.finfo(s.dtype).min).triu(1)).softmax(-1)",
    "a mask that overflows": "s = ((s.half() - 6e4) + (torch.ones(6, 6).triu(1) * -6e4).half()).float().softmax(-1)",
    "a NaN that is put right": "s = (s / (s * 0)).nan_to_num(0.0, 0.0, 0.0)",
    "memory that nobody reads": "e = torch.empty(6, 6).fill_(float('nan')); e[:, :3] = 1.0; s = s * e[:, :1]",
    "an infinity that vanishes": "s = 1 / (1 + torch.exp(s.abs() + 1e4))",
}


@pytest.mark.parametrize("line", MEANT.values(), ids=MEANT)
def test_what_is_meant_or_vanishes_is_not_told(tracing: Tracing, line: str) -> None:
    program = f"""
    model = Model()
    def forward(self, x):
        s = x @ x.transpose(-1, -2)
        {line}
        return x + self.down(torch.relu(self.up(s @ x)))
    replace(model.layers[1], forward)
    ask(model, 4)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert births(traced) == []
    assert operations(traced) == []


def test_a_vocabulary_padded_with_minus_infinity_is_meant(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        logits = torch.nn.functional.linear(x, self.weight)
        logits[..., 20:] = float("-inf")
        return logits
    replace(model.head, forward)
    ask(model, 4)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert births(traced) == []
    assert operations(traced) == []


def test_a_row_that_is_masked_fully_is_born_in_the_softmax(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        s = (x @ x.transpose(-1, -2)).masked_fill(torch.ones(6, 6).triu(0).bool(), float("-inf"))
        return x + self.down(torch.relu(self.up(s.softmax(-1) @ x)))
    replace(model.layers[1], forward)
    ask(model)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert births(traced) == [("layers.1", "nan")]
    assert operations(traced) == [("layers.1", "aten._softmax.default")]
    assert "meant" in traced.only.operations[0].how


def test_an_overflow_is_the_birth_and_not_the_division_after_it(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        e = torch.exp(x.half() * 100 + 20)
        return x + (e / e.sum(-1, keepdim=True)).float()
    replace(model.layers[0], forward)
    ask(model)
    """
    assert operations(tracing.run(MODEL + textwrap.dedent(program))) == [("layers.0", "aten.exp.default")]


def test_memory_that_nobody_wrote_is_named_where_it_was_taken(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        buffer = torch.empty_like(x)
        buffer.view(torch.int32)[:, 3:] = 0x7FC00000
        buffer[:, :3] = 0.0
        return x + buffer
    replace(model.layers[1], forward)
    ask(model)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert births(traced) == [("layers.1", "nan")]
    assert operations(traced) == [("layers.1", "aten.empty_like.default")]


def test_only_decode_fails_and_the_step_is_told(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        return x / (x * 0) if x.shape[1] == 1 else x
    replace(model.layers[1], forward)
    class Cache: pass
    for _ in range(2):
        ask(model, 1)
        for _ in range(3):
            ask(model, 1, 1, past_key_values=Cache())
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    (birth,) = traced.only.births
    assert (birth.moment.phase, birth.moment.step, birth.module) == (Phase.DECODE, 1, "layers.1")
    assert operations(traced) == [("layers.1", "aten.div.Tensor")]
    assert traced.only.coverage.steps == {"prefill": 2, "decode": 6}


def test_padding_that_nobody_reads_is_no_birth(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        x = x.clone(); x[0, :2] = float("nan")
        return x
    replace(model.layers[1], forward)
    ask(model, 3, attention_mask=torch.tensor([[0, 0, 1, 1, 1, 1]]))
    """
    assert births(tracing.run(MODEL + textwrap.dedent(program))) == []


def test_slices_of_layers_keep_their_names(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, input_ids):
        x = self.embed(input_ids)
        for layer in self.layers[1:]:
            x = layer(x)
        return self.head(x)
    replace(model, forward)
    ask(model)
    """
    covered = tracing.run(MODEL + textwrap.dedent(program)).only.coverage.modules
    assert {"layers.1", "layers.2.up", "head", ""} <= set(covered)
    assert "layers.0" not in covered


def test_dictionaries_and_dataclasses_are_looked_into(tracing: Tracing) -> None:
    program = """
    from dataclasses import dataclass
    @dataclass
    class Out:
        values: list
        past_key_values: object = None
    class Deep(nn.Module):
        def forward(self, x):
            return Out([{"a": x, "b": (x / (x * 0),)}], torch.empty(3).fill_(float("nan")))
    class Shallow(nn.Module):
        def __init__(self):
            super().__init__(); self.deep = Deep(); self.weight = nn.Parameter(torch.ones(1))
        def forward(self, x):
            return self.deep(x=x).values[0]["b"][0]
    model = Model(Shallow())
    ask(model)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert births(traced)[0][0] == "layers.0.deep"
    assert {each.place for each in traced.only.births[0].inputs} == {"in.x"}


def test_every_operation_is_watched_from_the_start_where_that_is_asked(tracing: Tracing, tmp_path: Path) -> None:
    program = """
    model = Model()
    replace(model.layers[1], lambda self, x: x / (x * 0))
    ask(model, 1)
    """
    traced = tracing.alone(MODEL + textwrap.dedent(program), tmp_path, arm="*")
    assert operations(traced) == [("layers.1", "aten.div.Tensor")]
    assert births(traced)[0][0] == "layers.1"


def test_a_failure_inside_the_model_still_tells_what_was_born_before(tracing: Tracing) -> None:
    program = """
    model = Model()
    def forward(self, x):
        raise ValueError("probability tensor contains nan")
    replace(model.layers[1], lambda self, x: x / (x * 0))
    replace(model.head, forward)
    try:
        ask(model)
    except ValueError as error:
        print(error)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert traced.out == "probability tensor contains nan\n"
    assert births(traced)[0][0] == "layers.1"


def test_records_are_json_that_any_reader_takes(tracing: Tracing) -> None:
    traced = tracing.run(MODEL + "model = Model(); replace(model.layers[1], lambda self, x: x / (x * 0)); ask(model)")
    for line in Path(traced.only.source).read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
