"""Suspects from facts: they add up, stand on lines, and follow what the log says rather than what it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.diagnosis.clues import CLUES
from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.rates import rates
from ruleout.model import Component, Diagnosis, FailureClass
from ruleout.reading.diagnose import read_run

FIXTURES = Path(__file__).parents[1] / "reading" / "fixtures"

EXCERPTS = {
    "attention": ("AssertionError: head_dim 80 is not supported by the attention backend", "attention_backend"),
    "abi": ("ImportError: /opt/x/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEab", "install/abi"),
    "transformers": ("AttributeError: 'FooConfig' object has no attribute 'rope_theta'", "transformers_version"),
    "type": (
        "ValueError: The checkpoint you are trying to load has model type `foo_moe` but Transformers does not "
        "recognize this architecture.",
        "transformers_version",
    ),
    "memory": ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "memory"),
    "arch": ("RuntimeError: Assertion error (foo.hpp:12): Unsupported architecture", "kernel_arch_support"),
    "flag": ("vllm serve: error: unrecognized arguments: --fast", "user_config"),
    "kv": ("ValueError: this kernel expected KV dtype bfloat16, but got float8_e4m3fn", "kv_cache_dtype"),
    "nccl": (
        "[rank1]:[E1129 16:50:37.12 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.",
        "nccl",
    ),
}


def told(text: str, folder: Path) -> Diagnosis:
    path = folder / "server.log"
    path.write_text(text + "\n")
    run = read_run([path])
    return diagnosed(run.diagnosis, run.near, run.lines)


@pytest.mark.parametrize("name", EXCERPTS)
def test_a_plain_excerpt_has_its_component_first(name: str, tmp_path: Path) -> None:
    text, component = EXCERPTS[name]
    found = told(text, tmp_path)
    assert found.suspects[0].component.value == component
    assert found.suspects[0].evidence[0].line == 1


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.log")), ids=lambda path: str(path.stem))
def test_probabilities_add_up_and_every_suspect_has_a_line_and_a_test(path: Path) -> None:
    run = read_run([path])
    found = diagnosed(run.diagnosis, run.near, run.lines)
    if found.failure is None:
        assert (found.suspects, found.unexplained, found.next) == ((), 0.0, ())
        return
    assert sum(s.probability for s in found.suspects) + found.unexplained == pytest.approx(1)
    assert found.unexplained > 0
    assert [s.probability for s in found.suspects] == sorted((s.probability for s in found.suspects), reverse=True)
    for suspect in found.suspects:
        assert suspect.claim
        assert suspect.test
        assert suspect.evidence
    text = path.read_bytes().decode("utf-8", "replace").split("\n")
    assert all(0 < e.line <= len(text) for s in found.suspects for e in s.evidence if not found.failure.inferred)


def test_the_name_of_a_model_is_no_clue(tmp_path: Path) -> None:
    frames = '  File "/x/transformers/models/{0}/modeling_{0}.py", line 7, in forward\n    y = a + b\n'
    message = "RuntimeError: The size of tensor a (3) must match the size of tensor b (5) at non-singleton dimension 1"
    shares = []
    for name in ("acme", "acme_moe"):
        found = told(f"Traceback (most recent call last):\n{frames.format(name)}{message}", tmp_path)
        shares.append({s.component: s.probability for s in found.suspects})
    assert shares[0] == shares[1]


def test_attention_is_not_suspected_where_nothing_speaks_of_it(tmp_path: Path) -> None:
    def attention(text: str) -> float:
        found = told(text, tmp_path).suspects
        return next((s.probability for s in found if s.component is Component.ATTENTION_BACKEND), 0.0)

    silent = attention("NotImplementedError: this is not supported by acme")
    assert silent < 0.1
    assert silent < attention("NotImplementedError: this is not supported by acme\nINFO acme: its backend is x") / 2


def test_a_command_alone_is_no_failure(tmp_path: Path) -> None:
    assert told("$ vllm serve --kv-cache-dtype fp8 --enforce-eager\nINFO: Application startup complete.", tmp_path)


@pytest.mark.parametrize("class_", list(FailureClass))
def test_base_rates_add_up_and_exclude_nothing(class_: FailureClass) -> None:
    found = rates(class_)
    assert sum(found.values()) == pytest.approx(1)
    assert min(found.values()) > 0


def test_every_component_has_its_words_and_every_clue_moves_one() -> None:
    assert set(COMPONENTS) == set(Component)
    for clue in CLUES:
        assert clue.says
        assert any(clue.weights.values())  # up, or down
        assert not clue.absent or all(weight < 0 for weight in clue.weights.values())


def test_progress_bars_and_dumped_configurations_are_no_clues(tmp_path: Path) -> None:
    error = "RuntimeError: CUDA error: an illegal memory access was encountered"
    bar = "Loading weights:  76%|####   | 63/83 [00:00<00:00, 99.9it/s, Materializing param=layers.3.mlp.experts.w2]"
    dumped = [f'  "{name}": 1,' for name in ("rope_theta", "moe_size", "nextn", "mtp", "eagle", "rope_type", "x")]
    plain = told(f"starting\n{error}", tmp_path).suspects
    noisy = told("\n".join(["starting", bar, *dumped, error]), tmp_path).suspects
    assert [(s.component, s.probability) for s in noisy] == [(s.component, s.probability) for s in plain]
    picked = told(f'  "rope_theta": 1,\n{error}', tmp_path).suspects
    assert [(s.component, s.probability) for s in picked] != [(s.component, s.probability) for s in plain]


SERVER_ARGS = (
    "[2025-03-03 08:00:01] server_args=ServerArgs(model_path='acme/7B', tp_size=1, speculative_algorithm={spec})\n"
    "[2025-03-03 08:00:20 TP0] Decode batch. #running-req: 5, #token: 9121\n"
    "[2025-03-03 08:00:30 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    "RuntimeError: CUDA error: an illegal memory access was encountered"
)


def test_what_was_off_or_alone_is_hardly_suspected(tmp_path: Path) -> None:
    off = {s.component: s.probability for s in told(SERVER_ARGS.format(spec="None"), tmp_path).suspects}
    assert off.get(Component.SPEC_DECODE, 0.0) < 0.02
    assert off.get(Component.ALLREDUCE, 0.0) < 0.02
    on = {s.component: s.probability for s in told(SERVER_ARGS.format(spec="'EAGLE'"), tmp_path).suspects}
    assert on[Component.SPEC_DECODE] > 0.2


def test_a_line_that_every_start_prints_does_not_accuse_the_all_reduce(tmp_path: Path) -> None:
    line = "[2025-03-03 08:00:10 TP0] Registering 99 cuda graph addresses\n"
    text = SERVER_ARGS.format(spec="None").replace("tp_size=1", "tp_size=2")
    with_it = told(text.replace("\n", f"\n{line}", 1), tmp_path)
    assert {s.component: s.rule for s in with_it.suspects} == {
        s.component: s.rule for s in told(text, tmp_path).suspects
    }
