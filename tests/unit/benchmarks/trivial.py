"""Deployments that everybody should understand."""

from __future__ import annotations

from benchmarks.planted.scenario import Conjunction, Factor, Mask, Scenario

FACTORS = (
    Factor("a", "--a", ("a0", "a1", "a2"), "a0"),
    Factor("b", "--b", ("b0", "b1"), "b0"),
    Factor("c", "--c", ("c0", "c1"), "c0"),
    Factor("d", "--d", ("d0", "d1"), "d0"),
)
ONE: Conjunction = {"a": frozenset({"a0", "a1"})}
TWO: tuple[Conjunction, ...] = ({"a": frozenset({"a0"}), "b": frozenset({"b0"})}, {"c": frozenset({"c0"})})
MASK = Mask({"c": frozenset({"c1"}), "d": frozenset({"d1"})}, "refused-arguments")


def scenario(*causes: Conjunction, masks: tuple[Mask, ...] = (), rate: float = 1.0) -> Scenario:
    """Four factors, and these causes."""
    return Scenario("trivial", 0, FACTORS, causes, "assert-in-decode", masks, rate)
