"""The shipped lists of levels: read, of the release that is asked for, under both names of a renamed flag."""

from __future__ import annotations

from importlib.resources import files

import pytest

from ruleout.engines.levels import levels_of
from ruleout.model.story import Levels

ENGINES = sorted(
    path.name.removesuffix(".yaml")
    for path in (files("ruleout.engines") / "levels").iterdir()
    if path.name.endswith("yaml")
)


def of(name: str, engine: str = "sglang", version: str | None = None) -> Levels:
    return {levels.name: levels for levels in levels_of(engine, version)}[name]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_list_has_settings_with_levels_of_text_each_once(engine: str) -> None:
    found = levels_of(engine)
    assert found
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert len(one.levels) == len(set(one.levels)) > 1
        assert all(isinstance(level, str) and level for level in one.levels)
        assert one.component is not None
        assert one.said_by.startswith(engine)


def test_the_list_is_that_of_the_latest_release_that_is_not_newer() -> None:
    assert "trtllm" not in of("nsa_decode_backend", version="0.5.6").levels
    assert len(of("nsa_decode_backend", version="0.5.9").levels) == 7
    assert of("nsa_decode_backend", version="0.5.10.post1").said_by == "sglang 0.5.9"
    assert "triton" in of("dsa_decode_backend", version="0.5.23").levels
    assert of("kv_cache_dtype", version="0.4.0").said_by == "sglang 0.5.6"


def test_without_a_version_the_list_is_the_newest_that_has_the_name() -> None:
    assert of("dsa_decode_backend").said_by == "sglang 0.5.23"
    assert of("nsa_decode_backend").said_by == "sglang 0.5.9"
    assert of("attention_backend", version="from main").said_by == "sglang 0.5.23"


@pytest.mark.parametrize("engine", ["", "quux", "../levels/sglang", "command"])
def test_an_engine_that_nobody_has_listed_has_no_levels(engine: str) -> None:
    assert levels_of(engine) == ()
