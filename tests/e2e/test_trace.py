"""`ruleout trace` as a person types it, without an engine: what it says where it cannot get in, and what it leaves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

PYTHON = [sys.executable]


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ([], 2, ["nothing to trace"]),
        (["--"], 2, ["nothing to trace"]),
        (["--no-such-option", "--", "x"], 2, ["--no-such-option"]),
        (["--case", "nowhere.yaml"], 2, ["nowhere.yaml"]),
        (["--", "no-such-engine"], 4, ["no-such-engine was not found"]),
        (["--", "no-such\nengine"], 4, ["no-such\\nengine was not found"]),
        (["--", ""], 2, ["no program"]),
        (["--", "llama-server", "-m", "m.gguf"], 4, ["without torch"]),
        (["--", "docker", "run", "vllm/vllm-openai:v1", "--model", "m"], 4, ["a container", "-e RULEOUT_TRACE_DIR"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_what_cannot_be_traced_is_told_in_two_lines(
    workshop: Workshop, words: list[str], status: int, told: list[str]
) -> None:
    done = workshop.run("trace", *words)
    assert (done.status, done.out) == (status, "")
    lines = [line for line in done.err.splitlines() if not line.startswith("  launched")]
    assert len(lines) == 2
    assert lines[0].startswith("ruleout: ")
    for word in told:
        assert word in done.err
    assert not [path for path in workshop.cwd.rglob("*") if path.name != "ruleout"], "nothing took place"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([*PYTHON, "-I", "-c", "print(1)"], "-I ignores PYTHONPATH"),
        ([*PYTHON, "-c", "print(1)"], "1 Python process carried it, and none imported torch"),
        (["true"], "none of its processes is a Python that reads PYTHONPATH"),
    ],
    ids=["isolated", "no torch", "no python"],
)
def test_nobody_home_is_never_nothing_found(workshop: Workshop, words: list[str], reason: str) -> None:
    done = workshop.run("trace", "--json", "--", *words)
    assert (done.status, done.out) == (4, "")
    assert f"no process with the model could be traced: {reason}" in done.err.replace("python -I", "-I")
    log = Path(done.err.split("Log: ")[1].strip())
    assert log.is_file(), "what it printed is kept"


def test_a_crash_before_torch_came_is_told_from_the_log(workshop: Workshop) -> None:
    script = workshop.cwd / "engine.py"
    script.write_text("def load():\n    raise ValueError('no such model: x')\nload()\n")
    done = workshop.run("trace", "--json", "--", *PYTHON, str(script))
    assert (done.status, done.document["found"]) == (1, "failure"), done.err
    failure = done.document["failure"]
    assert failure["message"] == "no such model: x"
    assert failure["frame"] == f"{script}:2:load"
    assert (done.document["born"], done.document["weights"]) == (None, [])


def test_traces_stand_beside_the_investigation_of_the_same_command(workshop: Workshop) -> None:
    script = workshop.cwd / "engine.py"
    script.write_text("raise ValueError('x')\n")
    words = ["--", *PYTHON, str(script)]
    for _ in range(2):
        assert workshop.run("trace", *words).status == 1
    folder = workshop.investigation("engine") / "traces"
    assert sorted(path.name for path in folder.iterdir()) == ["0001", "0002"]
    assert json.loads((folder / "0002" / "trace.json").read_text())["schema"] == "ruleout.trace/1"
    workshop.run("investigate", "--budget-trials", "2", *words)
    assert (workshop.investigation("engine") / "FINDINGS.md").is_file()
    assert sorted(path.name for path in folder.iterdir()) == ["0001", "0002"]


def test_an_interrupted_trace_leaves_no_process(workshop: Workshop) -> None:
    running = workshop.start("trace", "--", *PYTHON, "-c", "import time; time.sleep(600)")
    workshop.eventually(lambda: "launched" in running.err, 30, "it is launched")
    running.ctrl_c()
    assert running.end().status == 130
    workshop.gone()
