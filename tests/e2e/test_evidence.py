"""A failure that its log does not tell of is told by what was seen before it was stopped."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.cgroups import limited_memory
from tests.support.nvml import compile_nvml

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

DEADLOCK = '''
"""A fake engine of two processes: the worker takes a lock that it holds already."""
import multiprocessing, sys, threading

def worker():
    lock = threading.Lock()
    lock.acquire()
    take_again(lock)

def take_again(lock):
    lock.acquire()

if __name__ == "__main__" and "--safe" not in sys.argv:
    process = multiprocessing.get_context("fork").Process(target=worker)
    process.start()
    process.join()
'''
EATER = '''
"""A fake engine that eats memory in the control group it is given."""
import os, sys
if "--small" not in sys.argv:
    open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
    print("loading weights", flush=True)
    eaten = []
    while True:
        eaten.append(bytearray(b"x" * 1_000_000))
'''


def script(workshop: Workshop, name: str, source: str) -> list[str]:
    path = workshop.folder / name
    path.write_text(source)
    return [sys.executable, str(path)]


def seen(document: dict[str, Any]) -> list[str]:
    """What was seen of the trial that showed the target."""
    return [one["text"] for one in document["trials"][0]["observed"]]


def test_a_deadlock_says_in_which_function_it_stands(workshop: Workshop) -> None:
    command = script(workshop, "fake_deadlock.py", DEADLOCK)
    case = workshop.case(command=command, timeout="1.5s", factors={"safe": ["absent", "present"]})
    done = workshop.run("investigate", "--json", case)
    assert (done.status, done.causes) == (0, [{"safe": ["absent"]}]), done.err
    where, idle = done.document["trials"][0]["observed"]
    assert re.fullmatch(r"process \d+ waits in take_again \(fake_deadlock.py:11\)", where["text"])
    assert idle["text"] == "no process computes: it waits, and is not just slow"
    (line,) = where["evidence"]
    folder = workshop.investigation() / "trials" / "0001"
    assert "take_again (fake_deadlock.py:11)" in (folder / line["source"]).read_text().splitlines()[line["line"] - 1]
    told = f"- Seen before it was stopped: {where['text']} (trials/0001/{line['source']}:{line['line']})"
    assert told in (workshop.investigation() / "FINDINGS.md").read_text().splitlines()


def test_a_kill_for_memory_is_told_by_the_kernel(workshop: Workshop) -> None:
    with limited_memory("100M") as group:
        command = [*script(workshop, "fake_eater.py", EATER), str(group)]
        done = workshop.run(
            "investigate", "--json", workshop.case(command=command, factors={"small": ["absent", "present"]})
        )
    assert (done.status, done.causes) == (0, [{"small": ["absent"]}]), done.err
    failure = done.document["failure"]
    assert failure["class"] == "host_oom_kill"
    assert failure["message"].startswith("the kernel's OOM killer ended python")
    assert failure["evidence"][0]["source"] == "evidence/kernel.log"
    assert seen(done.document)[0].endswith("at its control group's limit")
    assert "- Kernel: `the kernel's OOM killer ended python" in (workshop.investigation() / "FINDINGS.md").read_text()


def test_a_request_that_hangs_is_looked_at_while_it_hangs(workshop: Workshop) -> None:
    workshop.plan(mode="serve", hold={"phase": "probe", "start": 1})
    case = workshop.case(
        mode="serve",
        factors={"batching": ["on", "off"]},
        probes=[{"kind": "completion", "timeout": "1.5s"}],
    )
    done = workshop.run("investigate", "--json", "--budget-trials", "1", case)
    assert done.document["failure"]["class"] == "hang", done.document["failure"]
    assert any("waits in hold (deployment.py:" in text for text in seen(done.document)), seen(done.document)


def test_gpu_memory_that_somebody_else_holds_is_named_and_refused_or_shared(workshop: Workshop) -> None:
    folder = compile_nvml(workshop.folder / "nvml", memory_gib=40, pid=1)
    programs = workshop.folder / "bin"
    programs.mkdir()
    (programs / "vllm").write_text("#!/bin/sh\n# A fake vLLM: it never gets so far as to need a GPU.\nexit 3\n")
    (programs / "vllm").chmod(0o755)
    env: Any = {"PATH": f"{programs}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(folder)}
    case: dict[str, Any] = {"engine": "vllm", "command": ["vllm", "serve", "m"], "mode": "serve", "probes": None}
    refused = workshop.run("investigate", workshop.case(**case, ready=None), **env)
    refused.told(4, "GPU 0: 40.0 GiB is held by process 1 (", " of user ", "CUDA_VISIBLE_DEVICES", "start again")
    shared = workshop.run("investigate", "--json", workshop.case(**case, ready=None, others="share"), **env)
    assert shared.document["failure"]["message"] == "exited with code 3"


def test_a_port_that_is_not_free_yet_is_waited_for_where_the_case_says_so(workshop: Workshop) -> None:
    workshop.plan(mode="serve", fails=[{"--batching": "on"}], how="die")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        case = workshop.case(mode="serve", factors={"batching": ["on", "off"]}, others={"wait": "60s"})
        case.write_text(case.read_text().replace("'{port}'", f"'{port}'"))
        running = workshop.start("investigate", "--json", case)
        events = workshop.investigation() / "trials" / "0001" / "events.jsonl"
        workshop.eventually(
            lambda: events.exists() and f"port {port} is taken by process {os.getpid()} (" in events.read_text(),
            20,
            "the trial waits",
        )
        assert workshop.ledger == []
    done = running.end()
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}])


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ("steal", ["line 13", "others: 'steal' is not known: write refuse, share or {wait: 30m}"]),
        ({"wait": "long"}, ["line 14", "others.wait"]),
        ({"wiat": "5m"}, ["others", "Did you mean wait?"]),
    ],
    ids=["another word", "no time", "a slip"],
)
def test_what_is_wrong_about_others_is_told_with_its_line(workshop: Workshop, others: Any, words: list[str]) -> None:
    case = workshop.case(factors={"batching": ["on", "off"]}, others=others, command=["true"])
    workshop.run("investigate", case).told(2, *words)


def test_where_it_ran_is_told_once_for_each_environment(workshop: Workshop) -> None:
    workshop.plan(fails=[{"--batching": "on"}])
    other = workshop.folder / "other" / "python3"
    other.parent.mkdir()
    other.symlink_to(Path(sys.executable).resolve())
    release = {"python": {"new": sys.executable, "old": str(other)}, "baseline": "new"}
    done = workshop.run("investigate", "--json", workshop.case(factors={"batching": ["on", "off"], "release": release}))
    assert done.causes == [{"batching": ["on"]}]
    installations = done.document["installations"]
    assert [one["python"] for one in installations] == [sys.executable, str(other)]
    assert installations[0]["facts"]["python"] == sys.version.split()[0]
    text = (workshop.investigation() / installations[0]["report"]).read_text()
    assert text.startswith(f"{sys.executable}\n\npython: {sys.version.split()[0]}\n")
    told = f"- Installed ({sys.executable}): python {sys.version.split()[0]}, "
    assert told in (workshop.investigation() / "FINDINGS.md").read_text()
    workshop.run("investigate", "--json", "--resume", workshop.cwd / "fake.yaml")
    assert len(list((workshop.investigation() / "environments").iterdir())) == 2
