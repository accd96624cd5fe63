"""References as files: whatever is wrong with one is told in two lines, before anything is launched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ruleout.engines import engine_named
from ruleout.engines.modelfolder import served_model
from ruleout.investigation.casefile import parse_case, read_case
from ruleout.investigation.folder import Folder
from ruleout.investigation.loop import check_launches
from ruleout.investigation.references import keep_references, read_reference, reference_text
from ruleout.model import Recorded, Reference, ServedModel, UsageError
from ruleout.store import Store

TWO = Reference(
    "/v1/completions",
    ServedModel("m"),
    (Recorded("One", 4, "two"), Recorded("Two", 4, "three", "length", ("three",), (-0.5,), (None,))),
    "vllm",
    {"vllm": "0.32.0"},
)
PROBE = "  - {kind: compare, reference: reference.json}\n"
CASE = f"name: n\nengine: vllm\ncommand: [vllm, serve, --model, org/m]\nprobes:\n{PROBE}"
MODELS = "factors:\n  model: {flag: --model, levels: [org/m, org/other], baseline: org/m}\n"


def saved(folder: Path, reference: Reference = TWO, **changes: Any) -> Path:
    path = folder / "reference.json"
    path.write_text(json.dumps(json.loads(reference_text(reference)) | changes))
    return path


def case_file(folder: Path, probe: str = PROBE) -> Path:
    path = folder / "case.yaml"
    path.write_text(CASE.replace(PROBE, probe))
    return path


def test_a_reference_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    path = saved(tmp_path)
    assert json.loads(path.read_text())["schema"] == "ruleout.reference/1"
    read = read_reference(path, "reference.json")
    assert read == TWO
    assert read.source == str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "its schema is None, not ruleout.reference/1"),
        ('{"schema": "ruleout.verdict/1"}', "its schema is 'ruleout.verdict/1'"),
        ('{"schema": "ruleout.reference/1"}', "path"),
        ("\ufeff{}", "its schema"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=["torn", "a list", "another document", "without anything", "with a BOM", "endless"],
)
def test_what_is_no_reference_is_told_in_two_lines(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(UsageError) as error:
        read_reference(tmp_path / "r.json", "r.json")
    assert error.value.what.startswith("reference r.json: ")
    assert words in error.value.what
    assert "\n" not in error.value.what + error.value.remedy


NAN = {"prompt": "x", "max_tokens": 4, "text": "a", "tokens": ["a"], "logprobs": [float("nan")], "runners_up": [None]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answers": []}, "there are no answers in it"),
        ({"path": "/generate"}, "path is '/generate'"),
        ({"answers": [{"prompt": "x"}]}, "answers.0.max_tokens"),
        ({"answers": [{"prompt": "x", "max_tokens": 0, "text": ""}]}, "max_tokens is not a number from 1 up"),
        ({"answers": [{"prompt": "x", "max_tokens": 4, "text": "", "logprobs": [-1.0]}]}, "not of one length"),
        ({"answers": [NAN]}, "a logprob that is not finite"),
    ],
)
def test_a_reference_that_cannot_be_compared_with_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as error:
        read_reference(saved(tmp_path, **changes), "reference.json")
    assert words in error.value.what


@pytest.mark.parametrize("there", ["nowhere.json", "."])
def test_a_case_without_its_reference_names_the_line(tmp_path: Path, there: str) -> None:
    with pytest.raises(UsageError, match=r"case.yaml, line 5: reference .*: no such file"):
        read_case(case_file(tmp_path, PROBE.replace("reference.json", there)))


def test_a_reference_is_found_beside_its_case(tmp_path: Path) -> None:
    saved(tmp_path)
    (probe,) = read_case(case_file(tmp_path)).probes
    assert probe.reference == TWO
    assert (probe.kind, probe.tolerance) == ("compare", 0.2)


def test_one_of_its_prompts_can_be_chosen_and_another_is_refused_with_those_there_are(tmp_path: Path) -> None:
    saved(tmp_path)
    (probe,) = read_case(case_file(tmp_path, PROBE.replace("}", ", prompt: Two, tolerance: 0.5}"))).probes
    assert probe.reference is not None
    assert [answer.prompt for answer in probe.reference.answers] == ["Two"]
    assert probe.tolerance == 0.5
    with pytest.raises(UsageError) as error:
        read_case(case_file(tmp_path, PROBE.replace("}", ", prompt: Three}")))
    assert "line 5: reference reference.json has no answer to the prompt 'Three'" in error.value.what
    assert error.value.remedy == "Its prompts: 'One', 'Two'."


def check(folder: Path, text: str) -> None:
    check_launches(parse_case(text, folder=folder), engine_named("vllm"))


def test_a_reference_of_another_model_is_refused_before_anything_is_launched(tmp_path: Path) -> None:
    saved(tmp_path, model={"name": "glm"})
    with pytest.raises(UsageError) as error:
        check(tmp_path, CASE)
    assert error.value.what == "reference reference.json was made with the model glm, and the command serves m"
    assert "Make a reference with this model" in error.value.remedy


def test_so_is_a_level_that_serves_another_model(tmp_path: Path) -> None:
    saved(tmp_path)
    with pytest.raises(UsageError, match="the command serves other under model=org/other"):
        check(tmp_path, CASE + MODELS)
    check(tmp_path, CASE + MODELS.replace("org/other", "elsewhere/m"))


def model(folder: Path, **more: Any) -> ServedModel:
    folder.mkdir()
    shape = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 512}
    (folder / "config.json").write_text(json.dumps(shape | more))
    return served_model(str(folder), folder)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"quantization_config": {"bits": 4}, "torch_dtype": "bfloat16", "transformers_version": "9"}, False),
        ({"model_type": "mistral"}, False),
        ({"hidden_size": 128}, True),
        ({"num_hidden_layers": 3}, True),
    ],
    ids=["in another format", "under another type", "wider", "deeper"],
)
def test_a_model_is_known_by_its_shape_where_its_folder_is_at_hand(
    tmp_path: Path, change: dict[str, Any], differs: bool
) -> None:
    assert model(tmp_path / "mine").differs(model(tmp_path / "other", **change)) is differs


def test_without_its_folder_a_model_is_known_by_the_last_part_of_its_name() -> None:
    assert not served_model("org/m", None).differs(served_model("/models/m/", None))
    assert served_model("org/m", None).differs(served_model("org/n", None))
    assert ServedModel("a", "llama").differs(ServedModel("a", "glm"))


def test_an_investigation_keeps_its_own_copy(tmp_path: Path) -> None:
    saved(tmp_path)
    case = read_case(case_file(tmp_path))
    folder = Folder(tmp_path / "ruleout" / "n")
    folder.create()
    with Store(folder.path, writing=True):
        keep_references(case, folder)
    (tmp_path / "reference.json").unlink()
    (probe,) = parse_case(CASE, "case.yaml", folder.path).probes
    assert probe.reference == TWO


def test_two_references_of_one_name_are_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "b").mkdir()
    saved(tmp_path / "b")
    both = parse_case(CASE.replace(PROBE, PROBE + PROBE.replace("reference.json", "b/reference.json")), folder=tmp_path)
    folder = Folder(tmp_path / "n")
    folder.create()
    with pytest.raises(UsageError, match=r"two references are called reference.json"):
        keep_references(both, folder)
