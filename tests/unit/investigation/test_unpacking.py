"""An archive from a stranger: refused in two lines, and nothing of it is left."""

from __future__ import annotations

import json
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.investigations import stored

from ruleout.investigation import unpacking
from ruleout.investigation.archiving import export
from ruleout.investigation.unpacking import unpack
from ruleout.model import UsageError


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    export(stored(tmp_path / "from"), tmp_path / "a.zip")
    return tmp_path / "a.zip"


def refused(archive: Path, tmp_path: Path) -> str:
    """Why it is refused; nothing may be left of it, there or anywhere."""
    before = {path for path in tmp_path.rglob("*") if path != archive}
    with pytest.raises(UsageError) as told:
        unpack(archive, tmp_path / "to" / "it")
    left = {path for path in tmp_path.rglob("*") if path != archive} - before
    assert left == set()
    assert "\n" not in told.value.what
    assert "\n" not in told.value.remedy
    assert told.value.remedy
    return told.value.what


def with_entry(archive: Path, name: str, data: bytes = b"x", mode: int = stat.S_IFREG | 0o644) -> None:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    with zipfile.ZipFile(archive, "a") as made:
        made.writestr(info, data)


def changed(archive: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """The archive with one of its files changed."""
    with zipfile.ZipFile(archive) as old:
        files = {info.filename: old.read(info) for info in old.infolist()}
    files[name] = change(files[name])
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for each, data in files.items():
            made.writestr(each, data)


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "trials/../../evil",
        "/tmp/evil",
        "trials/0001/../../../evil",
        "trials\\0001\\x",
        "C:evil",
        ".bashrc",
        "ruleout.db",
        "lock",
        "trials/0001/.hidden",
        "trials/0001/",
        "report.html",
        "trials/0001/a\nb",
        "trials/0001/a\u202eb/x y",
        "x" * 5000,
    ],
)
def test_a_name_that_no_investigation_has_is_refused(archive: Path, tmp_path: Path, name: str) -> None:
    with_entry(archive, name)
    assert "is no file of an investigation" in refused(archive, tmp_path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFSOCK])
def test_a_link_or_device_is_refused(archive: Path, tmp_path: Path, kind: int) -> None:
    with_entry(archive, "trials/0001/evidence/x.txt", b"/etc/passwd", kind | 0o777)
    assert "is no file of an investigation" in refused(archive, tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_in_it_twice_is_refused(archive: Path, tmp_path: Path) -> None:
    with_entry(archive, "case.yaml")
    assert "is in it twice" in refused(archive, tmp_path)


def test_a_bomb_is_refused_by_what_it_says_before_a_byte_is_unpacked(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_entry(archive, "trials/0001/big.log", b"\0" * (8 << 20))
    monkeypatch.setattr(unpacking, "MOST_BYTES", 4 << 20)
    monkeypatch.setattr(unpacking, "_place", lambda *_: pytest.fail("unpacked"))
    assert "unpacked it would be more than" in refused(archive, tmp_path)


def test_a_bomb_that_lies_about_its_size_is_refused(archive: Path, tmp_path: Path) -> None:
    data = b"\0" * (4 << 20)
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as made:
        made.writestr("trials/0001/big.log", data)
    raw = archive.read_bytes()
    lie = raw.replace(struct.pack("<L", len(data)), struct.pack("<L", 10))
    assert lie != raw
    archive.write_bytes(lie)
    assert refused(archive, tmp_path)


def test_too_many_files_are_refused(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_FILES", 5)
    assert "5 files" in refused(archive, tmp_path)


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"not an archive", b"\x1f\x8b\x08"])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    assert "no archive of an investigation" in refused(tmp_path / "a.zip", tmp_path)


def test_a_file_that_is_not_there_and_a_folder_are_said_so(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.zip", tmp_path)
    assert "no plain file" in refused(tmp_path, tmp_path)


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.99])
def test_an_archive_that_was_cut_off_is_refused(archive: Path, tmp_path: Path, part: float) -> None:
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * part)])
    assert refused(archive, tmp_path)


def test_an_archive_with_a_flipped_byte_is_refused(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as old:
        at = old.getinfo("trials/0001/server.log").header_offset + 60
    data = bytearray(archive.read_bytes())
    data[at] ^= 0xFF
    archive.write_bytes(data)
    assert refused(archive, tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("export.json", "{}"),
        ("export.json", '{"schema": "ruleout.export/9", "name": "x"}'),
        ("export.json", '{"schema": "ruleout.export/1", "name": "../x"}'),
        ("export.json", '{"schema": "ruleout.export/1", "name": ".."}'),
        ("export.json", "[" * 200_000),
        ("case.yaml", "name: [\n"),
        ("case.yaml", "a: &a [x, *a]\n"),
        ("case.yaml", ""),
        ("events.jsonl", "no JSON\n"),
        ("events.jsonl", '{"wall": 1, "kind": "finished", "trial": 1, "body": {}}\n'),
        ("events.jsonl", '{"wall": "x", "kind": "case", "trial": null, "body": {}}\n'),
        ("events.jsonl", '{"wall": 1, "kind": "case", "trial": "1", "body": {}}\n'),
        ("events.jsonl", '{"wall": 1, "kind": "case", "trial": 1e999, "body": {}}\n'),
        ("events.jsonl", '{"wall": 1, "kind": "verdict", "trial": null, "body": {"verdict": {"status": "x"}}}\n'),
        ("events.jsonl", "[" * 200_000 + "\n"),
        ("events.jsonl", '{"wall": NaN, "kind": "case", "trial": null, "body": {}}\n'),
        ("events.jsonl", '{"wall": 1, "kind": "case", "trial": null, "body": {"x": NaN}}\n'),
        ("events.jsonl", '{"wall": 1, "kind": "planned", "trial": 2000000000000, "body": {}}\n'),
    ],
)
def test_damaged_documents_are_refused(archive: Path, tmp_path: Path, name: str, text: str) -> None:
    changed(archive, name, lambda _: text.encode())
    assert refused(archive, tmp_path)


@pytest.mark.parametrize("path", ["../../../../etc/passwd", "/etc/passwd", "trials/../../x", "a\0b"])
def test_an_event_that_names_a_file_outside_is_refused(archive: Path, tmp_path: Path, path: str) -> None:
    def led_out(data: bytes) -> bytes:
        events = [json.loads(line) for line in data.splitlines()]
        for event in events:
            if "log" in event["body"]:
                event["body"]["log"] = path
        return "".join(json.dumps(event) + "\n" for event in events).encode()

    changed(archive, "events.jsonl", led_out)
    assert "events.jsonl, line" in refused(archive, tmp_path)


def test_what_moves_a_cursor_or_hides_is_in_no_event(archive: Path, tmp_path: Path) -> None:
    hostile = "\\u001b[31mred\\u202e\\u0007 \\ud800x"
    changed(archive, "events.jsonl", lambda data: data.replace(b"as planned", hostile.encode()))
    _, _, verdict = unpack(archive, tmp_path / "it")
    assert {trial.purpose for trial in verdict.trials} == {"red x"}


def test_a_folder_that_is_there_already_is_left_alone(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "to" / "it").mkdir(parents=True)
    assert "exists already" in refused(archive, tmp_path)


def test_without_a_folder_it_goes_where_investigations_are(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    folder, case, verdict = unpack(archive, None)
    assert folder.path == tmp_path / "cwd" / "ruleout" / "kv-of-eight-bits"
    assert case.name == "kv-of-eight-bits"
    assert len(verdict.trials) == 6
    assert not list(folder.path.parent.glob(".*"))
