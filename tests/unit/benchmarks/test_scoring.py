"""Right is: all factors of all causes, the levels that carry and that were seen to, and ways out that work."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.planted.bench import Answer, factors_only
from benchmarks.planted.families import make
from benchmarks.planted.histories import first_bad
from benchmarks.planted.scenario import REPRODUCED, Launch
from benchmarks.planted.scoring import wrong
from tests.unit.benchmarks.trivial import MASK, ONE, TWO, scenario

SINGLE = scenario(ONE, masks=(MASK,))
RIGHT = Answer(
    causes=({"a": frozenset({"a0", "a1"})},),
    levels=True,
    workarounds=({"a": "a2"},),
    probability=0.99,
    status="isolated",
)
SEEN = [Launch({"a": level, "b": "b0", "c": "c0", "d": "d0"}, REPRODUCED, 12.0) for level in ("a0", "a1")]


def test_a_right_answer_is_right() -> None:
    assert wrong(SINGLE, RIGHT, SEEN) == ""


def test_a_level_that_does_not_carry_is_wrong() -> None:
    claimed = replace(RIGHT, causes=({"a": frozenset({"a0", "a1", "a2"})},))
    assert "a2 does not carry" in wrong(SINGLE, claimed, SEEN)


def test_a_level_that_was_seen_to_carry_must_be_named() -> None:
    claimed = replace(RIGHT, causes=({"a": frozenset({"a0"})},))
    assert "a1 was seen to carry" in wrong(SINGLE, claimed, SEEN)


def test_a_level_that_was_never_tried_need_not_be_named() -> None:
    claimed = replace(RIGHT, causes=({"a": frozenset({"a0"})},))
    assert wrong(SINGLE, claimed, SEEN[:1]) == ""


def test_a_level_seen_only_while_another_cause_was_present_need_not_be_named() -> None:
    both = scenario(ONE, {"b": frozenset({"b0"})})
    claimed = Answer(({"a": frozenset({"a0"})}, {"b": frozenset({"b0"})}), levels=True, status="isolated")
    assert wrong(both, claimed, SEEN) == ""
    alone = Launch({"a": "a1", "b": "b1", "c": "c0", "d": "d0"}, REPRODUCED, 12.0)
    assert "a1 was seen to carry" in wrong(both, claimed, [*SEEN, alone])


def test_a_missing_cause_is_wrong() -> None:
    assert wrong(scenario(*TWO), replace(RIGHT, causes=(TWO[1],), workarounds=()), ())


def test_a_factor_too_many_and_one_too_few_are_wrong() -> None:
    assert "said a+b, is a" in wrong(SINGLE, Answer(factors_only("ab")), ())
    assert wrong(scenario(*TWO), Answer(factors_only("a", "c")), ())


def test_two_causes_are_not_one_conjunction() -> None:
    assert wrong(scenario(*TWO), Answer(factors_only("abc")), ())
    assert wrong(scenario(*TWO), Answer(factors_only("c", "ab")), ()) == ""


@pytest.mark.parametrize("moves", [{"a": "a1"}, {"b": "b1"}, {"a": "a2", "c": "c1", "d": "d1"}])
def test_a_workaround_that_does_not_work_is_wrong(moves: dict[str, str]) -> None:
    assert "fails" in wrong(SINGLE, replace(RIGHT, workarounds=({"a": "a2"}, moves)), SEEN)


def test_the_peers_are_asked_for_factors_only() -> None:
    assert wrong(SINGLE, Answer(factors_only("a"), workarounds=({"a": "a1"},)), SEEN) == ""


@pytest.mark.parametrize("status", ["undecided", "spent", "broken", "not_reproduced"])
def test_who_does_not_answer_is_not_right(status: str) -> None:
    assert wrong(SINGLE, replace(RIGHT, status=status), SEEN)


def test_a_cause_in_no_factor_is_right_when_it_is_said_and_wrong_when_one_is_blamed() -> None:
    elsewhere = scenario()
    assert wrong(elsewhere, Answer(levels=True, status="elsewhere"), ()) == ""
    assert wrong(elsewhere, Answer(), ()) == ""
    assert wrong(elsewhere, RIGHT, ())
    assert wrong(elsewhere, Answer(levels=True, status="narrowed"), ())
    assert wrong(SINGLE, Answer(levels=True, status="elsewhere"), ())


def test_of_a_history_the_oldest_revision_that_fails_is_asked() -> None:
    history = make("history-20", 0)
    assert history.ordered
    first = history.ordered.levels.index(first_bad(history))
    carrying = history.ordered.levels[first:]
    claimed = Answer(({"revision": frozenset(carrying)},), levels=True, status="isolated")
    assert wrong(history, claimed, ()) == ""
    assert "first bad" in wrong(history, replace(claimed, causes=({"revision": frozenset(carrying[1:])},)), ())
    assert wrong(history, Answer(({"revision": frozenset({carrying[0]})},)), ()) == ""
    one_earlier = frozenset(history.ordered.levels[first - 1 :])
    assert wrong(history, replace(claimed, causes=({"revision": one_earlier},)), ())
