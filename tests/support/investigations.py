"""Investigations on disk, as trials leave them, with logs in vLLM's format that are ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ruleout.investigation.folder import Folder
from ruleout.investigation.journal import Journal
from ruleout.investigation.session import current_verdict, stored_case
from ruleout.model import (
    Carrier,
    Configuration,
    Confirmation,
    Evidence,
    Exposure,
    Failure,
    FailureClass,
    Installation,
    Outcome,
    OutcomeKind,
    Stage,
    Verdict,
    VerdictStatus,
    Workaround,
)
from ruleout.model.codec import to_json
from ruleout.store import Store

CASE = """\
name: kv-of-eight-bits
engine: vllm
command: [vllm, serve, /models/mini, --kv-cache-dtype, fp8_e4m3, --max-model-len, "2048", --enforce-eager]
probes:
- {kind: completion, prompt: The capital of France is, repeat: 2}
factors:
  kv_cache_dtype: {flag: --kv-cache-dtype, levels: [fp8_e4m3, auto], baseline: fp8_e4m3}
  max_model_len: {flag: --max-model-len, levels: ["2048", absent], baseline: "2048"}
  deep_gemm: {env: VLLM_USE_DEEP_GEMM, levels: [unset, "0"], baseline: unset}
"""
START = """\
INFO 11-29 16:25:30 [api_server.py:1000] vLLM API server version 0.11.0
(APIServer pid=7) INFO 11-29 16:25:31 [utils.py:233] non-default args: {'model': '/models/mini', 'kv_cache_dtype': 'X'}
(EngineCore pid=9) INFO 11-29 16:25:40 [default_loader.py:268] Loading weights took 4.20 seconds
INFO:     Application startup complete.
"""
ERROR = "ValueError: scale of layer 3 is missing for a cache of eight bits"
FAILING = (
    START.replace("X", "fp8_e4m3")
    + f"""\
(EngineCore pid=9) ERROR 11-29 16:26:01 [core.py:700] EngineCore encountered a fatal error.
(EngineCore pid=9) ERROR 11-29 16:26:01 [core.py:700] Traceback (most recent call last):
(EngineCore pid=9) ERROR 11-29 16:26:01 [core.py:700]   File "/opt/e/lib/site-packages/vllm/core.py", line 690, in run
(EngineCore pid=9) ERROR 11-29 16:26:01 [core.py:700]     self.step()
(EngineCore pid=9) ERROR 11-29 16:26:01 [core.py:700] {ERROR}
INFO:     127.0.0.1:5000 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error
"""
)
LINE = FAILING.split("\n").index(next(line for line in FAILING.split("\n") if ERROR in line)) + 1
HEALTHY = START.replace("X", "auto") + 'INFO:     127.0.0.1:5000 - "POST /v1/completions HTTP/1.1" 200 OK\n'
MASKING = "ValueError: No available memory for the cache blocks\n"
FAILURE = Failure(
    FailureClass.QUANT_FORMAT_MISMATCH,
    Exposure(Stage.DECODE, 1),
    ERROR.partition(": ")[2],
    "ab12",
    "ValueError",
    client="completion 1 of 2: HTTP 500",
    evidence=(Evidence("server.log", LINE, ERROR),),
)
BODY = json.dumps({"model": "mini", "prompt": "The capital of France is", "max_tokens": 32})


def stored(
    home: Path,
    *,
    case: str = CASE,
    failing: str = FAILING,
    healthy: str = HEALTHY,
    failure: Failure = FAILURE,
    report: str = "GPU models: none\n",
    body: str = BODY,
    env: Mapping[str, str] | None = None,
) -> Folder:
    """An investigation that isolated the type of the KV cache, in `home`/ruleout/NAME."""
    folder = Folder(home / "ruleout" / "kv-of-eight-bits")
    folder.create()
    folder.case.write_text(case, encoding="utf-8")
    (folder.path / "environments").mkdir()
    written = f"/opt/e/bin/python\n\nvllm: 0.11.0\n\n$ python -m vllm.collect_env\n{report}"
    (folder.path / "environments" / "1.txt").write_text(written, encoding="utf-8")
    baseline = stored_case(folder).baseline
    fails = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "the failure to explain", failure)
    clean = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "every probe passed")
    mask = Failure(FailureClass.OOM, Exposure(Stage.KV_CACHE_ALLOC), "No available memory", "cd", "ValueError")
    masked = Outcome(OutcomeKind.OTHER, Stage.KV_CACHE_ALLOC, "another failure", mask)
    trials: tuple[tuple[dict[str, str], Outcome], ...] = (
        ({}, fails),
        ({"kv_cache_dtype": "auto"}, clean),
        ({"deep_gemm": "0"}, fails),
        ({"max_model_len": "absent"}, masked),
        ({"kv_cache_dtype": "auto"}, clean),
        ({}, fails),
    )
    with Store(folder.path, writing=True) as store:
        journal = Journal(store)
        journal.begun(case, str(home))
        for number, (moved, outcome) in enumerate(trials, 1):
            journal.planned(number, baseline.moved(moved), "as planned", f"{number:016x}", instruments={})
            beside = folder.trial(number)
            (beside / "evidence").mkdir(parents=True)
            text = {OutcomeKind.CLEAN: healthy, OutcomeKind.OTHER: MASKING}.get(outcome.kind, failing)
            (beside / "server.log").write_bytes(text.encode("utf-8", "surrogateescape"))
            probe = {"step": 1, "name": "completion 1 of 2", "method": "POST", "path": "/v1/completions", "body": body}
            told = {"schema": "ruleout.trial/1", "token": "a" * 16, "env": {"set": dict(env or {})}, "probes": [probe]}
            (beside / "trial.json").write_text(json.dumps(told), encoding="utf-8")
            (beside / "events.jsonl").write_text('{"kind": "started"}\n', encoding="utf-8")
            (beside / "evidence" / "processes.txt").write_text("python3 -m vllm\n", encoding="utf-8")
            journal.finished(number, outcome, 1.5, folder.log(number))
        facts = {"vllm": "0.11.0", "python": "3.12.1"}
        journal.installed(Installation("/opt/e/bin/python", facts, "environments/1.txt"))
        found = isolated(current_verdict(stored_case(folder), journal))
        journal.add("verdict", verdict=to_json(found))
    return folder


def isolated(verdict: Verdict) -> Verdict:
    """The verdict with the cause that the trials show."""
    return replace(
        verdict,
        status=VerdictStatus.ISOLATED,
        probability=0.994,
        causes=((Carrier("kv_cache_dtype", ("fp8_e4m3",)),),),
        confirmed_by=Confirmation((3,), (2,), (2, 5), 6),
        workarounds=(Workaround(Configuration(kv_cache_dtype="auto"), 2, 2),),
        why="",
    )
