"""The tracer in real processes: small programs run by an engine's Python, which has torch; this one need not have it.

Importing torch takes seconds, so one process imports it under the tracer and is forked for each program.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ruleout.engines.environments import installed
from ruleout.engines.recipes import recipe
from ruleout.model.trace import TracedProcess
from ruleout.numerics import records
from ruleout.numerics.starting import TraceMode, carry, records_folder

ENGINE = "transformers-5.2.0"
SETTING = """
import torch
from torch import nn
torch.manual_seed(0); torch.set_num_threads(1); torch.set_grad_enabled(False)
"""
"""What every program begins with."""

_FORKING = """
import atexit, json, os, sys, traceback
import torch
for line in sys.stdin:
    program, out = json.loads(line)
    child = os.fork()
    if child == 0:
        status = 0
        stream = os.open(out, os.O_WRONLY | os.O_CREAT)
        os.dup2(stream, 1), os.dup2(stream, 2)
        try:
            exec(compile(open(program).read(), program, "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush(), atexit._run_exitfuncs(), os._exit(status)
    print(json.dumps([child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]), flush=True)
"""


@dataclass(frozen=True)
class Traced:
    """What a program left, and what it printed."""

    processes: tuple[TracedProcess, ...]
    out: str
    status: int
    folder: Path

    @property
    def only(self) -> TracedProcess:
        """The process of a program that starts no other."""
        (process,) = self.processes
        return process


class Tracing:
    """Runs programs under the tracer in an engine's environment."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder = python, folder
        self._forking: subprocess.Popen[str] | None = None

    def environment(
        self, folder: Path, mode: TraceMode = TraceMode.WATCH, arm: str = "", path: str = ""
    ) -> dict[str, str]:
        """The variables of a process that is traced into the folder."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "RULEOUT"))}
        return {**env, **carry(folder, mode, arm, path=path)}

    def run(self, program: str) -> Traced:
        """Runs a program to its end in a fork of a process that has imported torch."""
        if self._forking is None:
            argv = [str(self.python), "-c", _FORKING]
            env = self.environment(self.folder)
            self._forking = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        script, out = folder / "program.py", folder / "out"
        script.write_text(SETTING + textwrap.dedent(program))
        assert self._forking.stdin is not None
        assert self._forking.stdout is not None
        self._forking.stdin.write(json.dumps([str(script), str(out)]) + "\n")
        self._forking.stdin.flush()
        pid, status = json.loads(self._forking.stdout.readline())
        told = [records.process(path) for path in records_folder(self.folder).glob(f"{pid}-*.jsonl")]
        return Traced(tuple(told), out.read_text(), status, folder)

    def alone(
        self, program: str, folder: Path, mode: TraceMode = TraceMode.WATCH, arm: str = "", path: str = ""
    ) -> Traced:
        """Runs a program in a process of its own."""
        script = folder / "program.py"
        script.write_text(SETTING + textwrap.dedent(program))
        done = subprocess.run(
            [str(self.python), str(script)],
            env=self.environment(folder, mode, arm, path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
        )
        return Traced(records.processes(records_folder(folder)), done.stdout, done.returncode, folder)

    def close(self) -> None:
        """Ends the process that is forked."""
        if self._forking is not None:
            self._forking.communicate()


@pytest.fixture(scope="session")
def tracing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracing]:
    made = installed(recipe(ENGINE))
    if made is None or os.environ.get("RULEOUT_SKIP_ENGINES"):
        pytest.skip(f"{ENGINE} is not installed: make engines")
    tracing = Tracing(made.python, tmp_path_factory.mktemp("tracing"))
    yield tracing
    tracing.close()
