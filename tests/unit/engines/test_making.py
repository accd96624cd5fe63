"""What is made once, and what becomes of it when the making is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ruleout.engines.making import cache_folder, make_once, run_logged
from ruleout.model import MissingError


def test_the_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("RULEOUT_CACHE_DIR")
    assert cache_folder().name == "ruleout"


class Maker:
    """Makes a folder with one file, and counts how often."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.times = folder, 0

    def __call__(self, lock: int) -> None:
        self.times += 1
        self.folder.mkdir()
        (self.folder / "file").write_text("made")


def test_it_is_made_once(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "a" / "b")
    make_once(maker.folder, "1", maker)
    make_once(maker.folder, "1", maker)
    assert maker.times == 1


def test_another_recipe_makes_it_anew_without_what_was_there(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "b")
    make_once(maker.folder, "1", maker)
    (maker.folder / "old").touch()
    make_once(maker.folder, "2", maker)
    assert maker.times == 2
    assert not (maker.folder / "old").exists()


def test_what_was_left_half_made_is_made_anew(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "b")
    maker.folder.mkdir()
    (maker.folder / "half").touch()
    told: list[str] = []
    make_once(maker.folder, "1", maker, told.append)
    assert not (maker.folder / "half").exists()
    assert told == ["removing an unfinished or outdated b"]


def test_what_can_no_longer_be_used_is_made_anew(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "b")
    make_once(maker.folder, "1", maker)
    (maker.folder / "file").unlink()
    make_once(maker.folder, "1", maker, intact=(maker.folder / "file").exists)
    assert maker.times == 2


def test_a_making_that_fails_is_not_taken_for_whole(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "b")

    def interrupted(lock: int) -> None:
        maker(lock)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_once(maker.folder, "1", interrupted)
    make_once(maker.folder, "1", maker)
    assert maker.times == 2


def test_two_at_once_make_it_once_and_the_second_says_that_it_waits(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "b")
    entered, told = threading.Event(), list[str]()

    def slow(lock: int) -> None:
        entered.set()
        while not told:
            time.sleep(0.01)
        maker(lock)

    first = threading.Thread(target=make_once, args=(maker.folder, "1", slow))
    first.start()
    entered.wait()
    make_once(maker.folder, "1", maker, told.append)
    first.join()
    assert maker.times == 1
    assert told == ["waiting: another process is making b"]


def test_a_folder_that_cannot_be_written_is_told_in_two_lines(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    maker = Maker(tmp_path / "file" / "b")
    with pytest.raises(MissingError) as error:
        make_once(maker.folder, "1", maker)
    assert str(maker.folder) in error.value.what
    assert "RULEOUT_CACHE_DIR" in error.value.remedy


def lock_of(tmp_path: Path) -> int:
    return os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)


def test_output_goes_to_the_log_and_line_by_line_to_whoever_asks(tmp_path: Path) -> None:
    lines: list[str] = []
    code = "import sys; print('one', flush=True); print('two', file=sys.stderr); sys.exit(3)"
    status = run_logged(
        [sys.executable, "-c", code], tmp_path / "log", lock=lock_of(tmp_path), env=os.environ, line=lines.append
    )
    assert status == 3
    assert lines == ["one", "two"]
    assert (tmp_path / "log").read_text().splitlines()[1:] == ["one", "two"]


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="cannot run /no/such/python"):
        run_logged(["/no/such/python"], tmp_path / "log", lock=lock_of(tmp_path), env={})


def test_the_program_and_its_children_are_stopped_when_we_are(tmp_path: Path) -> None:
    code = "import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)"
    pids: list[int] = []

    def interrupt(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_logged(
            [sys.executable, "-c", code], tmp_path / "log", lock=lock_of(tmp_path), env=os.environ, line=interrupt
        )
    assert wait_until(lambda: not alive(pids[0]))


def test_a_program_stops_when_we_are_killed(tmp_path: Path) -> None:
    ours = subprocess.Popen([sys.executable, "-c", making(tmp_path, ["sleep", "60"])])
    assert wait_until(lambda: (tmp_path / "log").exists() and bool(children(ours.pid)))
    (sleeper,) = children(ours.pid)
    ours.kill()
    ours.wait()
    assert wait_until(lambda: not Path(f"/proc/{sleeper}/cmdline").exists() or is_zombie(sleeper))


def test_a_program_stops_also_when_we_were_killed_before_it_could_ask_for_that() -> None:
    code = "from ruleout.engines.making import _die_with; _die_with(-1); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")


def test_a_program_that_outlives_us_all_the_same_keeps_others_out(tmp_path: Path) -> None:
    stubborn = [
        sys.executable,
        "-c",
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(60)",
    ]
    ours = subprocess.Popen([sys.executable, "-c", making(tmp_path, stubborn)])
    assert wait_until(lambda: (tmp_path / "log").exists() and "\n1" in (tmp_path / "log").read_text())
    (sleeper,) = children(ours.pid)
    ours.kill()
    ours.wait()
    maker, told = Maker(tmp_path / "b"), list[str]()
    waiting = threading.Thread(target=make_once, args=(maker.folder, "1", maker, told.append))
    waiting.start()
    assert wait_until(lambda: bool(told))
    assert maker.times == 0
    os.kill(sleeper, signal.SIGKILL)
    waiting.join(5)
    assert maker.times == 1


def making(folder: Path, program: list[str]) -> str:
    """A ruleout that makes something by a program."""
    return f"""
import os, pathlib
from ruleout.engines.making import make_once, run_logged
def make(lock):
    run_logged({program!r}, pathlib.Path({str(folder / "log")!r}), lock=lock, env=os.environ)
make_once(pathlib.Path({str(folder / "b")!r}), "1", make)
"""


def is_zombie(pid: int) -> bool:
    """It is dead, and nobody has asked how it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition: object, seconds: float = 5.0) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
