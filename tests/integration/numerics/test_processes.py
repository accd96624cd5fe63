"""The tracer in every process that an engine starts, however it does, and out of the way where it has no business."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

import pytest
from tests.integration.numerics.conftest import Tracing
from tests.integration.numerics.test_births import MODEL, births, operations

from ruleout.numerics import records
from ruleout.numerics.starting import TraceMode, records_folder

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

BAD = "model = Model(); replace(model.layers[1], lambda self, x: x / (x * 0)); ask(model)\n"


@pytest.mark.parametrize("start", ["spawn", "fork", "forkserver"])
def test_processes_that_a_process_starts_are_traced_too(tracing: Tracing, tmp_path: Path, start: str) -> None:
    work = tmp_path / "work.py"
    work.write_text(
        "import torch\nfrom torch import nn\ntorch.set_grad_enabled(False)\ntorch.set_num_threads(1)\n"
        + MODEL
        + "def work():\n    "
        + BAD
    )
    program = f"""
    import sys; sys.path.insert(0, {str(tmp_path)!r})
    import multiprocessing, work
    if __name__ == "__main__":
        child = multiprocessing.get_context({start!r}).Process(target=work.work)
        child.start(); child.join()
    """
    traced = tracing.alone(program, tmp_path)
    assert traced.status == 0, traced.out
    found = [process for process in traced.processes if process.births]
    assert len(found) == 1
    assert found[0].pid != traced.processes[0].pid
    assert found[0].hooks
    assert [(each.module, each.op) for each in found[0].operations] == [("layers.1", "aten.div.Tensor")]
    assert found[0].coverage.modules["layers.2.down"] == 2


def test_a_rank_that_only_received_says_that_it_came_from_another(tracing: Tracing, tmp_path: Path) -> None:
    program = f"""
    import sys; sys.path.insert(0, {str(tmp_path)!r})
    import multiprocessing, ranks
    if __name__ == "__main__":
        started = [multiprocessing.get_context("spawn").Process(target=ranks.work, args=(rank,)) for rank in (0, 1)]
        [each.start() for each in started]; [each.join() for each in started]
    """
    (tmp_path / "ranks.py").write_text(
        "import torch\nfrom torch import nn\nimport torch.distributed as dist\ntorch.set_grad_enabled(False)\n"
        + "torch.set_num_threads(1)\n"
        + MODEL
        + textwrap.dedent(f"""
        def work(rank):
            dist.init_process_group("gloo", init_method="file://{tmp_path}/meeting", rank=rank, world_size=2)
            torch.manual_seed(0)
            model = Model()
            def added(self, x):
                part = torch.nn.functional.linear(x, self.weight)
                dist.all_reduce(part)
                return part
            replace(model.layers[1].down, added)
            if rank == 1:
                replace(model.layers[1].up, lambda self, x: torch.cat([x, x], -1) / (x.sum() * 0))
            ask(model)
            dist.barrier()
        """)
    )
    traced = tracing.alone(program, tmp_path)
    assert traced.status == 0, traced.out
    ranks = {process.rank: process for process in traced.processes if process.rank is not None}
    assert {rank: (told.world, told.backend) for rank, told in ranks.items()} == {0: (2, "gloo"), 1: (2, "gloo")}
    assert [(each.module, each.collective) for each in ranks[1].operations] == [("layers.1.up", False)]
    assert [(each.module, each.collective) for each in ranks[0].operations] == [("layers.1.down", True)]
    assert ranks[1].births[0].moment.t < ranks[0].births[0].moment.t
    assert ranks[0].births[0].moment.rank == 0


def test_another_sitecustomize_still_runs(tracing: Tracing, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import builtins\nbuiltins.other_was_here = True\n")
    traced = tracing.alone("print(other_was_here)", tmp_path, path=str(other))
    assert traced.out == "True\n"
    assert traced.only.hooks


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_an_interpreter_that_looks_at_no_variables_says_nothing(tracing: Tracing, tmp_path: Path, option: str) -> None:
    env = tracing.environment(tmp_path)
    done = subprocess.run([str(tracing.python), option, "-c", "print(1)"], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert records.processes(records_folder(tmp_path)) == ()


def test_a_process_without_torch_says_hello_and_no_more(tracing: Tracing, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(tracing.python), "-c", "print(1)"], env=tracing.environment(tmp_path), capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    (told,) = records.processes(records_folder(tmp_path))
    assert not told.hooks
    assert told.argv[1:] == ("-c", "print(1)")


def test_a_folder_that_is_gone_or_full_harms_nobody(tracing: Tracing, tmp_path: Path) -> None:
    env = {**tracing.environment(tmp_path), "RULEOUT_TRACE_DIR": str(tmp_path / "gone")}
    done = subprocess.run([str(tracing.python), "-c", "print(1)"], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
    records_folder(tmp_path).chmod(0o500)
    traced = tracing.run(
        MODEL + "import os; _r = __import__('_ruleout_tracer').TRACER.records\n_r.folder = '/proc/no'\n" + BAD
    )
    assert traced.status == 0, traced.out


def test_a_model_is_compiled_as_if_nobody_watched(tracing: Tracing, tmp_path: Path) -> None:
    program = """
    import torch._dynamo.testing
    counted = torch._dynamo.testing.CompileCounter()
    model = torch.compile(Model(), fullgraph=True, backend=counted)
    ask(model, 3)
    print(counted.frame_count, counted.op_count)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert traced.status == 0, traced.out
    assert traced.only.errors == ()
    untraced = tmp_path / "plain.py"
    untraced.write_text((traced.folder / "program.py").read_text())
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([str(tracing.python), str(untraced)], env=env, capture_output=True, text=True)
    assert traced.out == done.stdout, done.stderr
    assert traced.out.startswith("1 ")
    assert births(traced) == []


def test_a_bad_number_in_a_compiled_model_is_seen_from_outside_and_operations_are_left_alone(tracing: Tracing) -> None:
    program = """
    model = Model(); replace(model.layers[1], lambda self, x: x / (x * 0))
    ask(torch.compile(model, backend="eager"), 3)
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert len(births(traced)) == 1
    assert operations(traced) == []
    assert traced.only.coverage.compiled
    assert traced.only.coverage.skipped["operations of a compiled model"] >= 1


def test_record_mode_tells_every_call(tracing: Tracing, tmp_path: Path) -> None:
    traced = tracing.alone(MODEL + "ask(Model(), 2)", tmp_path, TraceMode.RECORD)
    assert traced.status == 0, traced.out
    calls = list(records.calls(Path(traced.only.source)))
    assert len(calls) == traced.only.calls == sum(traced.only.coverage.modules.values())
    once = [call for call in calls if call.module == "layers.0.up"]
    assert [tensor.place for tensor in once[0].tensors] == ["in0", "out0"]
    assert once[0].tensors[1].shape == (1, 6, 16)
    assert all(tensor.hash and tensor.finite == 1 for tensor in once[0].tensors)
    assert once[0].tensors == once[1].tensors
    assert len({call.tensors[-1].hash for call in calls if call.module.startswith("layers.0")}) == 3


def test_threads_each_have_a_call_of_their_own(tracing: Tracing) -> None:
    program = """
    import threading
    model = Model(); replace(model.layers[1], lambda self, x: x / (x * 0))
    good = Model()
    threads = [threading.Thread(target=ask, args=(each, 20)) for each in (good, model, good)]
    [each.start() for each in threads]; [each.join() for each in threads]
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert [module for module, _ in births(traced)] == ["layers.1"]
    assert operations(traced) == [("layers.1", "aten.div.Tensor")]


def test_fake_and_meta_tensors_are_passed_over(tracing: Tracing) -> None:
    program = """
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        ask(Model())
    with torch.device("meta"):
        meta = Model()
    meta(input_ids=torch.arange(6, device="meta")[None])
    torch.fx.symbolic_trace(Model())
    """
    traced = tracing.run(MODEL + textwrap.dedent(program))
    assert births(traced) == []
