"""An export or an import that is cut off at any moment leaves nothing, or all of it; never a half that looks whole."""

from __future__ import annotations

import random
import signal
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.conftest import Done, Running, Workshop, eventually
from tests.support.investigations import FAILING, HEALTHY, stored

BUSY = "INFO: request of user number 12345 took 0.33 seconds\n" * 12_000
"""Makes a log of a megabyte, so that there are moments in between."""


def files(folder: Path) -> Mapping[str, tuple[int, int]]:
    """All files below a folder, each with when it was changed and how long it is."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


@dataclass(frozen=True)
class Sharing:
    """A verb with the folder that it makes something in."""

    workshop: Workshop
    words: tuple[str | Path, ...]
    into: Path
    made: Path
    """What is there in the end."""
    files: int

    def start(self) -> Running:
        return self.workshop.start(*self.words, cwd=self.into)

    def begun(self, running: Running) -> bool:
        """It has ended, or it is writing."""
        return running.process.poll() is not None or any(self.into.rglob("*.part"))

    def whole(self) -> bool:
        """All of it is there, or nothing."""
        if not self.made.exists():
            return False
        if self.made.is_file():
            assert zipfile.ZipFile(self.made).testzip() is None
        assert len(files(self.into)) == self.files
        return True


@pytest.fixture(params=["export", "import"])
def sharing(request: pytest.FixtureRequest, workshop: Workshop) -> Sharing:
    folder = stored(workshop.cwd, failing=FAILING + BUSY, healthy=HEALTHY + BUSY).path
    into = workshop.folder / "into"
    into.mkdir()
    if request.param == "export":
        return Sharing(workshop, ("export", "--dir", folder, "-o", "new/a.zip"), into, into / "new" / "a.zip", 1)
    archive = workshop.folder / "a.zip"
    assert workshop.run("export", "-o", archive).status == 0
    with zipfile.ZipFile(archive) as packed:
        made, left = ("ruleout.db", "lock", "FINDINGS.md", "report.html"), ("export.json", "events.jsonl")
        count = len(packed.namelist()) - len(left) + len(made)
    return Sharing(workshop, ("import", archive), into, into / "ruleout" / folder.name, count)


def after(sharing: Sharing, done: Done) -> None:
    """It was told in two lines, and nothing is left; or it was done before."""
    if done.status == 0:
        assert sharing.whole()
        return
    assert done.status == 130, done
    if sharing.whole():
        return  # it was only being told
    done.told(130, "interrupted")
    assert list(sharing.into.iterdir()) == []


MOMENTS = (0.0, 0.3, 0.8)


@pytest.mark.parametrize("seconds", MOMENTS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_interrupted_at_any_moment_nothing_is_left_of_it(
    sharing: Sharing, number: signal.Signals, seconds: float
) -> None:
    before = files(sharing.workshop.cwd)
    running = sharing.start()
    eventually(lambda: sharing.begun(running), 30, "it writes")
    time.sleep(seconds)  # what is tested is any moment
    running.process.send_signal(number)
    after(sharing, running.end(30))
    assert files(sharing.workshop.cwd) == before


def test_impatience_leaves_nothing_either(sharing: Sharing) -> None:
    running = sharing.start()
    eventually(lambda: sharing.begun(running), 30, "it writes")
    moments = random.Random(5)
    while running.process.poll() is None:
        running.process.send_signal(moments.choice([signal.SIGINT, signal.SIGTERM]))
        time.sleep(moments.uniform(0, 0.01))  # what is tested is how fast they come
    after(sharing, running.end(30))


@pytest.mark.parametrize("seconds", MOMENTS)
def test_what_a_killed_one_left_is_taken_for_nothing_and_in_nobodys_way(sharing: Sharing, seconds: float) -> None:
    before = files(sharing.workshop.cwd)
    running = sharing.start()
    eventually(lambda: sharing.begun(running), 30, "it writes")
    time.sleep(seconds)  # what is tested is any moment
    running.kill()
    assert files(sharing.workshop.cwd) == before
    if not sharing.whole():
        assert sharing.workshop.run("status", cwd=sharing.into).status == 2
        assert sharing.start().end().status == 0
        assert sharing.whole()


def test_two_at_once_make_one_and_the_other_says_so(sharing: Sharing) -> None:
    first = sharing.start()
    eventually(lambda: sharing.begun(first), 30, "it writes")
    first.process.send_signal(signal.SIGSTOP)
    second = sharing.start().end()
    first.process.send_signal(signal.SIGCONT)
    second.told(2, "another ruleout is about to make it")
    assert first.end().status == 0
    assert sharing.whole()


def test_a_reader_that_has_gone_changes_nothing(sharing: Sharing) -> None:
    verb, *rest = map(str, sharing.words)
    script = f"cd {sharing.into} && $RULEOUT {verb} {' '.join(rest)} | true; exit ${{PIPESTATUS[0]}}"
    done = sharing.workshop.start_shell(script).end()
    assert done.status == 0, done.err
    assert "Traceback" not in done.err
    assert sharing.whole()


def test_whoever_started_it_with_hang_ups_ignored_has_them_ignored(sharing: Sharing) -> None:
    verb, *rest = map(str, sharing.words)
    script = f"cd {sharing.into} && trap '' HUP && exec $RULEOUT {verb} {' '.join(rest)}"
    running = sharing.workshop.start_shell(script)
    eventually(lambda: sharing.begun(running), 30, "it writes")
    running.process.send_signal(signal.SIGHUP)
    assert running.end().status == 0
    assert sharing.whole()
