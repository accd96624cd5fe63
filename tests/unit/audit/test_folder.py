"""A folder that comes from anywhere: a finding, never a crash, nothing outside read, nothing run."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.models import model

from ruleout.audit import ModelFolder, Unreadable, audit
from ruleout.audit.folder import DEEPEST, SMALL, quoted
from ruleout.model.audit import Severity


def _deep(path: Path) -> None:
    path.write_text("[" * 100_000 + "]" * 100_000)


def _deep_but_parsed(path: Path) -> None:
    path.write_text('{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1))


def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 40)


def _huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(SMALL * 4)


def _endless_number(path: Path) -> None:
    path.write_text('{"vocab_size": ' + "9" * 10_000 + "}")


def _list(path: Path) -> None:
    path.write_text("[1, 2]")


def _empty(path: Path) -> None:
    path.write_text("")


def _link_out(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def _link_up(path: Path) -> None:
    path.unlink()
    (path.parent.parent / "secret.json").write_text('{"model_type": "hidden"}')
    path.symlink_to("../secret.json")


def _circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _nowhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere.json")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


SPOILT = [_deep, _deep_but_parsed, _binary, _huge, _endless_number, _list, _empty, _link_out, _link_up, _circle]
SPOILT += [_nowhere, _pipe, _device, _folder]


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"])
@pytest.mark.parametrize("spoil", SPOILT)
def test_a_hostile_file_is_a_finding(tmp_path: Path, spoil: Callable[[Path], None], name: str) -> None:
    folder = model(tmp_path / "m")
    spoil(folder / name)
    found = audit(ModelFolder(folder))
    assert any(name in finding.where for finding in found.findings), found.findings
    assert found.failed
    assert "hidden" not in json.dumps([finding.what for finding in found.findings])


def test_a_hostile_template_is_a_finding(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    for text in ("{% if %}", "{{ " + "(" * 5000 + ")" * 5000 + " }}", "{% for x in y %}" * 3000, "a" * (2 << 20)):
        (folder / "chat_template.jinja").write_text(text)
        assert any("chat_template.jinja" in finding.where for finding in audit(ModelFolder(folder)).findings), text[:20]


def test_a_template_is_never_run(tmp_path: Path) -> None:
    folder, proof = model(tmp_path / "m"), tmp_path / "proof"
    attack = "{{ ().__class__.__base__.__subclasses__()[0].__init__.__globals__['os'].system('touch PROOF') }}"
    (folder / "chat_template.jinja").write_text(attack.replace("PROOF", str(proof)))
    audit(ModelFolder(folder))
    assert not proof.exists()


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    folder, proof = model(tmp_path / "m"), tmp_path / "proof"

    class Attack:
        def __reduce__(self) -> tuple[Callable[..., int], tuple[str]]:
            return os.system, (f"touch {proof}",)

    for name in ("pytorch_model.bin", "config.json", "tokenizer.json", "model.pt"):
        (folder / name).write_bytes(pickle.dumps(Attack()))
    audit(ModelFolder(folder))
    assert not proof.exists()


def test_a_link_within_a_cache_of_the_hub_is_followed(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (blobs / "feed").write_text('{"model_type": "llama"}')
    (snapshot / "config.json").symlink_to("../../blobs/feed")
    (snapshot / "generation_config.json").symlink_to("../../../outside")
    (tmp_path / "outside").write_text("{}")
    assert ModelFolder(snapshot).mapping("config.json") == {"model_type": "llama"}
    with pytest.raises(Unreadable, match="out of the folder"):
        ModelFolder(snapshot).mapping("generation_config.json")


def test_what_is_quoted_is_short_and_harmless() -> None:
    deep: object = []
    for _ in range(10_000):
        deep = [deep]
    for value in ("\x1b[31m" + "a" * 500, deep, {"a": object()}, b"\0" * 900, 10**400, float("nan")):
        text = quoted(value)
        assert len(text) <= 80
        assert text.isprintable()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "chat_template.jinja", "model.safetensors"])
@pytest.mark.parametrize(
    ("saved", "told"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 134\n", "Git LFS pointer"),
        (b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "HTML"),
    ],
)
def test_what_a_download_left_instead_is_named(tmp_path: Path, name: str, saved: bytes, told: str) -> None:
    folder = model(tmp_path / "m")
    for weights in folder.glob("*.safetensors*"):
        weights.unlink()
    (folder / name).write_bytes(saved)
    found = [finding for finding in audit(ModelFolder(folder)).findings if name in finding.where]
    assert [told in finding.what for finding in found if finding.severity is Severity.ERROR] == [True], found


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 134\n"


@pytest.mark.parametrize(
    ("name", "beside", "severity"),
    [
        ("pytorch_model.bin", "", Severity.ERROR),
        ("model.gguf", "", Severity.ERROR),
        ("tokenizer.model", "", Severity.ERROR),
        ("tokenizer.model", "tokenizer.json", Severity.WARNING),
        ("special_tokens_map.json", "tokenizer.json", Severity.ERROR),
        ("preprocessor_config.json", "tokenizer.json", Severity.ERROR),
    ],
)
def test_a_pointer_in_the_place_of_any_file_that_is_loaded_is_named(
    tmp_path: Path, name: str, beside: str, severity: Severity
) -> None:
    folder = model(tmp_path / "m")
    for weights in folder.glob("*.safetensors*") if not name.endswith((".json", ".model")) else ():
        weights.unlink()
    if not beside:
        (folder / "tokenizer.json").unlink()
    (folder / name).write_bytes(POINTER)
    found = [finding for finding in audit(ModelFolder(folder)).findings if name in finding.where]
    assert [(one.severity, "Git LFS pointer" in one.what) for one in found] == [(severity, True)]


def test_pickles_that_were_not_fetched_are_only_looked_for_where_they_would_be_loaded(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    (folder / "pytorch_model.bin").write_bytes(POINTER)
    assert not any("pytorch_model.bin" in finding.where for finding in audit(ModelFolder(folder)).findings)


def test_the_same_in_the_place_of_all_files_is_one_finding(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    weights = sorted(folder.glob("*.safetensors"))
    for file in weights:
        file.write_bytes(POINTER)
    found = [finding for finding in audit(ModelFolder(folder)).findings if finding.id == "checkpoint-instead"]
    assert len(weights) > 1
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"a": 1, "b": {"c": 2, "c": 3}, "a": 4}', {"a", "c"}),
        ('{"a": 1, "a": 1}', set()),
        ('{"a": 1, "b": {"a": 2}}', set()),
        ("{", set()),
    ],
)
def test_keys_that_stand_twice_with_different_values(tmp_path: Path, text: str, keys: set[str]) -> None:
    (tmp_path / "config.json").write_text(text)
    assert set(ModelFolder(tmp_path).twice("config.json")) == keys
    assert ModelFolder(tmp_path).twice("generation_config.json") == ()


def test_a_byte_order_mark_is_an_error_where_transformers_refuses_it(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").write_text("\ufeff" + template)
    assert not audit(ModelFolder(folder)).failed
    (folder / "config.json").write_bytes(b"\xef\xbb\xbf" + (folder / "config.json").read_bytes())
    (finding,) = [one for one in audit(ModelFolder(folder)).findings if one.id == "unreadable-file"]
    assert finding.severity is Severity.ERROR
    assert "byte-order mark" in finding.what


@pytest.mark.parametrize(
    ("text", "words"),
    [("null", "holds null"), ("3", "holds a number"), ('"a"', "holds text"), ('{"a": ' + "9" * 5000 + "}", "digits")],
)
def test_what_a_file_holds_is_told_in_words(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(Unreadable) as raised:
        ModelFolder(tmp_path).mapping("config.json")
    assert words in raised.value.why
    assert "sys." not in raised.value.why
