"""The demo's case says what may be varied and nothing about the cause."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ruleout.engines import engine_named, factors
from ruleout.engines.environments import Environment
from ruleout.lab.demo import demo_case, demo_case_yaml, demo_factors

ENVIRONMENT = Environment(Path("/cache/engines/transformers-5.2.0"))
MODELS = Path("/cache/lab/models/abc")


def test_the_text_says_the_same_as_the_value() -> None:
    case, text = demo_case(ENVIRONMENT, MODELS), yaml.safe_load(demo_case_yaml(ENVIRONMENT, MODELS))
    assert (text["name"], text["engine"], text["cwd"]) == (case.name, case.engine, case.cwd)
    assert tuple(text["command"]) == case.command
    assert list(text["factors"]) == [factor.name for factor in case.factors]
    for factor in case.factors:
        written = text["factors"][factor.name]
        assert written[factor.mechanism] == factor.target
        assert (tuple(written["levels"]), written["baseline"]) == (factor.levels, factor.baseline)
    assert [probe["repeat"] for probe in text["probes"]] == [2]


def test_levels_are_text_in_the_file() -> None:
    text = yaml.safe_load(demo_case_yaml(ENVIRONMENT, MODELS))
    assert all(isinstance(level, str) for factor in text["factors"].values() for level in factor["levels"])


def test_every_level_can_be_set_on_the_command() -> None:
    factors.check(demo_case(ENVIRONMENT, MODELS))


def test_the_baseline_is_the_command_as_written() -> None:
    case = demo_case(ENVIRONMENT, MODELS)
    assert sorted(factors.apply(case, case.baseline).argv) == sorted(case.command)


def test_the_requests_follow_the_model() -> None:
    case = demo_case(ENVIRONMENT, MODELS)
    moved = case.baseline.moved({"model": "llama-tiny"})
    requests = engine_named(case.engine).requests(case, moved)
    assert len(requests) == 2
    assert all('"model": "llama-tiny"' in (request.body or "") for request in requests)


def test_factors_can_be_given_in_another_order() -> None:
    turned = tuple(reversed(demo_factors()))
    assert demo_case(ENVIRONMENT, MODELS, turned).factors == turned
    assert list(yaml.safe_load(demo_case_yaml(ENVIRONMENT, MODELS, turned))["factors"]) == [
        each.name for each in turned
    ]


@pytest.mark.parametrize("word", ["cause", "fail", "clean", "reproduc"])
def test_nothing_of_the_answer_is_in_it(word: str) -> None:
    assert word not in demo_case_yaml(ENVIRONMENT, MODELS)
