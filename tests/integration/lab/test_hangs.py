"""Real servers that hang or are killed, because a test sees to it: what is seen of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.support.cgroups import limited_memory

from ruleout.engines import engine_named
from ruleout.engines.environments import Environment
from ruleout.investigation.evidence import gathered
from ruleout.investigation.launching import prepare
from ruleout.investigation.run import Run, read_run
from ruleout.model import Case, Configuration, FailureClass, Probe, Ready
from ruleout.runners.base import Event
from ruleout.runners.local import LocalRunner

RANKS = '''
"""A fake engine of two real ranks over gloo: asked for a step, one joins the reduction and the other never does."""
import http.server, multiprocessing, os, sys, time

def rank(number, store, joined, go, hangs):
    import torch, torch.distributed
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    with joined.get_lock():
        joined.value += 1
    go.wait()
    if number == 1 and hangs:
        forget_to_join()
    torch.distributed.all_reduce(torch.ones(4))
    time.sleep(600) if number else torch.distributed.barrier()

def forget_to_join():
    time.sleep(600)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/health":
            self.send_response(200 if joined.value == 2 else 503)
            self.end_headers()
        else:
            go.set()
            time.sleep(600)

    def log_message(self, *words):
        pass

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    joined, go = context.Value("i", 0), context.Event()
    for number in (0, 1):
        args = (number, sys.argv[2], joined, go, "--both" not in sys.argv)
        context.Process(target=rank, args=args, daemon=True).start()
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
pytestmark = [pytest.mark.engine, pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]


def hung(
    case: Case, spool: Path, stops: Callable[[psutil.Process], psutil.Process] | None = None
) -> tuple[Run, list[Event]]:
    """The run of a server that hangs; one process is stopped as soon as it is ready, where that is asked for."""
    engine = engine_named(case.engine)
    prepared = prepare(case, engine, Configuration(), 1, spool, spool.parent)
    pids: list[int] = []

    def hear(event: Event) -> None:
        if event["kind"] == "started":
            pids.append(event["pid"])
        elif event["kind"] == "ready" and stops is not None:
            os.kill(stops(psutil.Process(pids[0])).pid, signal.SIGSTOP)

    events = prepared.run(LocalRunner(), hear)
    gathered(events).keep(spool)
    return read_run(case, engine, prepared.requests, spool, events), events


def test_a_stopped_server_is_seen_to_be_stopped_and_its_python_is_read_all_the_same(
    engine_environment: Environment, models: Path, tmp_path: Path
) -> None:
    serve = (str(engine_environment.script("transformers")), "serve", "--force-model", str(models / "llama-tiny"))
    case = Case("stopped", "transformers", serve, probes=(Probe(timeout=3.0),))
    run, events = hung(case, tmp_path / "1", lambda leader: leader)
    assert run.failure is not None
    assert run.failure.class_ is FailureClass.HANG
    assert any("was stopped (SIGSTOP or a debugger): it did not run at all" in seen.text for seen in run.observed)
    assert "uvicorn/" in (tmp_path / "1" / "evidence" / "stacks.txt").read_text()
    assert (tmp_path / "1" / "evidence" / "page_health.txt").read_text().startswith("GET /health: timeout after 5")
    left = next(event for event in events if event["kind"] == "left_over")
    assert (left["processes"], left["port_free"]) == ([], True)


def test_of_several_processes_the_one_that_does_not_run_is_named(
    vllm: Environment, models: Path, tmp_path: Path
) -> None:
    flags = ("--served-model-name", "tiny", "--dtype", "float32", "--max-model-len", "512", "--enforce-eager")
    command = (str(vllm.script("vllm")), "serve", str(models / "llama-tiny"), *flags)
    case = Case("core", "vllm", command, env={"VLLM_CPU_KVCACHE_SPACE": "1"}, probes=(Probe(timeout=5.0),))

    def core(leader: psutil.Process) -> psutil.Process:
        return next(child for child in leader.children(recursive=True) if "EngineCore" in " ".join(child.cmdline()))

    run, events = hung(case, tmp_path / "1", core)
    assert run.failure is not None
    assert run.failure.class_ is FailureClass.HANG
    (stopped,) = [seen for seen in run.observed if "was stopped" in seen.text]
    line = stopped.evidence[0]
    table = (tmp_path / "1" / line.source).read_text().splitlines()
    assert "EngineCore" in table[line.line - 1]
    assert "vllm/v1/engine/core.py" in (tmp_path / "1" / "evidence" / "stacks.txt").read_text()
    left = next(event for event in events if event["kind"] == "left_over")
    assert (left["processes"], left["port_free"]) == ([], True)


def test_a_server_without_enough_memory_is_told_to_have_been_killed_by_the_kernel(
    vllm: Environment, models: Path, tmp_path: Path
) -> None:
    flags = ("--served-model-name", "tiny", "--dtype", "float32", "--max-model-len", "512", "--enforce-eager")
    command = (str(vllm.script("vllm")), "serve", str(models / "llama-tiny"), *flags)
    case = Case("killed", "vllm", command, env={"VLLM_CPU_KVCACHE_SPACE": "1"}, probes=(Probe(timeout=30.0),))
    engine = engine_named("vllm")
    spool = tmp_path / "1"
    prepared = prepare(case, engine, Configuration(), 1, spool, tmp_path)
    with limited_memory("700M") as group:

        def confine(event: Event) -> None:
            if event["kind"] == "started":
                (group / "cgroup.procs").write_text(str(event["pid"]))

        events = prepared.run(LocalRunner(), confine)
    run = read_run(case, engine, prepared.requests, spool, events)
    assert run.failure is not None
    assert run.failure.class_ is FailureClass.HOST_OOM_KILL, (run.failure, (spool / "server.log").read_text()[-2000:])
    assert run.observed[0].text.endswith("at its control group's limit")


def test_the_rank_that_does_not_join_a_reduction_is_told_from_the_one_that_waits(
    engine_environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "fake_ranks.py").write_text(RANKS)
    command = (str(engine_environment.python), str(tmp_path / "fake_ranks.py"), "{port}", str(tmp_path / "store"))
    ready = Ready(timeout=120.0, path="/health")
    case = Case("ranks", "command", command, ready=ready, probes=(Probe(kind="http", path="/step", timeout=5.0),))
    run, _ = hung(case, tmp_path / "1")
    assert run.failure is not None
    assert run.failure.class_ is FailureClass.HANG
    told = [seen.text for seen in run.observed]
    assert any("waits for an all_reduce: all_reduce (torch/distributed/distributed_c10d.py:" in text for text in told)
    assert any("waits in forget_to_join (fake_ranks.py:" in text for text in told), told
