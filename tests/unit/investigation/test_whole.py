"""A file or a folder is there as a whole or not at all, with all that was made for it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

import pytest

from ruleout.investigation.whole import beside_of, parents, whole_file, whole_folder
from ruleout.model import UsageError


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def fill(to: Path, problem: type[BaseException] | None = None) -> None:
    """Make something in two steps, with that problem after the first."""
    if to.suffix:
        with whole_file(to) as stream:
            stream.write(b"one ")
            assert not to.exists()
            if problem:
                raise problem
            stream.write(b"two")
        return
    with whole_folder(to) as folder:
        (folder / "one").mkdir()
        assert not to.exists()
        if problem:
            raise problem
        (folder / "one" / "two").write_bytes(b"two")


KINDS = pytest.mark.parametrize("name", ["file.zip", "folder"])


@KINDS
def test_it_is_there_once_it_is_whole(tmp_path: Path, name: str) -> None:
    fill(tmp_path / "new" / name)
    made = {"file.zip": ["file.zip"], "folder": ["folder", "folder/one", "folder/one/two"]}
    assert below(tmp_path / "new") == made[name]


@KINDS
@pytest.mark.parametrize("problem", [OSError, KeyboardInterrupt, ValueError])
def test_nothing_is_left_of_half_of_it_but_what_was_there(
    tmp_path: Path, name: str, problem: type[BaseException]
) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(problem):
        fill(tmp_path / "mine" / "a" / "b" / name, problem)
    assert below(tmp_path) == ["mine"]


@KINDS
def test_what_a_killed_one_left_is_taken_over(tmp_path: Path, name: str) -> None:
    part = beside_of(tmp_path / name)
    if name == "folder":
        (part / "old").mkdir(parents=True)
        (part / "link").symlink_to("/nowhere")
    else:
        part.write_bytes(b"much more than what comes now")
    fill(tmp_path / name)
    assert below(tmp_path) == (["folder", "folder/one", "folder/one/two"] if name == "folder" else ["file.zip"])
    assert name == "folder" or (tmp_path / name).read_bytes() == b"one two"


@KINDS
def test_what_another_one_makes_is_left_to_it(tmp_path: Path, name: str) -> None:
    part = beside_of(tmp_path / name)
    part.mkdir() if name == "folder" else part.touch()
    held = os.open(part, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another ruleout is about to make it"):
            fill(tmp_path / name)
    finally:
        os.close(held)
    assert below(tmp_path) == [part.name]


def test_a_link_in_its_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    beside_of(tmp_path / "file.zip").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic link"):
        fill(tmp_path / "file.zip")
    assert (tmp_path / "mine").read_text() == "mine"


def test_folders_that_hold_something_by_then_are_kept(tmp_path: Path) -> None:
    with contextlib.suppress(ValueError), parents(tmp_path / "a" / "b" / "c"):
        (tmp_path / "a" / "kept").touch()
        raise ValueError
    assert below(tmp_path) == ["a", "a/kept"]


def test_nothing_is_left_of_a_folder_that_was_interrupted_before_it_was_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "ruleout" / "glm"):
        pytest.fail("it was interrupted before")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
