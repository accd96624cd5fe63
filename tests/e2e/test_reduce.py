"""`investigate --reduce`: a rare failure is made to show, and the command that fails is made small."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

FACTORS = {"batching": ["on", "off"], "dtype": ["f32", "bf16"]}


def test_every_flag_that_is_left_was_taken_off_once(workshop: Workshop) -> None:
    workshop.plan(fails=[{"--batching": "on", "--pad": "2"}])
    case = workshop.case(flags=["--seed", "3", "--verbose", "--pad", "2", "--stop=x"], factors=FACTORS)
    done = workshop.run("investigate", "--reduce", "--json", case)
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}])
    found = done.document["minimal"]
    assert (found["needed"], found["complete"]) == (["--pad", "--batching"], True)
    assert set(found["dropped"]) >= {"--seed", "--verbose", "--stop", "--dtype"}
    assert found["command"][-4:] == ["--pad", "2", "--batching", "on"]
    shown = next(t for t in done.document["trials"] if t["id"] == found["trial"])
    assert (shown["outcome"], set(shown["without"])) == ("reproduced", set(found["dropped"]))
    assert "Smallest command that fails" in (workshop.investigation() / "FINDINGS.md").read_text()
    before = len(workshop.ledger)
    again = workshop.run("investigate", "--reduce", "--resume", "--json", case)
    assert (again.document["minimal"], len(workshop.ledger)) == (found, before)
    assert workshop.run("status", "--json").document["minimal"] == found


def test_a_command_that_was_made_small_says_nothing_about_factors(workshop: Workshop) -> None:
    workshop.plan(fails=[{"--batching": "on"}])
    case = workshop.case(flags=["--seed", "3"], factors=FACTORS)
    whole = workshop.run("investigate", "--json", case)
    done = workshop.run("investigate", "--reduce", "--resume", "--json", case)
    for what in ("status", "causes", "probability", "confirmed_by", "ruled_out"):
        assert done.document[what] == whole.document[what]


def test_a_failure_that_needs_many_requests_shows_within_one_launch(workshop: Workshop) -> None:
    workshop.plan(mode="serve", fails=[{"--batching": "on"}], from_request=12)
    case = workshop.case(mode="serve", factors=FACTORS)
    done = workshop.run("investigate", "--json", case)
    assert done.document["status"] == "not_reproduced"
    done = workshop.run("investigate", "--reduce", "--resume", "--json", case)
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}])
    assert done.document["minimal"]["needed"] == ["--port", "--batching"]
