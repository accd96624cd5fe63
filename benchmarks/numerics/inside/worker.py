# mypy: disable-error-code="import-not-found"
"""Runs cases inside an engine's environment: python -m benchmarks.numerics.inside.worker INSTRUMENT < cases > answers

The libraries are imported once. Each case then runs in a process of its own, forked from one that has done nothing but
import: no instrument can carry anything from one case to the next, and each writes its records under its own number.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # before the import: nothing here needs the network

import torch
import transformers
from benchmarks.numerics.cases import Case, case
from benchmarks.numerics.inside import faults, healthy, places, sharding
from benchmarks.numerics.inside.judge import Judge
from benchmarks.numerics.inside.looking import Instrument
from benchmarks.numerics.inside.models import build, configuration, load_models
from benchmarks.numerics.inside.peers import INSTRUMENTS
from benchmarks.numerics.inside.places import UnfitError
from benchmarks.numerics.inside.serving import prompts, serve
from benchmarks.numerics.inside.truth import Truth

PATIENCE = 120.0
"""Seconds for one case."""
ATTEMPTS = 60
"""Places that are drawn until one really shows."""
REQUESTS = 2
_FORK = multiprocessing.get_context("fork")


def run(asked: Case, instrument: str, attempt: int, rank: int, meeting: str) -> dict[str, Any]:
    """One rank of a case, from a fresh model on."""
    torch.manual_seed(asked.draw)
    config = configuration(asked.family, sliding=asked.kind == "sliding-window")
    model = build(config, asked.draw, asked.dtype, asked.attention, asked.experts)
    rows = prompts(asked.request, asked.draw)
    if asked.ranks > 1:
        sharding.join(rank, asked.ranks, meeting)
        sharding.shard(model, rank, asked.ranks)
    truth: Truth | None = None
    served: Callable[[], list[bool]]
    if asked.faulty:
        places.fill_what_is_not_written()
        planted = faults.plant(model, asked, attempt, rows, rank)
        truth = planted.truth
        served = partial(_serve, model, asked, rows, planted)
    else:
        served = healthy.arrange(model, asked, rows)
    looking = Judge(truth) if instrument == "judge" and truth else INSTRUMENTS.get(instrument, Instrument)()
    steps, raised = [], []
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        looking.start(model)
        for _ in range(REQUESTS):
            torch.manual_seed(asked.draw)
            try:
                steps += served()
            except (RuntimeError, ValueError) as error:
                raised.append(f"{type(error).__name__}: {error}")
        looking.stop()
    wrong = ""
    if instrument == "judge":
        bad = [*steps, *(False for _ in raised)]
        if truth is None:
            wrong = "" if all(bad) else f"not healthy: {steps} {raised}"
        elif rank == truth.rank:
            wrong = looking.wrong(bad)
    answer = looking.answer
    return {
        "pid": os.getpid(),
        "rank": rank,
        "truth": truth.document() if truth else None,
        "answer": {**answer.document(), "rank": rank} if answer else None,
        "wrong": wrong,
        "finite": all(steps) and not raised,
        "raised": raised[:1],
    }


def _serve(model: Any, asked: Case, rows: list[list[int]], planted: faults.Planted) -> list[bool]:
    return serve(model, asked.request, rows, planted.cache())


def _rank(asked: Case, instrument: str, attempt: int, rank: int, meeting: str, back: Connection) -> None:
    os.dup2(2, 1)  # what libraries print must not come between the answers
    torch.set_num_threads(1)
    try:
        told = run(asked, instrument, attempt, rank, meeting)
    except UnfitError:
        told = {"wrong": "this model has no such place"}
    except Exception:
        told = {"error": traceback.format_exc()}
    back.send(told)
    back.close()


def apart(asked: Case, instrument: str, attempt: int) -> list[dict[str, Any]]:
    """All ranks of a case, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        meeting = str(Path(folder) / "meeting")
        started = []
        for rank in range(asked.ranks):
            here, there = _FORK.Pipe(duplex=False)
            process = _FORK.Process(target=_rank, args=(asked, instrument, attempt, rank, meeting, there))
            process.start()
            there.close()
            started.append((process, here))
        told = []
        deadline = time.monotonic() + PATIENCE
        for process, here in started:
            try:
                late = not here.poll(max(0.0, deadline - time.monotonic()))
                told.append({"error": f"no answer within {PATIENCE:.0f} s"} if late else here.recv())
            except EOFError:
                told.append({"error": "the process died"})
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()
        return told


def proven(asked: Case) -> list[dict[str, Any]]:
    """Draws places until the judge has nothing against the truth of one; the attempt's number comes with the answer."""
    refused: list[str] = []
    for attempt in range(ATTEMPTS if asked.faulty else 1):
        told = apart(asked, "judge", attempt)
        failed = [each.get("error") or each["wrong"] for each in told if each.get("error") or each["wrong"]]
        if not failed:
            return [{**each, "attempt": attempt, "refused": refused} for each in told]
        refused += failed
    return [{"error": f"no place shows after {len(refused)} attempts; the last: {refused[-1]}", "refused": refused}]


def main() -> None:
    """Answers line by line."""
    instrument = sys.argv[1]
    load_models()
    INSTRUMENTS.get(instrument, Instrument).load()
    print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__}), flush=True)
    for line in sys.stdin:
        asked = case(json.loads(line))
        attempt = int(asked.chosen.get("attempt", 0))
        told = proven(asked) if instrument == "judge" else apart(asked, instrument, attempt)
        print(json.dumps({"name": asked.name, "ranks": told}), flush=True)


if __name__ == "__main__":
    main()
