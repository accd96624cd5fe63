"""The demo's engine and models, as they are in the cache folder or made now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ruleout.engines.environments import TRANSFORMERS_5_2_0, Environment, environment
from ruleout.lab.models import tiny_models


@pytest.fixture(scope="session")
def engine_environment() -> Environment:
    if os.environ.get("RULEOUT_SKIP_ENGINES"):
        pytest.skip("RULEOUT_SKIP_ENGINES is set")
    return environment(TRANSFORMERS_5_2_0)


@pytest.fixture(scope="session")
def models(engine_environment: Environment) -> Path:
    return tiny_models(engine_environment)
