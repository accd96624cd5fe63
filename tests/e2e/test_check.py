"""`ruleout check` as the oracle of a real `git bisect run`, and every exit status that a bisection relies on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

SHAPES = "raise RuntimeError('shape mismatch: value tensor of shape [512] cannot be broadcast to [256]')"
MEMORY = "raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')"
FINE = "print('fake engine: fine')"
RULEOUT = f"{sys.executable} -m ruleout"


class Repository:
    """A git repository in which each commit has one version of a fake engine."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder = folder
        who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_CONFIG_NOSYSTEM": "1"}
        who |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c"}
        self.env = {**env, **who}
        self.commits: list[str] = []
        folder.mkdir()
        self.git("init", "--quiet")

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def commit(self, source: str) -> None:
        number = len(self.commits)
        (self.folder / "engine.py").write_text(f"# fake engine, version {number}\n{source}\n")
        self.git("add", "engine.py")
        self.git("commit", "--quiet", "--message", f"version {number}")
        self.commits.append(self.git("rev-parse", "HEAD").strip())

    def bisect(self, *oracle: str) -> str:
        """The first bad commit's number, or what git says instead."""
        self.git("bisect", "start", self.commits[-1], self.commits[0])
        told = self.git("bisect", "run", *oracle)
        bad = self.git("rev-parse", "refs/bisect/bad").strip()
        assert f"{bad} is the first bad commit" in told, told
        return f"version {self.commits.index(bad)}"


@pytest.fixture
def repository(workshop: Workshop) -> Repository:
    return Repository(workshop.folder / "repository", workshop.env)


def test_git_bisect_run_finds_the_commit_among_untestable_ones_and_another_failure(repository: Repository) -> None:
    """Version 12 brings the bug; 8, 9 and 14 do not build; 10 and 4 fail otherwise, which is not the target."""
    for number in range(20):
        source = SHAPES if number >= 12 else FINE
        if number in (8, 9, 14):
            source = "raise SystemExit(125)"
        elif number in (4, 10):
            source = MEMORY
        repository.commit(source)
    oracle = [sys.executable, "-m", "ruleout", "check"]
    engine = ["--", sys.executable, "-S", "engine.py"]
    assert repository.bisect(*oracle, "--target", "shape_mismatch", *engine) == "version 12"
    repository.git("bisect", "reset")
    assert repository.git("status", "--porcelain") == ""


def test_without_a_target_any_failure_is_the_one(repository: Repository) -> None:
    for number in range(16):
        repository.commit(SHAPES if number >= 12 else MEMORY if number == 11 else FINE)
    assert (
        repository.bisect(sys.executable, "-m", "ruleout", "check", "--", sys.executable, "engine.py") == "version 11"
    )


def test_a_bisection_stops_where_the_oracle_cannot_answer(repository: Repository) -> None:
    for _ in range(5):
        repository.commit(FINE)
    repository.git("bisect", "start", repository.commits[-1], repository.commits[0])
    done = subprocess.run(
        ["git", "bisect", "run", sys.executable, "-m", "ruleout", "check", "--", "no-such-engine"],
        cwd=repository.folder,
        env=repository.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert "128" in done.stdout + done.stderr


def python(source: str) -> list[str]:
    return ["--", sys.executable, "-S", "-c", source]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (python(FINE), 0),
        (python(SHAPES), 1),
        (python("raise SystemExit(3)"), 1),
        (python("import os; os.kill(os.getpid(), 11)"), 1),
        (["--target", "shape_mismatch", *python(SHAPES)], 1),
        (["--target", "oom", *python(SHAPES)], 125),
        (["--target", "shape_mismatch@decode", *python(SHAPES)], 125),
        (python("raise SystemExit(125)"), 125),
        (python("raise SystemExit(126)"), 125),
        (["--", "sh", "-c", "no-such-engine"], 125),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else None,
)
def test_what_is_a_test_result_exits_below_128(workshop: Workshop, words: list[str], status: int) -> None:
    done = workshop.run("check", "--json", *words)
    assert done.status == status, done.err
    assert done.document["schema"] == "ruleout.check/1"
    assert done.document["result"] == {0: "clean", 1: "reproduced", 125: "untestable"}[status]
    assert (done.document["failure"] is None) == (status == 0)
    assert done.err == ""


@pytest.mark.parametrize(
    ("source", "status", "line"),
    [
        (FINE, 0, "clean: it ended with 0"),
        (SHAPES, 1, "reproduced: shape_mismatch: RuntimeError: shape mismatch"),
        ("raise SystemExit(125)", 125, "untestable: the command exited with 125"),
    ],
    ids=["clean", "reproduced", "untestable"],
)
def test_the_answer_is_one_line(workshop: Workshop, source: str, status: int, line: str) -> None:
    done = workshop.run("check", *python(source))
    assert (done.status, len(done.out.splitlines()), done.err) == (status, 1, "")
    assert done.out.startswith(line)


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ([], 129, ["nothing to check"]),
        (["--"], 129, ["nothing to check"]),
        (["--target", "crash", *python(FINE)], 129, ["crash", "shape_mismatch"]),
        (["--target", "oom@lunch", *python(FINE)], 129, ["lunch", "decode"]),
        (["--repeat", "0", *python(FINE)], 129, ["--repeat"]),
        (["--no-such-option", *python(FINE)], 129, ["--no-such-option"]),
        (["--case", "nowhere.yaml"], 129, ["nowhere.yaml"]),
        (["--", "no-such-engine"], 132, ["no-such-engine"]),
        (["--json", "--", "no-such-engine"], 132, ["no-such-engine"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_what_is_no_test_result_exits_with_128_or_more(
    workshop: Workshop, words: list[str], status: int, told: list[str]
) -> None:
    workshop.run("check", *words).told(status, *told)


def test_repeat_catches_what_fails_now_and_then(workshop: Workshop) -> None:
    counter = workshop.folder / "counter"
    flaky = (
        f"import pathlib; p = pathlib.Path({str(counter)!r}); n = len(p.read_text()) if p.exists() else 0; "
        f"p.write_text('x' * (n + 1)); n + 1 == 3 and exec({SHAPES!r})"
    )
    assert workshop.run("check", *python(flaky)).status == 0
    assert workshop.run("check", "--repeat", "5", *python(flaky)).status == 1
    assert counter.read_text() == "xxx"  # it stopped at the first failure
    assert workshop.run("check", "--repeat", "3", *python(flaky)).status == 0
    assert counter.read_text() == "x" * 6


def test_one_untestable_run_of_several_is_not_hidden_by_clean_ones(workshop: Workshop) -> None:
    counter = workshop.folder / "counter"
    source = (
        f"import os, sys; t = os.path.exists({str(counter)!r}); open({str(counter)!r}, 'w'); sys.exit(0 if t else 125)"
    )
    assert workshop.run("check", "--repeat", "3", *python(source)).status == 125


def test_a_case_gives_engine_probes_and_target(workshop: Workshop) -> None:
    workshop.plan(mode="serve", fails=[{"--batching": "on"}], how="empty", silent=True)
    factors = {"batching": ["on", "off"]}
    case = workshop.case(mode="serve", flags=["--batching", "on"], factors=factors)
    done = workshop.run("check", "--json", "--case", case)
    assert (done.status, done.document["failure"]["class"]) == (1, "wrong_output")
    assert "HTTP 200, empty content" in done.document["failure"]["client"]
    other = [*workshop.command, "--port", "{port}", "--batching", "off"]
    assert workshop.run("check", "--case", case, "--", *other).status == 0
    case = workshop.case(mode="serve", flags=["--batching", "on"], factors=factors, target={"class": "oom"})
    assert workshop.run("check", "--case", case).status == 125
    assert workshop.run("check", "--case", case, "--target", "wrong_output").status == 1
    assert [entry["flags"]["--batching"] for entry in workshop.ledger] == ["on", "off", "on", "on"]
    assert list((workshop.cache / "checks").iterdir()) == []
    assert not (workshop.cwd / "ruleout").exists()


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["plain", "json"])
@pytest.mark.parametrize(("source", "status"), [(FINE, 0), (SHAPES, 1)], ids=["clean", "failing"])
def test_the_answer_does_not_depend_on_a_reader(workshop: Workshop, source: str, status: int, words: list[str]) -> None:
    script = f"set -o pipefail; $RULEOUT check {' '.join(words)} -- {sys.executable} -S engine.py | (exec 0<&-)"
    (workshop.cwd / "engine.py").write_text(source)
    done = workshop.start_shell(script).end()
    assert (done.status, done.err) == (status, "")
