"""An investigation is gone on with only if its trials would still be the same trials."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ruleout.investigation.folder import Folder, write_whole
from ruleout.investigation.journal import Journal
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case, unchanged
from ruleout.model import (
    Budget,
    Case,
    Configuration,
    Cost,
    Factor,
    Goal,
    Mechanism,
    MissingError,
    Mode,
    Outcome,
    OutcomeKind,
    Probe,
    Stage,
    Target,
    UsageError,
    VerdictStatus,
)
from ruleout.model.vocabulary import FailureClass
from ruleout.store import Store

KV = Factor("kv", Mechanism.FLAG, "--kv", ("auto", "bf16", "fp8"), "auto")
TF = Factor("tf", Mechanism.PYTHON, "", ("5", "4"), "5", {"5": "/five", "4": "/four"})
CASE = Case("n", "command", ("run",), (KV, TF))


@pytest.mark.parametrize(
    "now",
    [
        replace(CASE, factors=(KV, TF, Factor("more", Mechanism.ENV, "M", ("unset", "1"), "unset"))),
        replace(CASE, factors=(TF, KV)),
        replace(CASE, factors=(replace(KV, levels=("auto", "bf16", "fp8", "int8")), TF)),
        replace(CASE, factors=(replace(KV, levels=("fp8", "bf16", "auto")), TF)),
        replace(CASE, budget=Budget(10, 3.0, 4), cost=Cost(3.0), goal=Goal.WORKAROUND),
        replace(CASE, good=(Configuration(kv="bf16"),), never=(Configuration(kv="fp8"),), keep=Configuration(tf="5")),
    ],
    ids=["a factor more", "another order", "a level more", "levels in another order", "budget and goal", "wishes"],
)
def test_what_changes_no_trial_may_be_changed(now: Case) -> None:
    assert unchanged(CASE, now) is now


@pytest.mark.parametrize(
    ("now", "what"),
    [
        (replace(CASE, command=("run", "-x")), "command is not what the trials so far were made with"),
        (replace(CASE, engine="transformers"), "engine is not"),
        (replace(CASE, env={"A": "1"}), "env is not"),
        (replace(CASE, mode=Mode.JOB), "mode is not"),
        (replace(CASE, probes=(Probe(repeat=9),)), "probes is not"),
        (replace(CASE, target=Target(FailureClass.OOM)), "target is not"),
        (replace(CASE, factors=(KV,)), "factor tf is gone"),
        (replace(CASE, factors=(replace(KV, levels=("auto", "bf16")), TF)), "factor kv has lost its level fp8"),
        (replace(CASE, factors=(replace(KV, baseline="bf16"), TF)), "factor kv was changed"),
        (replace(CASE, factors=(replace(KV, target="--kv-dtype"), TF)), "factor kv was changed"),
        (replace(CASE, factors=(KV, replace(TF, values={"5": "/six", "4": "/four"}))), "factor tf was changed"),
    ],
)
def test_what_makes_other_trials_is_refused(now: Case, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        unchanged(CASE, now)


# -- the folder ----------------------------------------------------------------------------------------------------


def begun(home: Path, name: str) -> Folder:
    """An investigation that has just been begun."""
    folder = Folder.of(replace(CASE, name=name), home / name)
    folder.create()
    with Store(folder.path, writing=True):
        return folder


def test_an_investigation_lives_in_a_folder_of_its_name(tmp_path: Path) -> None:
    folder = begun(tmp_path, "n")
    assert folder.path == tmp_path / "n"
    assert folder.exists
    assert folder.trial(7) == tmp_path / "n" / "trials" / "0007"
    assert folder.log(7) == "trials/0007/server.log"


def test_without_a_home_it_lives_below_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Folder.of(CASE, None).path == tmp_path / "ruleout" / "n"


def test_a_folder_that_exists_is_not_begun_again(tmp_path: Path) -> None:
    folder = begun(tmp_path, "n")
    with pytest.raises(UsageError, match="exists already"):
        folder.create()


@pytest.mark.parametrize("kind", ["file", "folder with something in it"])
def test_what_is_somebody_else_s_is_not_taken(tmp_path: Path, kind: str) -> None:
    if kind == "file":
        (tmp_path / "n").write_text("mine")
    else:
        (tmp_path / "n").mkdir()
        (tmp_path / "n" / "mine").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        Folder.of(CASE, tmp_path / "n").create()


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "n").mkdir()
    Folder.of(CASE, tmp_path / "n").create()


def test_where_no_folder_can_be_made_something_is_missing(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(MissingError, match=r"Not a directory|File exists"):
        Folder.of(CASE, tmp_path / "home" / "n").create()


def test_a_folder_set_aside_takes_the_next_free_name(tmp_path: Path) -> None:
    asides = []
    for _ in range(2):
        asides.append(begun(tmp_path, "n").set_aside())
    assert asides == [tmp_path / "n.previous-1", tmp_path / "n.previous-2"]
    assert Folder.of(CASE, tmp_path / "n").set_aside() is None


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "case.yaml"
    write_whole(path, "first")
    write_whole(path, "second")
    assert path.read_text() == "second"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").write_text("")
    with pytest.raises(MissingError):
        write_whole(tmp_path / "taken", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_link_stays_a_link_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "it")
    for text in ("first", "second"):
        write_whole(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "elsewhere" / "it").read_text() == text


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


# -- finding one ---------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where investigations live if nothing else is said."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ruleout"


def test_an_investigation_is_found_by_its_name_its_folder_and_its_case(tmp_path: Path, home: Path) -> None:
    folder = begun(home, "n")
    case = tmp_path / "mine.yaml"
    case.write_text("name: n\ncommand: [run]\n")
    for name in ("n", str(folder.path), str(case)):
        assert find(name, None) == folder
    assert find(None, folder.path) == folder


def test_without_a_name_the_last_one_worked_on_is_found(home: Path) -> None:
    old, new = begun(home, "old"), begun(home, "new")
    os.utime(old.path / "ruleout.db", (1, 1))
    assert find(None, None) == new
    os.utime(new.path / "ruleout.db", (0, 0))
    assert find(None, None) == old


@pytest.mark.parametrize("name", [None, "n"])
def test_where_there_is_none_that_is_said(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(UsageError, match="no investigation"):
        find(name, tmp_path)


def test_a_case_file_that_is_not_right_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"name: \xff")
    with pytest.raises(UsageError, match=r"bad\.yaml, line 1: not UTF-8"):
        find(str(tmp_path / "bad.yaml"), None)


def test_a_copy_of_the_case_that_is_gone_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"case\.yaml: gone or not readable"):
        stored_case(begun(tmp_path, "n"))


def test_a_journal_can_be_read_of_what_is_there_only(tmp_path: Path) -> None:
    assert read_journal(begun(tmp_path, "n")).trials == ()
    with pytest.raises(UsageError, match="no investigation here"):
        read_journal(Folder(tmp_path / "none"))


def test_before_the_baseline_has_failed_the_verdict_is_that_it_has_not(tmp_path: Path) -> None:
    folder = begun(tmp_path, "n")
    with Store(folder.path, writing=True) as store:
        journal = Journal.read(store)
        journal.planned(1, CASE.baseline, "the baseline", "t")
        journal.finished(1, Outcome(OutcomeKind.CLEAN, Stage.DECODE, ""), 1.0, "")
    verdict = current_verdict(CASE, read_journal(folder))
    assert verdict.status is VerdictStatus.INTERRUPTED
    assert (verdict.probability, verdict.causes) == (0.0, ())
    assert [t.id for t in verdict.trials] == [1]
