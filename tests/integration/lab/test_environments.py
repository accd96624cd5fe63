"""An environment that counts as made holds what its recipe pins, and does what its recipe says that it does."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from tests.integration.lab.conftest import engine_named

from ruleout.engines.recipes import recipe, recipes

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(600)]

LIST = """
import importlib.metadata as m, json
print(json.dumps({d.name.lower().replace("_", "-").replace(".", "-"): d.version for d in m.distributions()}))
"""
ALL = [pytest.param(n, marks=[] if n == "transformers-5.2.0" else [pytest.mark.lab]) for n in recipes()]


@pytest.mark.parametrize("name", ALL)
def test_it_holds_what_is_pinned_and_proves_itself(name: str) -> None:
    made = engine_named(name)
    there = json.loads(subprocess.check_output([made.python, "-c", LIST]))
    pins = [word.split("==") for step in recipe(name).steps for word in step if "==" in word]
    for package, pinned in pins:
        key = re.sub(r"[_.]", "-", package.partition("[")[0]).lower()
        assert there.get(key, "").partition("+")[0] == pinned, package
    for proof in recipe(name).proofs:
        out = subprocess.check_output(
            [made.script(proof.argv[0]), *proof.argv[1:]], text=True, stderr=subprocess.STDOUT
        )
        assert proof.says in out
