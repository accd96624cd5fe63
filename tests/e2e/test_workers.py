"""Several workers, and why each trial was the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

FACTORS = {
    "batching": ["on", "off"], "dtype": ["f32", "bf16"], "graphs": ["on", "off"], "cache": ["on", "off"],
    "overlap": ["on", "off"], "pad": ["1", "2", "3"],
}  # fmt: skip
FAILS = [{"--batching": "on", "--cache": "on"}]


def overlapping(workshop: Workshop) -> int:
    """The most deployments that ran at the same time, by when they started; each runs for 1.5 s."""
    starts: list[float] = [entry["wall"] for entry in workshop.ledger]
    return max(len([s for s in starts if start <= s < start + 1.5]) for start in starts)


def test_workers_run_at_once_and_come_to_the_same_cause(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, seconds=1.5)
    done = workshop.run("investigate", "--json", workshop.case(factors=FACTORS, workers=3))
    assert (done.status, done.causes) == (0, [{"batching": ["on"], "cache": ["on"]}])
    assert 1 < overlapping(workshop) <= 3
    ids = [t["id"] for t in done.document["trials"]]
    assert ids == sorted(ids) == list(range(1, len(ids) + 1))


def test_a_ctrl_c_ends_all_that_run_and_resuming_goes_on(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, seconds=4)
    case = workshop.case(factors=FACTORS, workers=3)
    running = workshop.start("investigate", "--json", case)
    workshop.wait_for_starts(3, running)
    running.ctrl_c()
    assert running.end().status == 130
    workshop.gone()
    workshop.plan(fails=FAILS)
    done = workshop.run("investigate", "--json", "--resume", case)
    assert (done.status, done.causes) == (0, [{"batching": ["on"], "cache": ["on"]}])


def test_the_budget_holds_for_workers_too(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    done = workshop.run("investigate", "--json", "--budget-trials", "4", workshop.case(factors=FACTORS, workers=3))
    assert (done.document["status"], len(workshop.ledger)) == ("exhausted", 4)


def test_every_choice_shows_its_arithmetic(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    done = workshop.run("investigate", "--explain", case)
    assert "of the probability lies on causes" in done.err
    assert "Next best: " in done.err
    told = workshop.run("status", "--explain").out
    assert "of the probability lies on causes" in told
    plain = workshop.run("status").out
    assert "of the probability lies on causes" not in plain
    trials = workshop.run("status", "--json").document["trials"]
    assert any("bits for" in " ".join(t.get("why", ())) for t in trials)
