"""A model's folder may come from anywhere: what is read of it is bounded, stays inside of it, and is never executed.

A link is followed only as far as a repository of the Hugging Face cache goes (`snapshots/…` points to `../../blobs`,
https://huggingface.co/docs/huggingface_hub/guides/manage-cache), or to a file within the folder itself.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

SMALL = 64 << 20
"""Bytes that a file of JSON or text may have; tokenizers of large vocabularies take about 30 MB."""
MOST_FILES = 20_000
DEEPEST = 64
"""How many levels a document of JSON may have."""
BEGINNING = 128
"""Bytes that tell what was saved in the place of a file."""
_LONGEST = 80
_FEW = 5
_MARK = "\ufeff"


class Unreadable(Exception):  # noqa: N818 - it is a finding, not an error
    """A file that is not read, and why.

    Args:
        name: of the file.
        why: what is wrong with it, as a clause.
        remedy: what to do.
    """

    def __init__(self, name: str, why: str, remedy: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name
        self.why = why
        self.remedy = remedy


class ModelFolder:
    """The folder of a model.

    Args:
        path: of the folder. Whether it is one is for the caller to know.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the files at its top, sorted; at most `MOST_FILES`."""
        found = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    found.append(entry.name)
                if len(found) >= MOST_FILES:
                    break
        return tuple(sorted(found))

    def has(self, name: str) -> bool:
        """Whether there is a file of that name, readable or not."""
        return os.path.lexists(self.path / name)

    def opened(self, name: str) -> BinaryIO:
        """A regular file within the folder, for reading; whoever opens closes it. Raises Unreadable."""
        path = self.path / name
        target = self._within(path, name)
        try:
            # A FIFO would wait for somebody to write: it is opened without waiting, and then refused.
            number = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as problem:
            raise Unreadable(name, problem.strerror or str(problem), "Give permission, or fetch it again.") from None
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise Unreadable(name, "no regular file", "Put the file itself there.")
        return os.fdopen(number, "rb")

    def instead(self, name: str) -> tuple[str, str] | None:
        """What lies in the place of a file, and what to do; None where it may be the file itself. Raises Unreadable."""
        with self.opened(name) as stream:
            return instead(stream.read(BEGINNING))

    def text(self, name: str, limit: int = SMALL) -> str:
        """A small text file, without a byte-order mark. Raises Unreadable."""
        return self._decoded(name, limit).removeprefix(_MARK)

    def _decoded(self, name: str, limit: int) -> str:
        with self.opened(name) as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise Unreadable(name, f"larger than {limit >> 20} MiB", "Fetch the published file again.")
        if told := instead(data[:BEGINNING]):
            raise Unreadable(name, *told)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise Unreadable(name, "no text: it is binary, or damaged", "Fetch the published file again.") from None

    def json(self, name: str, limit: int = SMALL) -> Any:
        """What a small file of JSON holds. Raises Unreadable."""
        text = self._decoded(name, limit)
        if text.startswith(_MARK):
            why = "begins with a byte-order mark: transformers takes it for no JSON and ends with an error"
            raise Unreadable(name, why, "Save it as UTF-8 without a byte-order mark.")
        try:
            document = json.loads(text)
            if _too_deep(document):
                raise RecursionError
        except RecursionError:
            raise Unreadable(name, "nested too deeply for any reader", "Fetch the published file again.") from None
        except json.JSONDecodeError as problem:
            why = f"no JSON: line {problem.lineno}, {problem.args[0]}"
            raise Unreadable(name, why, "Mend it, or fetch the published file again.") from None
        except ValueError:
            why = f"holds a number of more than {sys.get_int_max_str_digits()} digits, which no reader takes"
            raise Unreadable(name, why, "Mend it, or fetch the published file again.") from None
        return document

    def twice(self, name: str) -> tuple[str, ...]:
        """The keys that stand twice in one object of a small file of JSON, with different values; at most a few."""
        found: dict[str, None] = {}

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            made: dict[str, Any] = {}
            for key, value in pairs:
                if key in made and made[key] != value and len(found) < _FEW:
                    found[key] = None
                made[key] = value
            return made

        try:
            json.loads(self._decoded(name, SMALL), object_pairs_hook=once)
        except (Unreadable, RecursionError, ValueError):
            return ()  # which is told where the file is read
        return tuple(found)

    def mapping(self, name: str, limit: int = SMALL) -> Mapping[str, Any]:
        """A small file of JSON that holds an object. Raises Unreadable."""
        document = self.json(name, limit)
        if not isinstance(document, dict):
            why = f"holds {kind_of(document)}, where an object is expected"
            raise Unreadable(name, why, "Fetch the published file again.")
        return document

    def _within(self, path: Path, name: str) -> str:
        """Where a file really lies. Raises Unreadable when that is outside."""
        try:
            target = os.path.realpath(path, strict=True)
        except (OSError, ValueError):
            why = "a link that leads nowhere" if self.has(name) else "not there"
            raise Unreadable(name, why, "Fetch the published file.") from None
        if not any(os.path.commonpath([root, target]) == root for root in self._roots):
            why = f"a link out of the folder, to {quoted(target)}"
            raise Unreadable(name, why, "Put the file itself there: what a link from a download points to is not read.")
        return target

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        own = os.path.realpath(self.path)
        snapshots = os.path.dirname(own)
        cached = os.path.basename(snapshots) == "snapshots"
        return (own, os.path.join(os.path.dirname(snapshots), "blobs")) if cached else (own,)


def instead(beginning: bytes) -> tuple[str, str] | None:
    """What a download left in the place of a file, and what to do; None where it may be the file itself."""
    if beginning.startswith(b"version https://git-lfs.github.com/spec/"):
        return "a Git LFS pointer lies there, not the file that it points to", "Run git lfs pull in the folder."
    if beginning.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return (
            "a page of HTML lies there, not the file: a login or an error page was saved",
            "Fetch the published file again.",
        )
    return None


def kind_of(value: object) -> str:
    """What a value from a file of JSON is, in words."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def quoted(value: object) -> str:
    """A value from a file that may be hostile, as it is safe and short to print."""
    text = value if isinstance(value, str) else repr(value) if not isinstance(value, dict | list) else _nested(value)
    plain = "".join(character if character.isprintable() else "·" for character in text[: _LONGEST + 1])
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def _too_deep(document: Any) -> bool:
    """Whether a document is nested more deeply than what goes through it level by level can go."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _nested(value: Any) -> str:
    """A structure's beginning; one that is nested too deeply has no text."""
    try:
        return json.dumps(value)
    except (RecursionError, ValueError, TypeError):
        return f"a {type(value).__name__}"
