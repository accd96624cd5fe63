"""A configuration is a value: it does not change, and it is what its levels are."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.support.strategies import configurations

from ruleout.model import Configuration


def test_two_configurations_with_the_same_levels_are_equal_in_whatever_order() -> None:
    assert Configuration({"a": "1", "b": "2"}) == Configuration({"b": "2", "a": "1"})
    assert hash(Configuration({"a": "1", "b": "2"})) == hash(Configuration({"b": "2", "a": "1"}))
    assert len({Configuration(a="1", b="2"), Configuration(b="2", a="1")}) == 1


def test_another_level_or_another_factor_makes_another_configuration() -> None:
    assert Configuration(a="1") != Configuration(a="2")
    assert Configuration(a="1") != Configuration(b="1")
    assert Configuration(a="1") != Configuration(a="1", b="1")
    assert Configuration(a="1") != {"a": "1"}


def test_the_levels_it_was_made_of_may_change_without_changing_it() -> None:
    levels = {"a": "1"}
    configuration = Configuration(levels)
    levels["a"] = "2"
    assert configuration["a"] == "1"


def test_it_cannot_be_changed() -> None:
    configuration = Configuration(a="1")
    with pytest.raises(TypeError):
        configuration["a"] = "2"  # type: ignore[index]
    with pytest.raises(AttributeError):
        configuration.a = "2"  # type: ignore[attr-defined]


@given(configurations, configurations)
def test_moving_it_by_its_difference_to_another_gives_it_back(one: Configuration, other: Configuration) -> None:
    moved = other.moved(one)
    assert other.moved(moved.difference(other)) == moved
    assert {**other, **one} == dict(moved)


@given(configurations)
def test_it_differs_in_nothing_from_itself(configuration: Configuration) -> None:
    assert len(configuration.difference(configuration)) == 0
    assert configuration.difference({}) == configuration


def test_the_difference_names_the_levels_of_the_changed_one() -> None:
    baseline = Configuration(a="1", b="2", c="3")
    assert baseline.moved({"b": "9"}).difference(baseline) == Configuration(b="9")


def test_words_for_a_configuration_name_each_level() -> None:
    assert str(Configuration({"attn": "eager", "graphs": "off"})) == "attn=eager graphs=off"
    assert str(Configuration()) == "baseline"
