"""A crash of ours before or after any word in the journal: resumed, the verdict is the same, and no trial is repeated.

The trials are made by a fake runner without processes, so that every single moment can be tried.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ruleout.investigation import session
from ruleout.investigation.casefile import parse_case
from ruleout.investigation.folder import Folder
from ruleout.investigation.listener import Silent
from ruleout.investigation.session import current_verdict, read_journal
from ruleout.model import Budget, Case, Verdict, VerdictStatus
from ruleout.runners.base import Event, read_events
from ruleout.store import Store

TEXT = """\
name: fake
engine: command
command: [fake-engine]
mode: job
factors:
  batching: {flag: --batching, levels: ["on", "off"], baseline: "on"}
  dtype: {flag: --dtype, levels: [f32, bf16], baseline: f32}
  seed: {flag: --seed, levels: [absent, "7"], baseline: absent}
"""


class Killed(BaseException):
    """Stands for kill -9: nothing that could catch it is left."""


class FakeRunner:
    """Fails where batching is on; counts the launches of each trial; `dies` in its own launch of that number."""

    def __init__(self, dies: int = 0, interrupted: bool = False) -> None:
        self.launches: Counter[str] = Counter()
        self.dies, self.interrupted = dies, interrupted

    def run(self, trial: Mapping[str, Any], on_event: Callable[[Event], None]) -> list[Event]:
        self.launches[trial["token"]] += 1
        spool = Path(trial["spool"])
        dies = sum(self.launches.values()) == self.dies
        if dies and not self.interrupted:
            raise Killed
        fails = "on" in trial["argv"]
        (spool / "server.log").write_text("RULEOUT_COST_MINUTES=1.0\n" + "RuntimeError: boom\n" * fails)
        events = [
            {"kind": "agent", "seq": 1, "mono": 0.0, "pid": 1},
            {"kind": "exit", "seq": 2, "mono": 1.0, "code": int(fails), "signal": None},
            {"kind": "end", "seq": 3, "mono": 2.0, "reason": "done", "detail": ""},
        ]
        (spool / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        if dies:
            raise KeyboardInterrupt  # the trial ended while the Ctrl-C was under way
        return [*events]

    def interrupt(self) -> None:
        """Nothing runs in another thread."""

    def recover(self, spool: Path) -> list[Event]:
        return read_events(spool / "events.jsonl") or [{"kind": "end", "seq": 1, "reason": "reaped", "detail": "died"}]


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    return parse_case(TEXT)


def investigate(case: Case, folder: Folder, runner: FakeRunner, resume: bool = False) -> Verdict:
    return session.investigate(case, TEXT, folder, runner, Silent(), resume=resume, budget=Budget())


def story(verdict: Verdict) -> list[tuple[dict[str, str], str]]:
    return [(dict(t.configuration), t.outcome.kind if t.outcome else "") for t in verdict.trials]


def appends(monkeypatch: pytest.MonkeyPatch, at: int, after: bool) -> list[str]:
    """Dies at the append of that number, before or after it was made; the kinds that were appended."""
    seen: list[str] = []
    original = Store.append

    def append(store: Store, kind: str, trial: int | None = None, body: dict[str, Any] | None = None) -> None:
        seen.append(kind)
        if len(seen) == at and not after:
            raise Killed
        original(store, kind, trial, body)
        if len(seen) == at:
            raise Killed

    monkeypatch.setattr(Store, "append", append)
    return seen


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_word_of_the_journal_changes_nothing(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    whole = investigate(case, Folder(tmp_path / "whole"), FakeRunner())
    assert whole.status is VerdictStatus.ISOLATED
    at, finished = 0, False
    while not finished:
        at += 1
        folder, runner = Folder(tmp_path / f"crash-{at}"), FakeRunner()
        with monkeypatch.context() as patched:
            kinds = appends(patched, at, after)
            try:
                investigate(case, folder, runner)
                finished = True
            except Killed:
                assert len(kinds) == at
        verdict = investigate(case, folder, runner, resume=True)
        assert story(verdict) == story(whole), f"{kinds[-1]}, number {at}"
        assert verdict.causes == whole.causes
        assert verdict.probability == whole.probability
        assert set(runner.launches.values()) == {1}
        assert sum(runner.launches.values()) == len(verdict.trials), f"{kinds[-1]}, number {at}"
    assert at > 3 * len(whole.trials)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_crash_during_a_trial_has_it_made_again(case: Case, tmp_path: Path, number: int) -> None:
    whole = investigate(case, Folder(tmp_path / "whole"), FakeRunner())
    folder, runner = Folder(tmp_path / "crash"), FakeRunner(dies=number)
    with pytest.raises(Killed):
        investigate(case, folder, runner)
    journal = read_journal(folder)
    assert list(journal.open) == [number]
    assert current_verdict(case, journal).status is VerdictStatus.INTERRUPTED
    verdict = investigate(case, folder, runner, resume=True)
    assert story(verdict) == story(whole)
    assert number not in [trial.id for trial in verdict.trials]
    assert sum(runner.launches.values()) == len(verdict.trials) + 1


@pytest.mark.parametrize("number", [1, 2, 4])
def test_ctrl_c_at_a_trial_that_has_ended_meanwhile_keeps_it(case: Case, tmp_path: Path, number: int) -> None:
    whole = investigate(case, Folder(tmp_path / "whole"), FakeRunner())
    folder, runner = Folder(tmp_path / "interrupted"), FakeRunner(dies=number, interrupted=True)
    verdict = investigate(case, folder, runner)
    assert verdict.status is VerdictStatus.INTERRUPTED
    assert [trial.id for trial in verdict.trials] == list(range(1, number + 1))
    assert read_journal(folder).open == {}
    verdict = investigate(case, folder, runner, resume=True)
    assert story(verdict) == story(whole)
    assert sum(runner.launches.values()) == len(verdict.trials)


def test_a_crash_before_the_case_was_copied_can_be_resumed(case: Case, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "crash")
    folder.create()
    Store(folder.path, writing=True).close()
    assert not folder.case.exists()
    assert investigate(case, folder, FakeRunner(), resume=True).status is VerdictStatus.ISOLATED
    assert folder.case.read_text() == TEXT
