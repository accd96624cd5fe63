"""Ctrl-C and SIGTERM: the engine goes, what was learnt stays, and one can go on."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Done, Running, Workshop

SLOW = pytest.mark.slow
"""More of the same, at other moments."""
GRACE_S = 10.0
"""What an engine is given to end by itself once it was asked to."""
FACTORS = {"batching": ["on", "off"], "dtype": ["f32", "bf16"]}
FAILS = [{"--batching": "on"}]


def begin(workshop: Workshop, phase: str, *words: str, start: int = 2, children: tuple[str, ...] = ()) -> Running:
    hold = {"phase": phase, "start": start, "children": list(children)}
    workshop.plan(mode="serve", fails=FAILS, how="die", hold=hold)
    running = workshop.start("investigate", workshop.case(mode="serve", factors=FACTORS), *words)
    workshop.wait_until_held()
    return running


def goes_on(workshop: Workshop) -> None:
    """Resumed, it finds the cause, and no finished trial was started twice."""
    workshop.let_go()
    done = workshop.run("investigate", "--resume", "--json", "fake.yaml")
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}]), done.err
    assert [workshop.starts_of(trial["id"]) for trial in done.document["trials"]] == [1] * len(done.document["trials"])


@pytest.mark.parametrize("phase", ["load", pytest.param("probe", marks=SLOW)])
def test_ctrl_c_in_a_trial_stops_the_engine_and_tells_what_is_known(workshop: Workshop, phase: str) -> None:
    running = begin(workshop, phase, children=("session", "daemon"))
    running.ctrl_c()
    done = running.end(30)
    assert done.status == 130
    assert workshop.alive() == []
    assert "Interrupted" in done.out
    assert "Traceback" not in done.err
    assert (workshop.investigation() / "FINDINGS.md").exists()
    goes_on(workshop)


def test_sigterm_is_taken_as_ctrl_c(workshop: Workshop) -> None:
    running = begin(workshop, "load", "--json")
    running.process.send_signal(signal.SIGTERM)
    done = running.end(30)
    assert done.status == 130
    assert done.document["status"] == "interrupted"
    assert workshop.alive() == []
    goes_on(workshop)


def test_a_terminal_that_is_closed_takes_the_engine_along(workshop: Workshop) -> None:
    running = begin(workshop, "load")
    running.process.send_signal(signal.SIGHUP)
    running.end(30)
    workshop.gone()
    goes_on(workshop)


def test_ctrl_c_with_json_gives_one_document_with_what_is_known(workshop: Workshop) -> None:
    running = begin(workshop, "probe", "--json", start=3)
    running.ctrl_c()
    document = running.end(30).document
    assert document["schema"] == "ruleout.verdict/1"
    assert document["status"] == "interrupted"
    assert [trial["id"] for trial in document["trials"]] == [1, 2]
    status = workshop.run("status", "--json")
    assert status.document["status"] == "interrupted"
    assert status.document["running"] == []
    goes_on(workshop)


def interrupted(workshop: Workshop, done: Done) -> None:
    assert done.status == 130
    assert done.document["status"] == "interrupted"
    assert "Traceback" not in done.err
    assert workshop.alive() == []
    goes_on(workshop)


@pytest.mark.parametrize("pause", [0.05, *(pytest.param(s, marks=SLOW) for s in (0.0, 0.3))])
def test_more_ctrl_c_s_do_no_harm(workshop: Workshop, pause: float) -> None:
    """However fast they come: of those that come at once the kernel may deliver one, and nothing is cut short then."""
    running = begin(workshop, "load", "--json", children=("stubborn",))
    for _ in range(4):
        running.ctrl_c()
        time.sleep(pause)  # what is tested is how fast they come
    interrupted(workshop, running.end(GRACE_S + 20))


def test_impatience_ends_the_grace(workshop: Workshop) -> None:
    """A child that ignores SIGTERM is given its time, unless one asks again."""
    running = begin(workshop, "load", "--json", children=("stubborn",))
    asked = time.monotonic()
    while running.process.poll() is None and time.monotonic() < asked + GRACE_S:
        running.ctrl_c()
        time.sleep(0.2)
    interrupted(workshop, running.end(1))


def test_ctrl_c_while_an_engine_is_being_stopped_keeps_its_finished_trial(workshop: Workshop) -> None:
    running = begin(workshop, "stop", "--json")
    running.ctrl_c()
    workshop.let_go()
    done = running.end(30)
    assert done.status == 130
    assert workshop.alive() == []
    goes_on(workshop)
    assert len(workshop.ledger) == len(workshop.run("status", "--json").document["trials"])


@pytest.mark.parametrize(
    "after_s", [0.2, 0.5, 0.8, *(pytest.param(s, marks=SLOW) for s in (0.1, 0.3, 0.4, 0.6, 0.7, 1.0))]
)
def test_ctrl_c_at_any_moment_is_told_in_two_lines_or_a_verdict(workshop: Workshop, after_s: float) -> None:
    workshop.plan(fails=FAILS)
    running = workshop.start("investigate", workshop.case(factors=FACTORS), "--json")
    time.sleep(after_s)  # what is tested is any moment
    running.ctrl_c()
    done = running.end(30)
    assert "Traceback" not in done.err or "ruleout" not in done.err, done.err  # Python's own start has one, too
    if done.out:
        assert done.status == (130 if done.document["status"] == "interrupted" else 0)
    elif done.status >= 0:  # before ruleout was there to hear it, the signal itself ends the process
        assert done.status == 130
        told = done.err.splitlines()
        assert told[-2].startswith("ruleout: interrupted"), done.err  # behind what trials there were
    workshop.gone()


def test_ctrl_c_before_anything_is_known_is_an_interruption_too(workshop: Workshop) -> None:
    running = begin(workshop, "load", "--json", start=1)
    running.ctrl_c()
    done = running.end(30)
    assert (done.status, done.document["status"], done.document["trials"]) == (130, "interrupted", [])
    goes_on(workshop)


def test_ctrl_c_in_a_check_is_no_answer(workshop: Workshop) -> None:
    workshop.plan(hold={"phase": "load", "start": 1, "children": ["session"]})
    running = workshop.start("check", "--", *workshop.command)
    workshop.wait_until_held()
    running.ctrl_c()
    running.end(30).told(130, "interrupted")
    assert workshop.alive() == []
    assert list((workshop.cache / "checks").iterdir()) == []
