"""The public command, run as a person runs it, against fake deployments; nothing of it may be left, not even a file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

DEPLOYMENT = Path(__file__).parent / "fakes" / "deployment.py"
MARK = "RULEOUT_E2E"
RUN = uuid.uuid4().hex
"""In the environment of all that these tests start: tells it from what others run on this machine."""

Json = dict[str, Any]

ENGINE_GONE_S = 30.0
PATIENCE_S = 240.0


def eventually(holds: Callable[[], Any], seconds: float, what: str) -> Any:
    """Waits for a condition and gives back what it became; fails by name when it does not come in time."""
    until = time.monotonic() + seconds
    while True:
        if value := holds():
            return value
        if time.monotonic() > until:
            pytest.fail(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def _processes(ours: Callable[[Mapping[str, str], Sequence[str]], bool]) -> list[psutil.Process]:
    """The living ones for which that holds of their environment and their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                continue
            if ours(process.environ(), process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Json:
        """stdout, which has to be one JSON document and nothing else."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document

    @property
    def causes(self) -> list[dict[str, list[str]]]:
        """The causes of a verdict: what has to be at which levels."""
        return [{c["factor"]: c["levels"] for c in cause} for cause in self.document["causes"]]

    @property
    def story(self) -> list[tuple[dict[str, str], str]]:
        """What was tried and what came of it, whatever the numbers of the trials."""
        return [(t["configuration"], t["outcome"]) for t in self.document["trials"]]

    def told(self, status: int, *words: str) -> None:
        """It failed as commands have to: this exit status, nothing on stdout, two lines, these words in them."""
        assert (self.status, self.out) == (status, ""), (self.status, self.out, self.err)
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert len(lines) == 2, self.err
        assert lines[0].startswith("ruleout: "), self.err
        assert all(line.strip() for line in lines), self.err
        for word in words:
            assert word in self.err, self.err


def _as_from_a_terminal() -> None:
    """Whatever started the tests (nohup, a background job) may have had signals ignored; a person's shell does not."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A command that runs, in a session of its own as under a terminal; its output goes to files."""

    def __init__(self, argv: list[str], cwd: Path, env: Mapping[str, str], output: Path) -> None:
        self.paths = output.with_suffix(".out"), output.with_suffix(".err")
        with self.paths[0].open("wb") as out, self.paths[1].open("wb") as err:
            self.process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                preexec_fn=_as_from_a_terminal,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def err(self) -> str:
        return self.paths[1].read_text()

    def ctrl_c(self) -> None:
        """As a terminal does it: to the whole foreground process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGINT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self, seconds: float = PATIENCE_S) -> Done:
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {seconds} s; on stderr: {self.err}")
        return Done(status, self.paths[0].read_text(), self.err)


class Workshop:
    """A folder with a plan for fake deployments, cases, and the command that investigates them."""

    eventually = staticmethod(eventually)

    def __init__(self, folder: Path, home: Path, cache: Path | None = None) -> None:
        self.folder, self.cache = folder, cache or folder / "cache"
        self.cwd = folder / "here"
        self.cwd.mkdir()
        self.plan_file, self.ledger_file = folder / "plan.json", folder / "ledger"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        kept = {k: v for k, v in os.environ.items() if k not in ("RULEOUT_TRIAL", "XDG_CACHE_HOME", "PYTHONPATH")}
        self.env = {
            **kept,
            "HOME": str(home),
            "TMPDIR": str(self.temporary),
            "RULEOUT_CACHE_DIR": str(self.cache),
            MARK: RUN,
        }
        self.started: list[Running] = []
        self.litters = False
        """Real engines leave things in the home and in the folder for temporary files."""

    # -- what is investigated

    def plan(self, **plan: Any) -> None:
        """What the fake deployments do from now on."""
        part = self.plan_file.with_suffix(".part")
        part.write_text(json.dumps({"mode": "job", "ledger": str(self.ledger_file), **plan}))
        part.replace(self.plan_file)

    @property
    def command(self) -> list[str]:
        """The command of a fake deployment, without flags."""
        return [sys.executable, "-S", "-E", str(DEPLOYMENT), str(self.plan_file)]

    def case(self, name: str = "fake", flags: Sequence[str] = (), **changes: Any) -> Path:
        """A case file beside the plan; its factors may be given as {name: [levels]}, the first being the baseline."""
        document: Json = {"name": name, "engine": "command", "command": [*self.command, *flags], "mode": "job"}
        if changes.get("mode") == "serve":
            document["command"] += ["--port", "{port}"]
            document |= {"ready": {"path": "/health", "timeout": "20s"}, "probes": [{"kind": "completion"}]}
        factors = changes.pop("factors", {})
        document["factors"] = {
            f: {"flag": f"--{f}", "levels": levels, "baseline": levels[0]} if isinstance(levels, list) else levels
            for f, levels in factors.items()
        }
        document |= {key: value for key, value in changes.items() if value is not None}
        path = self.cwd / f"{name}.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    @property
    def ledger(self) -> list[Json]:
        """Every start of a fake deployment."""
        return [json.loads(x) for x in self.ledger_file.read_text().splitlines()] if self.ledger_file.exists() else []

    @property
    def held(self) -> bool:
        """A deployment waits where the plan told it to."""
        return (self.folder / "held").exists()

    def wait_until_held(self) -> None:
        eventually(lambda: self.held, 60, "the deployment is where it holds")

    def wait_for_starts(self, count: int, running: Running) -> None:
        """So many deployments have been started, or the command has ended."""
        eventually(
            lambda: len(self.ledger) >= count or running.process.poll() is not None, 60, f"{count} deployments started"
        )

    def let_go(self) -> None:
        (self.folder / "go").touch()

    # -- commands

    def start(self, *words: str | Path, cwd: Path | None = None, **env: str) -> Running:
        """Begin a ruleout command."""
        return self._start([sys.executable, "-m", "ruleout", *map(str, words)], cwd, env)

    def start_python(self, script: str, *words: str | Path) -> Running:
        """Begin a script that runs a ruleout command."""
        return self._start([sys.executable, "-c", script, *map(str, words)], None, {})

    def start_shell(self, script: str) -> Running:
        """Begin a shell's script, in which $RULEOUT is the command."""
        return self._start(["bash", "-c", script], None, {"RULEOUT": f"{sys.executable} -m ruleout"})

    def _start(self, argv: list[str], cwd: Path | None, env: Mapping[str, str]) -> Running:
        output = self.folder / f"command-{len(self.started)}"
        self.started.append(Running(argv, cwd or self.cwd, {**self.env, **env}, output))
        return self.started[-1]

    def run(self, *words: str | Path, seconds: float = PATIENCE_S, cwd: Path | None = None, **env: str) -> Done:
        """Run a ruleout command to its end."""
        return self.start(*words, cwd=cwd, **env).end(seconds)

    # -- what is there

    def investigation(self, name: str = "fake") -> Path:
        return self.cwd / "ruleout" / name

    def agent_of(self, trial: int, name: str = "fake") -> int:
        """The process of a trial's agent."""
        events = self.investigation(name) / "trials" / f"{trial:04d}" / "events.jsonl"

        def found() -> int | None:
            lines = events.read_text().splitlines() if events.exists() else []
            return next((e["pid"] for e in map(json.loads, lines) if e["kind"] == "agent"), None)

        return int(eventually(found, 30, "the agent has said who it is"))

    def token_of(self, trial: int, name: str = "fake") -> str:
        document = json.loads((self.investigation(name) / "trials" / f"{trial:04d}" / "trial.json").read_text())
        return str(document["token"])

    def starts_of(self, trial: int, name: str = "fake") -> int:
        """How often the deployment of a trial was really started."""
        token = self.token_of(trial, name)
        return sum(entry["token"] == token for entry in self.ledger)

    def alive(self) -> list[psutil.Process]:
        """The deployment's processes, agents aside, found without the product's help."""
        agent = os.path.join("agent", "agent.py")
        ruleout = [running.pid for running in self.started]

        def ours(environ: Mapping[str, str], argv: Sequence[str]) -> bool:
            mine = environ.get("RULEOUT_CACHE_DIR") == str(self.cache) and environ.get(MARK) == RUN
            of_trial = mine and "RULEOUT_TRIAL" in environ
            return (of_trial or str(self.plan_file) in argv) and not any(agent in word for word in argv)

        return [process for process in _processes(ours) if process.pid not in ruleout]

    def gone(self, seconds: float = ENGINE_GONE_S) -> None:
        eventually(lambda: not self.alive(), seconds, "no process of the deployment is left")

    def clean_up(self) -> list[str]:
        """Ends what a failing test left, and tells of it."""
        self.let_go()
        for running in self.started:
            if running.process.poll() is None:
                running.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.process.wait(20)
                running.kill()
        left = self.alive()
        told = [f"{process.pid} {process.name()}" for process in left if process.is_running()]
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        files = [] if self.litters else sorted(str(path) for path in self.temporary.rglob("*"))
        return told + files


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's home, which stays empty."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def workshop(tmp_path: Path, home: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path, home)
    yield made
    left = made.clean_up()
    assert left == [], f"left behind: {left}"


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left(home: Path) -> Iterator[None]:
    """After everything: no process of any trial, no zombie, and nothing written outside of temporary folders."""
    here = [folder / "ruleout" for folder in {Path.cwd(), Path(__file__).parents[2]}]
    before = [folder.exists() for folder in here]
    yield
    marked = _processes(lambda environ, argv: environ.get(MARK) == RUN)
    assert [p.cmdline() for p in marked if p.is_running()] == []
    zombies = [p for p in psutil.Process().children(recursive=True) if p.status() == psutil.STATUS_ZOMBIE]
    assert zombies == []
    assert list(home.rglob("*")) == []
    assert [folder.exists() for folder in here] == before, "written into the folder that the tests run in"
