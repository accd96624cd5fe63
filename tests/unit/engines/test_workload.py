"""How the workload is varied: which probes a property acts on, and what it does to them."""

from __future__ import annotations

import json

import pytest

from ruleout.engines import factors
from ruleout.engines.openai import Interface, requests_of
from ruleout.engines.workload import PROPERTIES, probes_under
from ruleout.model import Case, Configuration, Factor, Mechanism, Mode, Probe, UsageError, probe_of


def workload(target: str, *levels: str) -> Factor:
    return Factor("w", Mechanism.WORKLOAD, target, levels, levels[0])


def case(factor: Factor, mode: Mode = Mode.SERVE) -> Case:
    return Case("c", "command", ("serve", "x"), (factor,), mode=mode)


def under(target: str, level: str, *probes: Probe) -> tuple[Probe, ...]:
    return probes_under(case(workload(target, level)), Configuration(w=level), probes)


def test_concurrency_and_requests_change_the_load_probes_when_there_are_any() -> None:
    single, load = Probe(), Probe("load", concurrency=4, requests=8)
    changed = under("concurrency", "64", single, load)
    assert changed[0] == single
    assert (changed[1].concurrency, changed[1].requests) == (64, 8)
    assert under("requests", "9", single, load)[1].requests == 9


def test_without_load_probes_the_workload_changes_all_of_them() -> None:
    assert [probe.concurrency for probe in under("concurrency", "8", Probe(), Probe("http"))] == [8, 8]


def test_the_length_of_answers_and_the_number_of_turns_can_be_varied() -> None:
    assert under("max_tokens", "7", Probe())[0].max_tokens == 7
    assert under("repeat", "3", Probe())[0].repeat == 3
    assert [probe.repeat for probe in under("repeat", "3", Probe(repeat=2), probe_of("long"))] == [3, 1]


def test_the_length_of_the_prompt_is_that_of_all_long_prompts_where_there_are_any() -> None:
    """Otherwise another long one would go on to fail."""
    several = Probe(), probe_of("long"), probe_of("shared_prefix")
    assert [p.prompt_length for p in under("prompt_length", "7", *several)] == [0, 7, 7]
    assert [p.prompt_length for p in under("prompt_length", "7", Probe(), probe_of("load"))] == [7, 7]


def test_without_a_shared_prefix_every_prompt_is_its_own() -> None:
    once, twice, shared = Probe(), Probe(repeat=2), probe_of("shared_prefix")
    changed = under("shared_prefix", "off", once, twice, shared)
    assert [p.shared_prefix for p in changed] == [False, False, False]
    bodies = [body for r in requests_of(changed, Interface("tiny")) for body in r.bodies]
    starts = [json.loads(body)["messages"][0]["content"].split()[0] for body in bodies]
    assert len(set(starts)) == len(starts) == 1 + 2 + 4
    assert under("shared_prefix", "on", once, twice, shared) == (once, twice, shared)
    assert under("shared_prefix", "on", Probe(repeat=2, shared_prefix=False))[0].shared_prefix is True


def test_a_stream_can_be_turned_off_and_on() -> None:
    assert [p.streaming for p in under("streaming", "off", Probe(), probe_of("streaming"))] == [False, False]
    assert [p.streaming for p in under("streaming", "on", Probe(), probe_of("load"))] == [True, True]


def test_what_a_reference_was_made_with_is_not_changed() -> None:
    compare = Probe("compare")
    assert under("prompt_length", "7", compare, Probe())[0] == compare
    assert under("shared_prefix", "off", compare, Probe(repeat=2))[0] == compare
    assert under("concurrency", "4", compare)[0].concurrency == 4


def test_a_property_that_no_probe_has_is_refused() -> None:
    with pytest.raises(UsageError, match="factor w: no probe has a streaming"):
        under("streaming", "on", Probe("http"))


def test_the_workload_does_not_touch_the_command() -> None:
    made = factors.apply(case(workload("concurrency", "1", "8")), Configuration(w="8"))
    assert made.argv == ("serve", "x")


@pytest.mark.parametrize("level", ["0", "-1", "many", "1.5", "", "²"])
def test_a_workload_that_is_not_a_number_is_refused(level: str) -> None:
    with pytest.raises(UsageError, match="not a number from 1 up"):
        factors.apply(case(workload("concurrency", level)), Configuration(w=level))


@pytest.mark.parametrize("level", ["true", "0", "ON", ""])
def test_a_switch_of_the_workload_is_on_or_off(level: str) -> None:
    with pytest.raises(UsageError) as error:
        factors.apply(case(workload("streaming", level)), Configuration(w=level))
    assert error.value.what == f"factor w: level {level!r} is neither on nor off"
    assert '"off", "on"' in error.value.remedy


def test_an_unknown_property_of_the_workload_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as error:
        factors.apply(case(workload("colour", "1")), Configuration(w="1"))
    assert error.value.remedy == f"It has {', '.join(PROPERTIES)}."


def test_a_job_has_no_workload() -> None:
    with pytest.raises(UsageError, match="a job has no workload"):
        factors.apply(case(workload("repeat", "2"), Mode.JOB), Configuration())
