"""A healthy checkpoint has no findings, and whatever is done to one of its files, somewhere, is found."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.checkpoints import LISTED, library_wrote, read_entries, write_file

from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import AuditFinding, Severity

HEALTHY = sorted(json.loads(LISTED.read_text()))
INDEX = "model.safetensors.index.json"
ABOUT = ("checkpoint", "quantised", "deep")


def findings(folder: Path, *, deep: bool = False) -> list[AuditFinding]:
    """What is said of the checkpoint; other checks have their own tests."""
    found = audit(ModelFolder(folder), deep=(lambda done, total: None) if deep else None).findings
    return [finding for finding in found if finding.id.startswith(ABOUT)]


def ids(folder: Path, *, deep: bool = False) -> set[str]:
    return {finding.id for finding in findings(folder, deep=deep)}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_a_library_wrote_has_no_findings_even_when_every_number_is_read(name: str, tmp_path: Path) -> None:
    folder = library_wrote(name, np.random.default_rng(1)).write(tmp_path / name)
    assert findings(folder, deep=True) == []


Damage = Callable[[Path, random.Random], None]


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def _delete(folder: Path, chance: random.Random) -> None:
    chance.choice(shards(folder)).unlink()


def _truncate(folder: Path, chance: random.Random) -> None:
    file = chance.choice(shards(folder))
    _, data = read_entries(file)
    os.truncate(file, chance.randrange(data, file.stat().st_size))


def _truncate_header(folder: Path, chance: random.Random) -> None:
    file = chance.choice(shards(folder))
    _, data = read_entries(file)
    os.truncate(file, chance.randrange(8, data))


def _empty(folder: Path, chance: random.Random) -> None:
    os.truncate(chance.choice(shards(folder)), chance.randrange(8))


def _rest(folder: Path, chance: random.Random) -> None:
    with chance.choice(shards(folder)).open("ab") as file:
        file.write(b"\0" * chance.randrange(1, 5000))


def _extra_file(folder: Path, chance: random.Random) -> None:
    shutil.copy(chance.choice(shards(folder)), folder / f"model-{chance.randrange(10**5):05d}-old.safetensors")


def _index_lacks(folder: Path, chance: random.Random) -> None:
    index = json.loads((folder / INDEX).read_text())
    del index["weight_map"][chance.choice(sorted(index["weight_map"]))]
    (folder / INDEX).write_text(json.dumps(index))


def _index_invents(folder: Path, chance: random.Random) -> None:
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"]["model.layers.1.self_attn.x_proj.weight"] = chance.choice(shards(folder)).name
    (folder / INDEX).write_text(json.dumps(index))


def _index_misplaces(folder: Path, chance: random.Random) -> None:
    index = json.loads((folder / INDEX).read_text())
    name = chance.choice(sorted(index["weight_map"]))
    others = [file.name for file in shards(folder) if file.name != index["weight_map"][name]]
    index["weight_map"][name] = chance.choice(others)
    (folder / INDEX).write_text(json.dumps(index))


def _index_damaged(folder: Path, chance: random.Random) -> None:
    text = (folder / INDEX).read_text()
    (folder / INDEX).write_text(text[: chance.randrange(1, len(text) - 1)])


def _index_gone(folder: Path, chance: random.Random) -> None:
    (folder / INDEX).unlink()


def _twice(folder: Path, chance: random.Random) -> None:
    first, second = chance.sample(shards(folder), 2)
    (one, begins), (other, at) = read_entries(first), read_entries(second)
    one.pop("__metadata__"), other.pop("__metadata__")
    name = chance.choice(sorted(one))
    begin, end = one[name]["data_offsets"]
    held = {
        key: (entry["dtype"], tuple(entry["shape"]), second.read_bytes()[at:][slice(*entry["data_offsets"])])
        for key, entry in other.items()
    }
    held[name] = (one[name]["dtype"], tuple(one[name]["shape"]), first.read_bytes()[begins:][begin:end])
    write_file(second, held)


FILES: dict[str, tuple[Damage, set[str]]] = {
    "a shard is gone": (_delete, {"checkpoint-missing-file"}),
    "a shard is cut within its tensors": (_truncate, {"checkpoint-truncated"}),
    "a shard is cut within its header": (_truncate_header, {"checkpoint-header"}),
    "a shard is empty": (_empty, {"checkpoint-truncated"}),
    "a shard has bytes too many": (_rest, {"checkpoint-rest"}),
    "a file that nobody names": (_extra_file, {"checkpoint-extra-file"}),
    "the index lacks a tensor": (_index_lacks, {"checkpoint-extra-tensor"}),
    "the index names a tensor that is in no file": (_index_invents, {"checkpoint-missing-tensor"}),
    "the index names the wrong file": (_index_misplaces, {"checkpoint-misplaced-tensor"}),
    "the index is cut": (_index_damaged, {"checkpoint-index"}),
    "the index is gone": (_index_gone, {"checkpoint-no-index"}),
    "a tensor is in two files": (_twice, {"checkpoint-duplicate"}),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", FILES)
def test_damage_to_the_files_is_found_wherever_it_is(kind: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"{kind} {seed}")
    name = chance.choice(HEALTHY)
    folder = library_wrote(name, np.random.default_rng(seed)).write(tmp_path / name)
    damage, expected = FILES[kind]
    damage(folder, chance)
    assert expected <= ids(folder), f"{name}: {findings(folder)}"


HOSTILE: dict[str, bytes] = {
    "a header length of 2^63": struct.pack("<Q", 1 << 63) + b"{}",
    "a header length of 2^64-1": struct.pack("<Q", (1 << 64) - 1) + b"{}" * 100,
    "deep JSON": (lambda text: struct.pack("<Q", len(text)) + text)(b"[" * 200_000),
    "a deep object": (lambda text: struct.pack("<Q", len(text)) + text)(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "no JSON": (lambda text: struct.pack("<Q", len(text)) + text)(b"\xff\xfe\x00{"),
    "a list": (lambda text: struct.pack("<Q", len(text)) + text)(b"[1, 2]"),
    "a huge number": (lambda text: struct.pack("<Q", len(text)) + text)(b'{"a": ' + b"9" * 100_000 + b"}"),
    "a tensor that is a list": (lambda text: struct.pack("<Q", len(text)) + text)(b'{"a": [1]}'),
    "a terminal's commands as a name": (lambda text: struct.pack("<Q", len(text)) + text)(
        b'{"\\u001b]0;x\\u0007\\ud800": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    ),
    "nothing": b"",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_a_finding_that_is_safe_to_print(kind: str, tmp_path: Path) -> None:
    folder = library_wrote("llama", np.random.default_rng(0)).write(tmp_path / "model")
    shards(folder)[0].write_bytes(HOSTILE[kind])
    found = findings(folder, deep=True)
    assert any(
        finding.severity is Severity.ERROR and finding.where.startswith(shards(folder)[0].name) for finding in found
    )
    assert all(text.isprintable() for finding in found for text in (finding.what, finding.where))


BAD_ENTRIES: dict[str, tuple[dict[str, object], str]] = {
    "offsets that overlap": ({"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}, "checkpoint-overlap"),
    "offsets backwards": ({"dtype": "F32", "shape": [4], "data_offsets": [16, 0]}, "checkpoint-header"),
    "offsets of 2^70": ({"dtype": "U8", "shape": [1 << 70], "data_offsets": [0, 1 << 70]}, "checkpoint-header"),
    "offsets beyond the file": (
        {"dtype": "U8", "shape": [1 << 50], "data_offsets": [0, 1 << 50]},
        "checkpoint-truncated",
    ),
    "a shape that is not its size": ({"dtype": "F32", "shape": [5], "data_offsets": [0, 16]}, "checkpoint-header"),
    "a negative shape": ({"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}, "checkpoint-header"),
    "true for a size": ({"dtype": "U8", "shape": [True], "data_offsets": [0, 1]}, "checkpoint-header"),
    "an endless shape": ({"dtype": "F32", "shape": [2] * 4000, "data_offsets": [0, 16]}, "checkpoint-header"),
    "a dtype of its own": ({"dtype": "F7", "shape": [4], "data_offsets": [0, 16]}, "checkpoint-header"),
    "no offsets": ({"dtype": "F32", "shape": [4]}, "checkpoint-header"),
}


@pytest.mark.parametrize("kind", BAD_ENTRIES)
def test_an_entry_that_cannot_be_is_named(kind: str, tmp_path: Path) -> None:
    made = library_wrote("llama", np.random.default_rng(0))
    made.files = 1
    folder = made.write(tmp_path / "model")
    entry, expected = BAD_ENTRIES[kind]
    write_file(folder / "model.safetensors", made.tensors, header={"bad": entry})
    assert expected in ids(folder, deep=True)


def test_a_name_that_stands_twice_in_a_header_is_found(tmp_path: Path) -> None:
    entry = '{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}'
    text = f'{{"w": {entry}, "w": {entry}}}'.encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 4)
    (tmp_path / "config.json").write_text("{}")
    assert "checkpoint-duplicate" in ids(tmp_path)


def test_links_out_of_the_folder_are_not_followed_and_said(tmp_path: Path) -> None:
    folder = library_wrote("llama", np.random.default_rng(0)).write(tmp_path / "model")
    outside = tmp_path / "elsewhere.safetensors"
    first = shards(folder)[0]
    first.rename(outside)
    first.symlink_to(outside)
    assert "checkpoint-unreadable" in ids(folder)


def test_files_that_would_wait_or_never_end_are_not_read(tmp_path: Path) -> None:
    folder = library_wrote("llama", np.random.default_rng(0)).write(tmp_path / "model")
    first, second, *_ = shards(folder)
    first.unlink()
    second.unlink()
    os.mkfifo(first)
    second.symlink_to("/dev/zero")
    assert "checkpoint-unreadable" in ids(folder, deep=True)


def test_an_index_that_leads_out_of_the_folder_is_an_error(tmp_path: Path) -> None:
    folder = library_wrote("llama", np.random.default_rng(0)).write(tmp_path / "model")
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"]["lm_head.weight"] = "../../secret.safetensors"
    (folder / INDEX).write_text(json.dumps(index))
    assert "checkpoint-outside" in ids(folder)


def test_weights_that_are_not_looked_into_are_named(tmp_path: Path) -> None:
    folder = library_wrote("llama", np.random.default_rng(0)).write(tmp_path)
    for file in folder.glob("*.safetensors*"):
        file.unlink()
    (folder / "model.gguf").write_bytes(b"GGUF")
    assert [(f.id, f.severity) for f in findings(folder)] == [("checkpoint-other-format", Severity.NOTE)]


def test_pickles_are_named_and_never_loaded(tmp_path: Path) -> None:
    struck = tmp_path / "struck"
    program = f"cposix\nsystem\n(S'touch {struck}'\ntR.".encode()
    for name in ("pytorch_model.bin", "model.pt", "consolidated.00.pth"):
        (tmp_path / name).write_bytes(program)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    assert "checkpoint-pickle" in ids(tmp_path, deep=True)
    assert not struck.exists()
