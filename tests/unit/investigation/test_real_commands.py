"""Commands as people use them, from one end to the other: a trial changes what its factor says, and not a word more."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest

from ruleout.engines import engine_named
from ruleout.engines.serving import Server
from ruleout.investigation.bare import bare_case, widened
from ruleout.investigation.casefile import parse_case
from ruleout.investigation.casewriting import case_text
from ruleout.investigation.loop import check_launches
from ruleout.model import ABSENT, PRESENT, UNSET, Mechanism

COMMANDS = [
    "vllm serve org/Model-NVFP4 --tensor-parallel-size 8 --kv-cache-dtype fp8 --max-model-len 32768",
    "vllm serve -tp 8 -O3 org/m --gpu-memory-utilization=0.9 --no-enable-prefix-caching -dp 2 --enable-expert-parallel",
    'vllm serve m --compilation-config \'{"cudagraph_mode": "FULL"}\' -cc.mode=3 --hf-overrides \'{"a": {"b": 1}}\'',
    "vllm serve m --speculative-config.method mtp --speculative-config.num_speculative_tokens 3 --enable-sleep-mode",
    "vllm serve m --middleware a.B --middleware c.D --cudagraph-capture-sizes 1 2 4 --served-model-name a b",
    "python -m vllm.entrypoints.openai.api_server --model=/models/x --dtype=bfloat16 --quantization modelopt_fp4",
    "python3 -m sglang.launch_server --model-path org/GLM-5-FP8 --tp-size 8 --nsa-decode-backend flashmla_sparse",
    "sglang serve --model-path m --speculative-algorithm EAGLE --speculative-num-steps 3 --nnodes 2 --node-rank 0",
    "CUDA_VISIBLE_DEVICES=0,1 VLLM_X=1 NCCL_P2P_DISABLE=1 vllm serve m -tp 2",
    "nohup env VLLM_X=1 numactl -N 0 -m 0 vllm serve m --block-size 16",
    "bash -c 'export VLLM_X=1; cd /tmp && vllm serve m --dtype float16 2>&1 | tee log'",
    "'VLLM_X=1 vllm serve m --dtype float16'",
    "srun --gres=gpu:8 --mem 9G trtllm-llmapi-launch trtllm-serve m --backend pytorch --max_batch_size 8",
    "docker run --gpus all -it -p 8000:8000 -e VLLM_X=1 --ipc=host --name x vllm/vllm-openai:v0.18.0 m --dtype half",
    "docker run -d --net host lmsysorg/sglang python3 -m sglang.launch_server --model-path m --attention-backend fa3",
    "docker run --entrypoint bash --gpus all vllm/vllm-openai -c 'vllm serve m --dtype float16'",
    "llama-server -hf org/m:Q4_K_M -ngl 99 -fa on -c 32768 -ctk q8_0 -ctv q8_0 -ot exps=CPU -ot attn=GPU --jinja",
    "transformers serve m --dtype bfloat16 --continuous-batching",
]


@pytest.fixture(autouse=True)
def nothing_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_trial_changes_what_its_factor_says_and_not_a_word_more(command: str) -> None:
    case, choices = widened(bare_case(shlex.split(command)), None, ask=False)
    assert parse_case(case_text(case, choices)) == case
    assert 0 < len(case.factors) <= 8
    engine = engine_named(case.engine)
    assert isinstance(engine, Server)
    check_launches(case, engine)
    baseline = engine.launch(case, case.baseline)
    for factor in case.factors:
        for level in factor.others:
            moved = engine.launch(case, case.baseline.moved({factor.name: level}))
            gone, come = (list((Counter(a) - Counter(b)).elements())
                          for a, b in ((baseline.argv, moved.argv), (moved.argv, baseline.argv)))  # fmt: skip
            said = {factor.target, factor.baseline, level}
            if factor.mechanism is Mechanism.ENV:
                said = {"-e", f"{factor.target}={factor.baseline}", f"{factor.target}={level}"}
            assert {*gone, *come} <= said, (factor.name, level)
            inside = any(word.startswith(f"{factor.target}=") for word in (*moved.argv, *baseline.argv))
            expected = dict(baseline.env)
            if factor.mechanism is Mechanism.ENV and not inside:
                expected[factor.target] = None if level == UNSET else level
            assert moved.env == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_the_baseline_is_what_the_person_typed_but_for_how_the_server_is_reached(command: str) -> None:
    case, _ = widened(bare_case(shlex.split(command)), None, ask=False)
    for factor in case.factors:
        if factor.mechanism is Mechanism.FLAG and factor.baseline not in (ABSENT, PRESENT):
            assert factor.baseline in shlex.split(command.replace("=", " ")) or factor.baseline in command
    argv = engine_named(case.engine).launch(case, case.baseline).argv
    typed = Counter(case.command)
    added = Counter(argv) - typed
    missing = typed - Counter(argv)
    of_the_trial = {"--port", "{port}", "--host", "127.0.0.1", "0.0.0.0", "8000", "--rm", "-i"}
    of_the_trial |= {"-p", "127.0.0.1:{port}:8000", "-e", "VLLM_NO_USAGE_STATS=1"}
    parts = {part for word in missing for part in word.split("=", 1)}  # `--flag=value` may come back as two words
    assert set(added) <= of_the_trial | parts
    assert {word for word in missing if "=" not in word} <= {"-it", "-d", "-p", "8000:8000", "--name", "x"}
