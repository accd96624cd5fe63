"""What the audit says of a configuration, against what real releases of transformers did with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.rope_variants import CHANGES, GLM, changed, seen

from ruleout.audit.against import departure

EXPERIMENTS = Path(
    os.environ.get("RULEOUT_LAB_EXPERIMENTS") or Path(__file__).parents[4] / "shared" / "lab" / "experiments"
)
RELEASES = {"5.2": "5.2.0", "5.24": "5.24.0"}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_configuration_does_what_the_real_release_did_with_it(release: str, name: str) -> None:
    log = EXPERIMENTS / f"transformers-{RELEASES[release]}_glm_rope_variants_eager.log"
    if not log.is_file():
        pytest.skip("the experiments with real releases are not here")
    told = departure(changed(CHANGES[name]), GLM, release)
    assert told.outcome == seen(log)[name], told.why


def test_no_variant_of_the_experiments_is_left_out() -> None:
    logs = list(EXPERIMENTS.glob("*_glm_rope_variants_eager.log"))
    if not logs:
        pytest.skip("the experiments with real releases are not here")
    for log in logs:
        assert set(seen(log)) == set(CHANGES)
