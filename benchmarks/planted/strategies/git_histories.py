"""`git bisect run` and `git-bayesect` on a real history: a commit per revision, tested by the simulated deployment.

git bisect: https://git-scm.com/docs/git-bisect, which skips a revision whose test exits with 125. git-bayesect:
https://pypi.org/project/git_bayesect/, https://hauntsaninja.github.io/git_bayesect.html, made for failures that do not
show in every run; its `run` knows no skipping, so that a revision that cannot be tested counts as failing. Both are
told a good revision; that it is good, and the newest bad, is a launch each, which is counted.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.planted.bench import Answer, Bench, SpentError
from benchmarks.planted.scenario import Factor, dumps
from benchmarks.planted.serve import launched

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 300.0
"""Until a tool counts as never ending."""


def git_bisect(bench: Bench) -> Answer:
    """The revision that `git bisect run` calls the first bad commit."""
    return _on_history(bench, _bisect)


def git_bayesect(bench: Bench) -> Answer:
    """The revision to which `git bayesect run` converges, with its probability. Raises ImportError without it."""
    if importlib.util.find_spec("git_bayesect") is None:
        raise ImportError("git_bayesect is not installed", name="git_bayesect")
    return _on_history(bench, _bayesect)


def _on_history(bench: Bench, search: Callable[[Path, str], tuple[str, float | None]]) -> Answer:
    factor = bench.scenario.ordered
    if factor is None:
        return Answer(status="unsuited", note="for linear histories only")
    with tempfile.TemporaryDirectory(prefix="ruleout-planted-") as name:
        folder = Path(name)
        (folder / "scenario.json").write_text(dumps(bench.scenario))
        ledger, history = folder / "ledger.jsonl", folder / "history"
        _commit(history, factor)
        for revision in (factor.levels[-1], factor.levels[0]):
            _git(history, "checkout", "--quiet", revision)
            subprocess.run(
                ["sh", "-c", _test(folder)], cwd=history, env=_environment(), check=False, capture_output=True
            )
        revision, probability = search(history, _test(folder))
        bench.launches.extend(launched(ledger))
    if len(bench.launches) > bench.budget:
        raise SpentError
    if not revision:
        return Answer(status="undecided")
    return Answer(({factor.name: frozenset({revision})},), probability=probability)


def _test(folder: Path) -> str:
    """The command that tests the revision that is checked out."""
    command = f"exec '{sys.executable}' -m benchmarks.planted.serve --bisect --scenario '{folder}/scenario.json'"
    return f"{command} --ledger '{folder}/ledger.jsonl' --revision \"$(cat revision)\" >/dev/null 2>&1"


def _bisect(history: Path, test: str) -> tuple[str, float | None]:
    """The oldest revision that was seen to fail, where all between it and a good one were skipped or there are none."""
    _git(history, "bisect", "start", "newest", "oldest")
    told = _git(history, "bisect", "run", "sh", "-c", test)
    if not re.search(r"is the first bad commit|first bad commit could be any of", told):
        return "", None
    return _git(history, "show", "refs/bisect/bad:revision").strip(), None


def _bayesect(history: Path, test: str) -> tuple[str, float | None]:
    tool = [sys.executable, "-m", "git_bayesect"]
    _git(history, "checkout", "--quiet", "newest")
    _run([*tool, "start", "--old", "oldest", "--new", "newest"], history)
    told = _run([*tool, "run", "sh", "-c", test], history)
    found = re.search(r"converged to (\w+) \(([\d.]+)%\)", told)
    if found is None:
        return "", None
    return _git(history, "show", f"{found[1]}:revision").strip(), float(found[2]) / 100


# -- git -----------------------------------------------------------------------------------------------------------


def _commit(folder: Path, factor: Factor) -> None:
    """A repository with a tagged commit per revision, oldest first."""
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch=main")
    words = []
    for number, revision in enumerate(factor.levels):
        message, when = f"revision {revision}", 1700000000 + number
        words += [
            f"commit refs/heads/main\nmark :{number + 1}\ncommitter planted <planted@localhost> {when} +0000",
            f"data {len(message)}\n{message}",
            f"M 100644 inline revision\ndata {len(revision)}\n{revision}\n",
        ]
    words += [f"reset refs/tags/{revision}\nfrom :{number + 1}\n" for number, revision in enumerate(factor.levels)]
    words += [f"reset refs/tags/oldest\nfrom :1\n\nreset refs/tags/newest\nfrom :{len(factor.levels)}\n"]
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=folder, input="\n".join(words), text=True, check=True, env=_environment()
    )
    _git(folder, "checkout", "--quiet", "main")


def _git(folder: Path, *words: str) -> str:
    return _run(["git", *words], folder)


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, env=_environment(), check=False, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout + done.stderr


def _environment() -> dict[str, str]:
    """No configuration of the person who runs it; the deployment can be imported."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(ROOT)}
    return {**os.environ, **nobody}
