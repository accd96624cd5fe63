"""A person overrules a reading; what was read stays on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.investigation.folder import Folder
from ruleout.investigation.journal import Journal
from ruleout.investigation.marking import mark
from ruleout.investigation.session import read_journal
from ruleout.model import (
    Configuration,
    Exposure,
    Failure,
    FailureClass,
    Outcome,
    OutcomeKind,
    Stage,
    UsageError,
)
from ruleout.store import Store

FAILURE = Failure(FailureClass.OOM, Exposure(Stage.DECODE, 1), "out of memory", "abc")
REPRODUCED = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "the failure to explain", FAILURE)
CLEAN = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "every probe passed")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An investigation with a failing baseline and a clean trial."""
    folder = Folder(tmp_path / "case")
    folder.create()
    with Store(folder.path, writing=True) as store:
        journal = Journal.read(store)
        for level, outcome in (("1", REPRODUCED), ("2", CLEAN)):
            number = journal.next_number
            journal.planned(number, Configuration(a=level), "", f"token{number}")
            journal.finished(number, outcome, 1.0, "")
    return folder


def test_a_clean_trial_that_a_person_saw_failing_has_the_targets_failure(folder: Folder) -> None:
    mark(folder, 2, OutcomeKind.REPRODUCED, "the text was\ngarbled")
    trial = read_journal(folder).trials[1]
    assert trial.outcome is not None
    assert trial.outcome.kind is OutcomeKind.REPRODUCED
    assert trial.outcome.failure == FAILURE
    assert trial.outcome.reason == "marked reproduced by a person, was clean: the text was garbled"


def test_the_first_trial_that_still_shows_it_gives_the_target(folder: Folder) -> None:
    mark(folder, 2, OutcomeKind.REPRODUCED)
    mark(folder, 1, OutcomeKind.OTHER)
    assert read_journal(folder).target == FAILURE
    mark(folder, 2, OutcomeKind.CLEAN)
    assert read_journal(folder).target is None


def test_what_was_read_stays_on_record(folder: Folder) -> None:
    mark(folder, 1, OutcomeKind.CLEAN)
    with Store(folder.path, writing=False) as store:
        kinds = [event.kind for event in store.events()]
        read = next(event.body for event in store.events() if event.kind == "finished")
    assert kinds.count("marked") == 1
    assert read["outcome"]["kind"] == "reproduced"


def test_a_trial_that_does_not_exist_is_named_with_those_that_do(folder: Folder) -> None:
    with pytest.raises(UsageError, match="no trial 7") as problem:
        mark(folder, 7, OutcomeKind.CLEAN)
    assert "1, 2" in problem.value.remedy


def test_without_any_failure_seen_nothing_can_be_marked_as_it(folder: Folder) -> None:
    mark(folder, 1, OutcomeKind.CLEAN)
    with pytest.raises(UsageError, match="no trial has shown the failure"):
        mark(folder, 2, OutcomeKind.REPRODUCED)
