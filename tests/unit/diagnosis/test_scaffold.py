"""The first draft of a rule: it reads as a rule does, and does what its examples say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ruleout.diagnosis.catalogue import read_files
from ruleout.diagnosis.examples import wrong
from ruleout.diagnosis.scaffold import Traced, name, pattern, scaffold
from ruleout.model import Component, Exposure, Failure, FailureClass, Stage, UsageError

MESSAGE = "scale of layer 3 is missing for '/models/mini' at 0x7f (got 1.5 of {2})"
LINE = f"(EngineCore pid=9) ERROR 11-29 16:26:01 [core.py:700] ValueError: {MESSAGE}"
FAILURE = Failure(FailureClass.QUANT_FORMAT_MISMATCH, Exposure(Stage.DECODE, 1), MESSAGE, "ab", "ValueError")
TRACED = Traced(
    "vllm",
    FAILURE,
    Component.KV_CACHE_DTYPE,
    "it needs kv_cache_dtype={fp8}",
    {"--kv-cache-dtype": "auto"},
    ("--kv-cache-dtype auto", "without --calculate-kv-scales"),
    {"kv_cache_dtype": "fp8_e4m3"},
    (LINE,),
    ("INFO: Application startup complete.", "ValueError: No available memory for the cache blocks"),
)


def read(tmp_path: Path, text: str) -> dict[str, object]:
    (tmp_path / "new.yaml").write_text(text, encoding="utf-8")
    rules = read_files([tmp_path / "new.yaml"])
    assert wrong(rules) == []
    (rule,) = yaml.safe_load(text)
    assert isinstance(rule, dict)
    return rule


def test_it_is_a_rule_that_matches_its_failing_lines_and_no_others(tmp_path: Path) -> None:
    rule = read(tmp_path, scaffold(TRACED))
    assert rule["id"] == "scale-of-layer-is-missing"
    assert rule["component"] == "kv_cache_dtype"
    assert rule["engines"] == ["vllm"]
    assert rule["fix"] == {"set": {"--kv-cache-dtype": "auto"}, "note": "or without --calculate-kv-scales"}
    assert rule["test"] == "it fails alike with --kv-cache-dtype auto"
    assert rule["examples"] == {"matching": [LINE], "other": list(TRACED.other)}


def test_what_only_its_author_knows_is_marked() -> None:
    text = scaffold(TRACED)
    for key in ("claim", "references", "confidence", "test"):
        assert re.search(rf"(?m)^  # .+\n  {key}:", text), key


@pytest.mark.parametrize(
    "other",
    [
        "scale of layer 17 is missing for '/data/x/y' at 0xffa0 (got 2.25 of {8})",
        "ValueError: scale of layer 0 is missing for 'm' at 0x1 (got 1 of {1})",
    ],
)
def test_a_pattern_leaves_open_what_differs_from_run_to_run(other: str) -> None:
    assert re.search(pattern(MESSAGE), other)
    assert not re.search(pattern(MESSAGE), "scale of layer 3 is there for '/models/mini'")


@pytest.mark.parametrize("message", ["", "(", "a*b+[c", "x" * 5000, "\\", "1 2 3", "a\nb", "\x1b[31mred\x1b[0m {n}"])
def test_any_message_makes_a_pattern_and_a_name(message: str) -> None:
    failure = Failure(FailureClass.OTHER, Exposure(Stage.UNKNOWN), message, "s")
    re.compile(pattern(message))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name(failure))


BARE = Failure(FailureClass.OTHER, Exposure(Stage.WEIGHT_LOAD), "'model.layers.61.weight_scale_inv'", "ab", "KeyError")


def test_of_a_message_that_is_a_bare_name_the_name_is_kept(tmp_path: Path) -> None:
    line = f"KeyError: {BARE.message}"
    rule = read(tmp_path, scaffold(Traced("", BARE, None, "x", matching=(line,), other=("KeyError: 'another.name'",))))
    assert (rule["id"], rule["title"]) == ("keyerror-model-layers-weight-scale-inv", line)
    when = rule["when"]
    assert isinstance(when, dict)
    (told,) = when["any"]
    assert re.search(told, "KeyError: 'model.layers.3.weight_scale_inv'")
    assert not re.search(told, "KeyError: 'model.layers.3.bias'")


def test_a_long_title_is_cut_between_words_and_the_whole_of_it_stands_in_the_examples(tmp_path: Path) -> None:
    message = " ".join(f"word{letter * 5}" for letter in "abcdefghijklmnopqrst")
    failure = Failure(FailureClass.OTHER, Exposure(Stage.UNKNOWN), message, "s", "RuntimeError")
    line = f"RuntimeError: {message}"
    rule = read(tmp_path, scaffold(Traced("vllm", failure, None, "x", matching=(line,))))
    title = str(rule["title"])
    assert len(title) <= 100
    assert title[:-1] in message
    assert message[len(title) - 1] == " "
    assert rule["examples"] == {"matching": [line], "other": ["INFO: Application startup complete."]}
    assert "stage" not in str(rule["when"])


def test_where_nothing_stands_for_a_part_of_the_stack_its_writer_is_asked_for_it() -> None:
    text = scaffold(Traced("vllm", FAILURE, None, "x", matching=(LINE,)))
    comment = text[: text.index("  component: other")].rpartition("'")[2]
    assert "put that where you found the cause" in comment
    assert all(part.value in comment for part in Component if part is not Component.OTHER)


def test_what_may_help_and_was_not_tried_is_a_note(tmp_path: Path) -> None:
    rule = read(tmp_path, scaffold(Traced("vllm", FAILURE, None, "x", matching=(LINE,), advice="another release")))
    assert rule["fix"] == {"note": "another release"}


def test_conditions_that_the_examples_do_not_bear_are_left_out(tmp_path: Path) -> None:
    rule = read(tmp_path, scaffold(TRACED))
    when = rule["when"]
    assert isinstance(when, dict)
    assert "settings" not in when  # no line of the excerpt tells of them


def test_a_failure_that_no_line_tells_of_makes_no_rule() -> None:
    with pytest.raises(UsageError, match="no line of a log"):
        scaffold(Traced("vllm", FAILURE, Component.OTHER, "x"))


def test_a_healthy_line_that_says_the_same_makes_no_rule() -> None:
    with pytest.raises(UsageError, match="no pattern"):
        scaffold(Traced("vllm", FAILURE, Component.OTHER, "x", matching=(LINE,), other=(LINE,)))


def test_hostile_lines_are_examples_and_nothing_else(tmp_path: Path) -> None:
    hostile = f"- id: evil\n  \x1b[31m'\"#: &a *a !!python/object:os.system {{}} \u202e```\n{LINE}"
    text = scaffold(Traced("vllm", FAILURE, Component.OTHER, "- x: {y}", matching=(hostile,)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert read(tmp_path, text)["id"] == "scale-of-layer-is-missing"
