"""An archive comes from a stranger: nothing in it is believed before it was looked at, and nothing of it is run.

It is unpacked beside where it belongs, read once as every verb will read it, and only then given its name.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ruleout.investigation.archiving import ABOUT, CASE, EVENTS, NAME, SCHEMA
from ruleout.investigation.folder import HOME, Folder, require_room
from ruleout.investigation.session import current_verdict, read_journal, stored_case
from ruleout.investigation.whole import beside_of, whole_folder
from ruleout.model import Case, MissingError, UsageError, Verdict
from ruleout.model.inert import inert
from ruleout.store import Store

MOST_BYTES = 2 << 30
"""Of an archive, unpacked."""
MOST_FILES = 100_000
_CHUNK = 1 << 20
_ELSEWHERE = "Make room or give permission there, or name another folder with --dir."
_FRESH = "Get a fresh one from whoever made it: `ruleout export`."
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ArithmeticError)


Record = Callable[[Case, Verdict, Folder], None]


def unpack(path: Path, chosen: Path | None, record: Record | None = None) -> tuple[Folder, Case, Verdict]:
    """Unpack an archive into ./ruleout/NAME or the chosen folder; what every verb needs of it.

    Args:
        record: writes what people read of it into its folder, before that gets its name.

    Raises:
        UsageError: it is no archive of an investigation, it is damaged or hostile, or there is one of its name already.
        MissingError: no room.
    """
    if not path.is_file():
        what = "no plain file" if path.exists() else "no such file"
        raise UsageError(f"{path}: {what}", "Name an archive that `ruleout export` wrote.")
    try:
        with zipfile.ZipFile(path) as archive:
            return _imported(path, archive, chosen, record)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, NotImplementedError, EOFError) as problem:
        raise UsageError(f"{path}: no archive of an investigation: {problem}", _FRESH) from None
    except RuntimeError as problem:  # zipfile's word for what is encrypted
        raise UsageError(f"{path}: {problem}", _FRESH) from None


def _imported(
    path: Path, archive: zipfile.ZipFile, chosen: Path | None, record: Record | None
) -> tuple[Folder, Case, Verdict]:
    entries = _checked(path, archive)
    about = _about(path, archive)
    home = (chosen or Path(HOME) / about).absolute()
    if home.exists() or home.is_symlink():
        raise UsageError(f"{home} exists already", "Name another folder with --dir.")
    try:
        with whole_folder(home) as beside:
            require_room(home.parent, sum(entry.file_size for entry in entries) + (8 << 20))
            for entry in entries:
                if entry.filename not in (ABOUT, EVENTS):
                    _place(path, archive, entry, beside / entry.filename)
            _store(path, archive, beside)
            case, verdict = _read(path, Folder(beside))
            if record is not None:
                record(case, verdict, Folder(beside))
    except OSError as problem:
        raise MissingError(f"{home}: {problem.strerror}", _ELSEWHERE) from None
    except MissingError as problem:  # what it says of a folder that is no more helps nobody
        raise MissingError(problem.what.replace(str(beside_of(home)), str(home)), _ELSEWHERE) from None
    return Folder(home), case, verdict


def _checked(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Its entries, all of them plain files of an investigation, each once, and not too much of them."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise UsageError(
            f"{path}: unpacked it would be more than {MOST_BYTES >> 30} GiB or {MOST_FILES} files",
            "Refused. An archive that `ruleout export` wrote is smaller.",
        )
    seen: set[str] = set()
    for entry in entries:
        mode = entry.external_attr >> 16
        if not NAME.fullmatch(entry.orig_filename) or (stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
            name = ascii(entry.orig_filename)[:80]
            raise UsageError(f"{path}: {name} is no file of an investigation", f"Refused. {_FRESH}")
        if entry.filename in seen:
            raise UsageError(f"{path}: {entry.filename} is in it twice", f"Refused. {_FRESH}")
        seen.add(entry.filename)
    for name in (ABOUT, CASE, EVENTS):
        if name not in seen:
            raise UsageError(f"{path}: no archive of an investigation: it has no {name}", _FRESH)
    return entries


def _about(path: Path, archive: zipfile.ZipFile) -> str:
    """The name under which it was exported."""
    with contextlib.suppress(*_DAMAGED):
        about = json.loads(archive.read(ABOUT))
        name = about["name"]
        if about["schema"] == SCHEMA and isinstance(name, str):
            if _names_folder(name):
                return name
            raise UsageError(f"{path}: its name names no folder: {name!r:.80}", f"Refused. {_FRESH}")
        raise UsageError(f"{path}: its schema is {about['schema']!r}, not {SCHEMA}", "Use a ruleout that knows it.")
    raise UsageError(f"{path}: {ABOUT} is damaged", _FRESH)


def _names_folder(name: str) -> bool:
    return 0 < len(name) <= 100 and name == Path(name).name and name.strip(".") != "" and name.isprintable()


def _place(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("xb") as out:
        for block in _blocks(path, archive, entry):
            out.write(block)


def _blocks(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """What an entry holds; never more than it says, whatever its compressed bytes become."""
    left = entry.file_size
    with archive.open(entry) as stream:
        while block := stream.read(_CHUNK):
            left -= len(block)
            if left < 0:
                raise UsageError(f"{path}: {entry.filename} is longer than it says", f"Refused. {_FRESH}")
            yield block


def _store(path: Path, archive: zipfile.ZipFile, folder: Path) -> None:
    """The events, each checked as far as a store can."""
    with Store(folder, writing=True) as store, store.together(), archive.open(EVENTS) as stream:
        for number, line in enumerate(stream, 1):
            try:
                event = json.loads(line)
                kind, trial, wall, body = event["kind"], event["trial"], float(event["wall"]), event["body"]
                if not (isinstance(kind, str) and isinstance(body, dict) and _contained(body)):
                    raise ValueError
                if not (trial is None or (isinstance(trial, int) and 0 <= trial < 1 << 31)):
                    raise ValueError
                store.append(inert(kind), trial, _inert(body), wall)
            except (*_DAMAGED, UsageError):  # a store complains of what is no JSON
                raise UsageError(f"{path}: {EVENTS}, line {number} is damaged", _FRESH) from None
        store.append("imported", None, {"from": path.name})


def _inert(value: Any) -> Any:
    """Without what moves a cursor or hides: verbs show what they read of it."""
    if isinstance(value, dict):
        return {inert(str(name)): _inert(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_inert(item) for item in value]
    return inert(value) if isinstance(value, str) else value


def _contained(value: Any, key: str = "") -> bool:
    """Whether no file that it names leads out of its folder."""
    if isinstance(value, dict):
        return all(_contained(item, str(name)) for name, item in value.items())
    if isinstance(value, list):
        return all(_contained(item, key) for item in value)
    if not isinstance(value, str) or key not in ("log", "report", "source"):
        return True
    return "\0" not in value and ".." not in value.split("/") and (key == "source" or not os.path.isabs(value))


def _read(path: Path, folder: Folder) -> tuple[Case, Verdict]:
    """What `status` will read. Raises UsageError when it could not."""
    try:
        case = stored_case(folder)
        return case, current_verdict(case, read_journal(folder))
    except UsageError as problem:
        what = problem.what.replace(str(folder.path), path.name)
        raise UsageError(f"{path}: {what}", _FRESH) from None
    except _DAMAGED as problem:
        raise UsageError(f"{path}: what it tells does not fit together: {problem!r:.80}", _FRESH) from None
