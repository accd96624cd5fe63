"""What a dead engine leaves in /dev/shm and among temporary files goes with it, and nothing that is another's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.agent.conftest import Trial

from ruleout.runners.local import LocalRunner

HOLD = """
import mmap, os, socket, sys, tempfile, time
path = sys.argv[1]
with open(path, "wb") as file:
    file.truncate(4096)
file = open(path, "r+b")
held = mmap.mmap(file.fileno(), 4096)
file.close()
socket.socket(socket.AF_UNIX).bind(os.path.join(tempfile.gettempdir(), "a-socket"))
print(tempfile.gettempdir(), flush=True)
time.sleep(float(sys.argv[2]))
"""


def holding(trial: Trial, seconds: float, **changes: object) -> tuple[Path, dict[str, object]]:
    """A job that maps a file in /dev/shm for some time, and does not remove it."""
    path = Path(f"/dev/shm/{trial.token}_held")
    return path, trial.document([*trial.script("hold.py", HOLD), str(path), str(seconds)], **changes)


def told(trial: Trial, left: Mapping[str, Any], what: str) -> list[str]:
    """The files of this test alone: engines that others run on this machine leave some, too."""
    return [path for path in left[what] if trial.token in path]


def folder_for_temporary_files(trial: Trial) -> Path:
    return Path((trial.spool / "server.log").read_text().split()[0])


def test_shared_memory_that_the_trial_held_is_removed_with_it(trial: Trial) -> None:
    path, document = holding(trial, 1.0)
    events = trial.run(document)
    left = trial.the(events, "left_over")
    assert (told(trial, left, "shm_removed"), told(trial, left, "shm")) == ([str(path)], [])
    assert not path.exists()


def test_shared_memory_of_others_stays_even_if_it_came_meanwhile(trial: Trial) -> None:
    other = Path(f"/dev/shm/{trial.token}_other")
    try:
        _, document = holding(trial, 30.0)
        agent = trial.launch(document)
        trial.wait_for("shm")
        other.write_text("of a process that was never seen")
        assert agent.stdin is not None
        agent.stdin.close()
        assert told(trial, trial.wait_for("left_over"), "shm") == [str(other)]
        assert other.exists()
    finally:
        other.unlink(missing_ok=True)


def test_shared_memory_that_another_process_still_maps_stays(trial: Trial) -> None:
    path, document = holding(trial, 1.5)
    agent = trial.launch(document)
    try:
        trial.wait_for("shm")
        keeps = (
            "import mmap, sys, time; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); f.close(); print(1)"
        )
        with subprocess.Popen(
            [sys.executable, "-c", f"{keeps}; time.sleep(60)", str(path)], stdout=subprocess.PIPE
        ) as another:
            assert another.stdout is not None
            another.stdout.readline()
            left = trial.wait_for("left_over")
            another.kill()
        assert (told(trial, left, "shm_removed"), told(trial, left, "shm")) == ([], [])
        assert path.exists()
    finally:
        path.unlink(missing_ok=True)
        agent.wait(10)


def test_temporary_files_and_sockets_go_with_the_trial(trial: Trial) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        _, document = holding(trial, 1.0, env={"set": {"TMPDIR": short}})
        trial.run(document)
        made = folder_for_temporary_files(trial)
        assert made == Path(short, f"ruleout-{trial.token[:16]}")
        assert not made.exists()


def test_a_folder_whose_name_is_too_long_for_sockets_is_left_as_it_is(trial: Trial, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()
    events = trial.run(trial.document(["sh", "-c", "echo $TMPDIR"], env={"set": {"TMPDIR": str(long)}}))
    assert folder_for_temporary_files(trial) == long
    assert trial.of_kind(events, "tmp") == []


def test_what_torch_keeps_between_starts_is_kept(trial: Trial) -> None:
    says = ["sh", "-c", "echo $TORCHINDUCTOR_CACHE_DIR"]
    trial.run(trial.document(says, env={"unset": ["TMPDIR"], "set": {}}))
    assert folder_for_temporary_files(trial).parent == Path("/tmp")
    trial.run(
        trial.document(["sh", "-c", "echo $TORCHINDUCTOR_CACHE_DIR"], env={"set": {"TORCHINDUCTOR_CACHE_DIR": "/a"}})
    )
    assert (trial.spool / "server.log").read_text().split()[-1] == "/a"


def test_all_of_it_is_removed_after_the_agents_own_death(trial: Trial) -> None:
    path, document = holding(trial, 60.0)
    agent = trial.launch(document)
    trial.wait_for("shm")
    made = folder_for_temporary_files(trial)
    assert made.is_dir()
    agent.kill()
    agent.wait()
    events = LocalRunner().recover(trial.spool)
    assert trial.the(events, "left_over")["shm_removed"] == [str(path)]
    assert not path.exists()
    assert not made.exists()


@pytest.mark.parametrize("name", ["elsewhere", "ruleout-0123456789abcdef"])
def test_a_folder_of_anothers_is_not_removed_whatever_a_record_says(trial: Trial, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "kept").touch()
    trial.document(["true"])
    (trial.spool / "events.jsonl").write_text(f'{{"kind": "tmp", "seq": 1, "path": "{folder}"}}\n')
    LocalRunner().recover(trial.spool)
    assert (folder / "kept").exists()
    assert os.listdir(folder) == ["kept"]
