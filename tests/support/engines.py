"""Engines that `make engines` installed, in the real cache folder, for tests that launch them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ruleout.engines.environments import Environment, installed
from ruleout.engines.making import cache_folder
from ruleout.engines.recipes import recipe

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop


class InstalledEngines:
    """A workshop with the real cache folder. Skips the test where engines are not wanted."""

    def __init__(self, workshop: Workshop, home: Path) -> None:
        if os.environ.get("RULEOUT_SKIP_ENGINES"):
            pytest.skip("RULEOUT_SKIP_ENGINES is set")
        self.workshop = workshop
        workshop.cache = cache_folder()
        workshop.env |= {"RULEOUT_CACHE_DIR": str(workshop.cache), "HOME": str(home), "HF_HUB_OFFLINE": "1"}
        workshop.litters = True

    def made(self, name: str) -> Environment:
        """The environment of an engine; skips the test where it is not installed."""
        found = installed(recipe(name))
        if found is None:
            pytest.skip(f"{name} is not installed: make engines")
        return found
