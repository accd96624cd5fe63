"""Things that take minutes to make are made once, by one process, and count as made only when a stamp says so.

The stamp is written last, so whatever interrupts the making leaves something that is made anew. The lock is also held
by the programs that do the work: if ruleout is killed and they live on, the next ruleout waits for them.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import platformdirs

from ruleout.model import MissingError

Progress = Callable[[str], None]
"""Told in a few words what is going on."""

_STAMP = "ruleout-made"
_GRACE = 5.0
_PR_SET_PDEATHSIG = 1


def silent(_: str) -> None:
    """A progress that nobody sees."""


def cache_folder() -> Path:
    """Where ruleout keeps what it can make again: RULEOUT_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("RULEOUT_CACHE_DIR")
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("ruleout"))


def is_made(folder: Path, digest: str) -> bool:
    """Whether the folder is there as made from the recipe with this digest."""
    try:
        return (folder / _STAMP).read_text() == digest
    except OSError:
        return False


def make_once(
    folder: Path,
    digest: str,
    make: Callable[[int], None],
    progress: Progress = silent,
    intact: Callable[[], bool] = lambda: True,
) -> None:
    """Sees to it that a folder is there as made from the recipe with this digest.

    Args:
        folder: made anew, after removing what is there, unless its stamp bears the digest.
        make: fills the folder; it is given the descriptor of the lock, to be passed on to programs it starts.
        intact: whether what was made can still be used.

    Raises MissingError when the folder cannot be written.
    """

    def done() -> bool:
        return is_made(folder, digest) and intact()

    if done():
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.with_name(f"{folder.name}.lock"), progress) as lock:
            if done():
                return
            if folder.exists():
                progress(f"removing an unfinished or outdated {folder.name}")
                shutil.rmtree(folder)
            make(lock)
            stamp = folder / f"{_STAMP}.part"
            stamp.write_text(digest)
            stamp.replace(folder / _STAMP)
    except OSError as error:
        raise MissingError(
            f"cannot write {folder}: {error.strerror or error}",
            "Make room or give write permission there, or set RULEOUT_CACHE_DIR to another folder.",
        ) from error


def _die_with(parent: int) -> None:
    """The kernel stops the program when we are killed: what it makes would be thrown away anyway."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # we were killed before that was asked for
            os.kill(os.getpid(), signal.SIGTERM)


def run_logged(
    argv: Sequence[str],
    log: Path,
    *,
    lock: int,
    env: Mapping[str, str],
    cwd: Path | None = None,
    line: Progress = silent,
) -> int:
    """Runs a program with its output appended to a log file and returns its exit status; it is stopped if we are.

    Args:
        lock: the descriptor that the program holds for as long as it lives.
        line: is given each line of the output.

    Raises MissingError when there is no such program.
    """
    with log.open("a", encoding="utf-8") as out:
        out.write(f"$ {' '.join(argv)}\n")
        out.flush()
        try:
            program = subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                pass_fds=(lock,),
                start_new_session=True,
                preexec_fn=partial(_die_with, os.getpid()),
            )
        except OSError as error:
            raise MissingError(
                f"cannot run {argv[0]}: {error.strerror or error}",
                "Reinstall that Python, or run ruleout with another.",
            ) from error
        assert program.stdout is not None
        try:
            for text in program.stdout:
                out.write(text)
                out.flush()
                line(text.strip())
            return program.wait()
        except BaseException:
            _stop(program)
            raise
        finally:
            program.stdout.close()


@contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        told = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    progress(f"waiting: another process is making {path.stem}")
                    told = True
                time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)


def _stop(program: subprocess.Popen[str]) -> None:
    """Asks, then insists; also when the leader has gone, since its children may not have."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(program.pid, number)
        with suppress(subprocess.TimeoutExpired):
            program.wait(_GRACE)
