"""The main job on the real engine: the demo, and the same deployment with everything that might help to guess moved."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ruleout.engines.environments import TRANSFORMERS_5_2_0, environment
from ruleout.engines.making import cache_folder
from ruleout.lab.demo import demo_case_yaml, demo_factors
from ruleout.lab.models import tiny_models

if TYPE_CHECKING:
    from tests.e2e.conftest import Done, Workshop

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1200)]

CAUSE = {"continuous_batching": "present", "model": "glm-tiny"}
"""The truth, which is nowhere in the product."""
SEED = 20260218


@pytest.fixture
def engine_room(tmp_path: Path, workshop: Workshop) -> Iterator[Workshop]:
    """A workshop with the real cache folder, where the engine is."""
    if os.environ.get("RULEOUT_SKIP_ENGINES"):
        pytest.skip("RULEOUT_SKIP_ENGINES is set")
    workshop.env["RULEOUT_CACHE_DIR"] = str(cache_folder())
    workshop.cache = cache_folder()
    workshop.env["HOME"] = str(tmp_path)
    workshop.litters = True
    yield workshop
    notes = workshop.cache / "running"
    mine = [note for note in notes.glob("*.json") if str(tmp_path) in note.read_text()]
    assert mine == []


def the_pair_is_isolated(done: Done, cause: dict[str, str]) -> None:
    document = done.document
    assert (done.status, document["status"]) == (0, "isolated"), done.err
    assert [{c["factor"] for c in found} for found in document["causes"]] == [set(cause)]
    assert {c["factor"]: c["levels"] for c in document["cause"]} == {f: [level] for f, level in cause.items()}
    confirmed = document["confirmed_by"]
    assert all(confirmed[what] for what in ("sufficient", "necessary", "complete", "baseline_again")), confirmed
    assert "shape mismatch" in document["failure"]["message"]
    assert document["failure"]["class"] == "shape_mismatch"
    assert "HTTP 200" in document["failure"]["client"]
    assert "empty" in document["failure"]["client"]
    assert document["probability"] > 0.95
    assert {entry["factor"] for entry in document["ruled_out"]}.isdisjoint(cause)


def test_the_demo_isolates_exactly_the_pair(engine_room: Workshop) -> None:
    done = engine_room.run("demo", "--json", seconds=900)
    the_pair_is_isolated(done, CAUSE)
    folder = engine_room.investigation("glm-demo")
    for trial in done.document["trials"]:
        both = all(trial["configuration"][factor] == level for factor, level in CAUSE.items())
        assert trial["outcome"] == ("reproduced" if both else "clean")
        assert (folder / trial["log"]).stat().st_size > 0
    assert "shape mismatch" in (folder / "FINDINGS.md").read_text()
    assert engine_room.alive() == []


def test_names_order_and_harmless_baselines_do_not_matter(engine_room: Workshop) -> None:
    engine = environment(TRANSFORMERS_5_2_0)
    chance = random.Random(SEED)
    factors = [replace(f, baseline=f.baseline if f.name in CAUSE else chance.choice(f.levels)) for f in demo_factors()]
    chance.shuffle(factors)
    names = {f.name: f"knob_{i}" for i, f in enumerate(factors)}
    renamed = [replace(f, name=names[f.name]) for f in factors]
    assert any(
        f.baseline != g.baseline for f, g in zip(sorted(factors, key=str), sorted(demo_factors(), key=str), strict=True)
    )
    (engine_room.cwd / "permuted.yaml").write_text(demo_case_yaml(engine, tiny_models(engine), renamed))
    done = engine_room.run("investigate", "--json", "permuted.yaml", seconds=900)
    the_pair_is_isolated(done, {names[f]: level for f, level in CAUSE.items()})
    assert engine_room.alive() == []
