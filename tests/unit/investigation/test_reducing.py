"""What is left of the command fails, and without any single flag of it it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleout.investigation.reducing import NoMoreTrials, flags_of, minimise, runs_to_see, without
from ruleout.model import Case, Factor, Mechanism

FLAGS = tuple(f"--f{i}" for i in range(9))
PROGRAM = ("python", "-E", "-m", "serve", "/models/acme")
COMMAND = (*PROGRAM, "--tp", "8", "--verbose", "--stop=x", "--words", "a", "b", "--n", "-1")
KV = Factor("kv", Mechanism.FLAG, "--kv", ("auto", "bf16"), "auto")
GRAPH = Factor("graph", Mechanism.FLAG, "--no-graph", ("absent", "present"), "absent")
CASE = Case("c", "command", COMMAND, (KV, GRAPH))


@given(st.lists(st.sets(st.sampled_from(FLAGS), max_size=4), min_size=1, max_size=3))
def test_what_is_left_fails_and_no_single_flag_of_it_may_go(ways: list[set[str]]) -> None:
    """`ways`: it fails wherever all flags of one of these sets are there."""
    made: list[frozenset[str]] = []

    def fails(off: frozenset[str]) -> int | None:
        made.append(off)
        return len(made) if any(not way & off for way in ways) else None

    found = minimise(FLAGS, fails)
    assert found.complete
    assert set(found.needed) | set(found.dropped) == set(FLAGS)
    assert any(way <= set(found.needed) for way in ways)
    gone = set(found.dropped)
    assert all(not any(not way & (gone | {flag}) for way in ways) for flag in found.needed)
    if found.dropped:
        assert found.shown is not None
        assert made[found.shown - 1] == gone


def test_a_command_that_needs_nothing_takes_a_single_trial_to_show_it_and_none_to_prove_it() -> None:
    made: list[frozenset[str]] = []

    def fails(off: frozenset[str]) -> int:
        made.append(off)
        return len(made)

    assert minimise(FLAGS, fails).needed == ()
    assert made == [frozenset(FLAGS)]


def test_when_the_budget_is_spent_what_is_known_is_given_and_not_called_complete() -> None:
    def fails(off: frozenset[str]) -> int | None:
        if len(off) == len(FLAGS) - 1:
            raise NoMoreTrials
        return None if "--f0" in off else 7

    found = minimise(FLAGS, fails)
    assert not found.complete
    assert "--f0" in found.needed
    assert found.shown == 7
    assert found.dropped


def test_flags_are_those_of_the_command_and_those_that_factors_set() -> None:
    assert flags_of(CASE) == ("--tp", "--verbose", "--stop", "--words", "--n", "--kv")
    assert flags_of(Case("c", "command", ("bash", "-c", "serve --tp 8"))) == ()


def test_a_flag_goes_with_all_its_values_and_its_factor() -> None:
    left = without(CASE, frozenset({"--words", "--stop", "--kv", "--n"}))
    assert left.command == (*PROGRAM, "--tp", "8", "--verbose")
    assert left.factors == (GRAPH,)
    assert without(CASE, frozenset()) == CASE


@pytest.mark.parametrize(("rate", "runs"), [(1.0, 1), (0.96, 1), (0.8, 2), (0.5, 5), (0.1, 5), (0.0, 5)])
def test_a_rare_failure_is_looked_for_more_often(rate: float, runs: int) -> None:
    assert runs_to_see(rate) == runs
