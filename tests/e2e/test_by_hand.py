"""What a person did or saw themselves: logs of trials run by hand, and a reading that they overrule."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

FACTORS = {"batching": ["on", "off"], "dtype": ["f32", "bf16"], "graphs": ["on", "off"]}
FAILS = [{"--batching": "on"}]


def test_logs_of_trials_run_by_hand_save_the_trials_they_stand_for(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    alone = workshop.run("investigate", "--json", workshop.case("alone", factors=FACTORS))
    failing = workshop.folder / "failing.log"
    first = workshop.investigation("alone") / alone.document["trials"][0]["log"]
    shutil.copy(first, failing)
    before = len(workshop.ledger)
    case = workshop.case("helped", factors=FACTORS)
    done = workshop.run("investigate", "--json", case, "--trial", f"{failing}:dtype=bf16,graphs=off")
    assert (done.status, done.causes) == (0, alone.causes)
    by_hand = [t for t in done.document["trials"] if t["purpose"].startswith("given: run by hand")]
    assert [t["configuration"] for t in by_hand] == [{"batching": "on", "dtype": "bf16", "graphs": "off"}]
    assert by_hand[0]["outcome"] == "reproduced"
    assert len(workshop.ledger) - before == len(done.document["trials"]) - 1
    assert "failing.log" in done.err


def test_a_log_that_was_taken_is_not_taken_again(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    log = workshop.folder / "hand.log"
    log.write_text("RuntimeError: something else altogether\n")
    case = workshop.case(factors=FACTORS, budget={"trials": 2})
    given = ("--trial", f"{log}:dtype=bf16")
    assert workshop.run("investigate", "--json", case, *given).status == 1
    done = workshop.run("investigate", "--json", "--resume", "--budget-trials", "50", case, *given)
    assert done.document["status"] == "isolated"
    assert [t["outcome"] for t in done.document["trials"] if t["purpose"].startswith("given")] == ["other"]


def test_a_log_that_cannot_be_taken_is_refused_before_anything_is_launched(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    workshop.run("investigate", case, "--trial", "nothing.log").told(2, "nothing.log", "No such file")
    assert not workshop.ledger


def test_a_person_overrules_a_reading_and_the_reasoning_follows(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    done = workshop.run("investigate", "--json", case)
    clean = next(t["id"] for t in done.document["trials"] if t["outcome"] == "clean")
    marked = workshop.run("mark", str(clean), "reproduced", "--why", "the text was garbled")
    assert marked.status == 0
    assert "was clean: the text was garbled" in " ".join(marked.out.split())
    after = workshop.run("status", "--json").document
    trial = next(t for t in after["trials"] if t["id"] == clean)
    assert trial["outcome"] == "reproduced"
    assert after["status"] != "isolated" or after["causes"] != done.document["causes"]
    assert "marked reproduced by a person" in (workshop.investigation() / "FINDINGS.md").read_text()
    workshop.run("mark", "99", "clean").told(2, "no trial 99")
    workshop.run("mark", "1", "purple").told(2, "purple")
