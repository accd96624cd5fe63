"""Whatever is killed outright, and whenever: no engine is left, and the verdict is that of an uninterrupted run."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Done, Running, Workshop

SLOW = pytest.mark.slow
"""More of the same, at other moments."""
FACTORS = {"batching": ["on", "off"], "dtype": ["f32", "bf16"]}
FAILS = [{"--batching": "on"}]
CAUSE = [{"batching": ["on"]}]
CLEAN = 2
"""The trial that is the first clean one: its server has to be stopped."""
HOSTILE = ["session", "stubborn", "daemon"]


def begin(workshop: Workshop, phase: str, start: int = CLEAN, mode: str = "serve", **plan: Any) -> Running:
    """An investigation whose deployment holds in a phase of one of its starts, with children that hang on."""
    hold = {"phase": phase, "start": start, "children": plan.pop("children", HOSTILE)}
    workshop.plan(mode=mode, fails=FAILS, how="die", hold=hold, **plan)
    running = workshop.start("investigate", workshop.case(mode=mode, factors=FACTORS))
    workshop.wait_until_held()
    return running


def go_on(workshop: Workshop) -> Done:
    workshop.let_go()
    done = workshop.run("investigate", "--resume", "--json", "fake")
    assert done.status == 0, done.err
    return done


def each_finished_trial_was_started_once(workshop: Workshop, done: Done) -> None:
    for trial in done.document["trials"]:
        assert workshop.starts_of(trial["id"]) == 1
        assert (workshop.investigation() / trial["log"]).exists()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """What the same investigations come to when nobody disturbs them, by mode."""
    return {}


def as_undisturbed(workshop: Workshop, done: Done, undisturbed: dict[str, Done], mode: str = "serve") -> None:
    """The verdict is that of an uninterrupted run, which is made once."""
    assert done.causes == CAUSE
    if mode not in undisturbed:
        workshop.plan(mode=mode, fails=FAILS, how="die")
        case = workshop.case("undisturbed", mode=mode, factors=FACTORS)
        undisturbed[mode] = workshop.run("investigate", "--json", case)
    same = undisturbed[mode]
    assert done.story == same.story
    assert (done.status, done.document["status"]) == (same.status, same.document["status"])
    assert done.document["probability"] == same.document["probability"]
    confirmed = [{what: bool(trials) for what, trials in d.document["confirmed_by"].items()} for d in (done, same)]
    assert confirmed[0] == confirmed[1]


@pytest.mark.parametrize("phase", ["load", pytest.param("probe", marks=SLOW)])
def test_ruleout_killed_takes_the_engine_along_and_the_trial_is_made_again(
    workshop: Workshop, undisturbed: dict[str, Done], phase: str
) -> None:
    running = begin(workshop, phase)
    assert len(workshop.alive()) >= 1 + len(HOSTILE)
    running.kill()
    workshop.gone()
    done = go_on(workshop)
    assert 2 not in [trial["id"] for trial in done.document["trials"]]
    each_finished_trial_was_started_once(workshop, done)
    assert len(workshop.ledger) == len(done.document["trials"]) + 1
    as_undisturbed(workshop, done, undisturbed)


def test_ruleout_killed_while_the_engine_is_being_stopped_keeps_the_trial(
    workshop: Workshop, undisturbed: dict[str, Done]
) -> None:
    running = begin(workshop, "stop")
    running.kill()
    workshop.gone()
    done = go_on(workshop)
    assert CLEAN in [trial["id"] for trial in done.document["trials"]]
    each_finished_trial_was_started_once(workshop, done)
    assert len(workshop.ledger) == len(done.document["trials"])
    as_undisturbed(workshop, done, undisturbed)


def test_a_job_that_ends_soon_after_ruleout_was_killed_is_not_run_again(
    workshop: Workshop, undisturbed: dict[str, Done]
) -> None:
    running = begin(workshop, "load", mode="job", children=[])
    running.kill()
    workshop.let_go()
    workshop.gone()
    done = go_on(workshop)
    assert 2 in [trial["id"] for trial in done.document["trials"]]
    each_finished_trial_was_started_once(workshop, done)
    assert len(workshop.ledger) == len(done.document["trials"])
    as_undisturbed(workshop, done, undisturbed, "job")


@pytest.mark.parametrize("after", [1, 3, *(pytest.param(n, marks=SLOW) for n in (2, 4))])
def test_ruleout_killed_between_two_trials_goes_on_with_the_next(
    workshop: Workshop, undisturbed: dict[str, Done], after: int
) -> None:
    workshop.plan(fails=FAILS)
    running = workshop.start("investigate", workshop.case(factors=FACTORS))
    workshop.eventually(lambda: f"  #{after} " in running.err, 30, f"trial {after} is over")
    running.kill()
    workshop.gone()
    done = go_on(workshop)
    each_finished_trial_was_started_once(workshop, done)
    assert [trial["id"] for trial in done.document["trials"]][:after] == list(range(1, after + 1))
    as_undisturbed(workshop, done, undisturbed, "job")


def test_ruleout_killed_again_and_again_gets_there_in_the_end(workshop: Workshop, undisturbed: dict[str, Done]) -> None:
    workshop.plan(fails=FAILS)
    workshop.case(factors=FACTORS)
    words = ["investigate", "fake.yaml"]
    for starts in range(1, 8):
        running = workshop.start(*words)
        # As soon as one more deployment has been started; so each time something is under way, or has just ended.
        workshop.wait_for_starts(starts, running)
        running.kill()
        words = ["investigate", "--resume", "fake.yaml"]
    done = go_on(workshop)
    each_finished_trial_was_started_once(workshop, done)
    as_undisturbed(workshop, done, undisturbed, "job")


@pytest.mark.parametrize("phase", [pytest.param("load", marks=SLOW), "probe"])
def test_the_agent_killed_has_ruleout_stop_the_engine_and_go_on_by_itself(workshop: Workshop, phase: str) -> None:
    running = begin(workshop, phase)
    held = workshop.alive()
    os.kill(workshop.agent_of(2), signal.SIGKILL)
    workshop.eventually(lambda: not any(process.is_running() for process in held), 15, "the engine is gone")
    assert running.end().status == 0, running.err
    done = workshop.run("status", "--json")
    assert done.causes == CAUSE
    assert done.document["status"] == "isolated"
    (lost,) = [trial for trial in done.document["trials"] if trial["outcome"] == "unresolved"]
    assert lost["id"] == 2
    assert "agent" in lost["reason"]
    each_finished_trial_was_started_once(workshop, done)


@pytest.mark.parametrize("phase", ["load", *(pytest.param(phase, marks=SLOW) for phase in ("probe", "stop"))])
def test_both_killed_has_the_next_command_stop_the_engine(
    workshop: Workshop, undisturbed: dict[str, Done], phase: str
) -> None:
    running = begin(workshop, phase)
    agent = workshop.agent_of(CLEAN)
    running.kill()
    os.kill(agent, signal.SIGKILL)
    workshop.eventually(lambda: not Path(f"/proc/{agent}/exe").exists(), 10, "the agent is gone")
    status = workshop.run("status", "--json")
    assert status.status == 0
    assert "had left running" in status.err
    assert workshop.alive() == []
    assert [entry["trial"] for entry in status.document["running"]] == [CLEAN]
    done = go_on(workshop)
    assert CLEAN not in [trial["id"] for trial in done.document["trials"]]
    each_finished_trial_was_started_once(workshop, done)
    as_undisturbed(workshop, done, undisturbed)
    assert "had left running" not in done.err
