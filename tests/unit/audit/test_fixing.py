"""A corrected configuration reads as it was meant, and one that is right is left as it is."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.support.random_rope import config
from tests.support.rope_variants import CHANGES, GLM, changed

from ruleout.audit.fixing import fixed
from ruleout.audit.rope.checks import READERS
from ruleout.audit.rope.comparing import compared
from ruleout.audit.rope.meaning import meant


def reads_alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return compared(READERS["transformers-5.24"](one), meant(other)).outcome.value == "same"


def test_what_is_right_is_left_as_it_is() -> None:
    assert fixed(GLM) == (GLM, ())


@pytest.mark.parametrize(
    "name",
    [
        "both: rope_parameters + rope_scaling yarn f4",
        "theta='1000000'",
        "head_dim=null",
        "head_dim=64 (qk_rope_head_dim=32)",
        "mlp_layer_types removed (first_k_dense_replace=1 kept)",
    ],
)
def test_what_is_plain_is_corrected(name: str) -> None:
    before = changed(CHANGES[name])
    kept = copy.deepcopy(before)
    after, done = fixed(before)
    assert done
    assert before == kept
    assert reads_alike(after, before)
    assert fixed(after) == (after, ())


def test_a_correction_never_changes_what_was_meant() -> None:
    for seed in range(400):
        before = config(seed)
        after, _ = fixed(before)
        if meant(before).refused or meant(before).untold:
            continue
        assert compared(meant(after), meant(before)).outcome.value in ("same", "nan"), before


def test_the_text_model_of_a_multimodal_one_is_corrected_in_its_place() -> None:
    whole = {"model_type": "x", "text_config": changed(CHANGES["theta='1000000'"])}
    after, done = fixed(whole)
    assert done == ("numbers are no text any more",)
    assert after["text_config"]["rope_parameters"]["rope_theta"] == 1e6
