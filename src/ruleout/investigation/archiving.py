"""An investigation as one file without secrets: what happened as lines of JSON, the case, and the files of its trials.

The database does not travel: it is made anew from the events, so that nobody has to trust a stranger's. Lines of logs
keep their numbers, since they are the addresses of the evidence.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ruleout import __version__
from ruleout.investigation.casefile import parse_case
from ruleout.investigation.folder import Folder
from ruleout.investigation.session import read_journal, stored_case
from ruleout.investigation.sharing import Replaced, Sharer, in_order
from ruleout.investigation.whole import whole_file
from ruleout.model import MissingError, UsageError
from ruleout.model.private import PLACEHOLDER
from ruleout.store import Store

SCHEMA = "ruleout.export/1"
ABOUT, CASE, EVENTS = "export.json", "case.yaml", "events.jsonl"
NAME = re.compile(
    r"case\.yaml|events\.jsonl|export\.json|environments/\d{1,6}\.txt|references/\w[\w.-]{0,99}"
    r"|traces/\w[\w.-]{0,99}/trace\.json"
    r"|trials/\d{4,9}(?:/\w[\w.+=@-]{0,99}){1,4}"
)
"""All names of files in an archive."""
LONGEST = 16 << 20
"""Bytes of a log that travel: its first and its last half of this; lines in between are empty."""
MOST_DOCUMENT = 64 << 20
_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
"""Of all files: the same investigation gives the same archive."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an archive holds, what is replaced in it, and what was left out: the name and why."""

    files: int
    replaced: tuple[Replaced, ...]
    left_out: tuple[tuple[str, str], ...]


def export(folder: Folder, to: Path) -> Exported:
    """Write the archive of an investigation, whole or not at all.

    Raises:
        UsageError: its case cannot be read any more once its secrets are replaced.
        MissingError: no room, no permission; a file of it cannot be read.
    """
    try:
        with whole_file(to) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            return _Export(folder, archive).run()
    except OSError as problem:
        at = problem.filename or to
        raise MissingError(f"{at}: {problem.strerror or problem}", "Name a file that can be written.") from None


class _Export:
    def __init__(self, folder: Folder, archive: zipfile.ZipFile) -> None:
        self.folder, self.archive, self.sharer = folder, archive, Sharer()
        self.counts: Counter[str] = Counter()
        self.left_out: list[tuple[str, str]] = []
        self.files = 0

    def run(self) -> Exported:
        read_journal(self.folder)  # what cannot be understood here cannot be imported anywhere
        with Store(self.folder.path, writing=False) as store:
            events = [{"wall": e.wall, "kind": e.kind, "trial": e.trial, "body": e.body} for e in store.events()]
        stored_case(self.folder)
        text = self.folder.case.read_text(encoding="utf-8")
        self.sharer.redactor(text)  # what the case gives away is known for a secret wherever it stands
        self._text(CASE, self._case(text))
        self._text(EVENTS, "".join(_line(self._event(event)) for event in events))
        for path in sorted(self.folder.path.rglob("*")):
            name = path.relative_to(self.folder.path).as_posix()
            room = name.partition("/")[0]
            if room in ("environments", "references", "trials") and not path.is_dir():
                self._file(name, path)
            elif room == "traces" and path.name == "trace.json":
                self._file(name, path)  # what a trace came to; the numbers that it recorded are too many to travel
        about = {"schema": SCHEMA, "ruleout": __version__, "name": _shown(self.folder.path.name), "files": self.files}
        self._text(ABOUT, json.dumps(about, indent=1) + "\n")
        return Exported(self.files, in_order(self.counts), tuple(self.left_out))

    def _case(self, text: str) -> str:
        shown = self._name(self.sharer.yaml_text(text))
        try:
            parse_case(shown, CASE, self.folder.path)
        except UsageError as problem:
            raise UsageError(
                f"{self.folder.case}: without its secrets it is no case any more: {problem.what}",
                "Take the secret out of where it stands there, and export again.",
            ) from None
        return shown

    def _name(self, text: str) -> str:
        """A name that was replaced names a folder all the same."""
        return re.sub(r'(?m)^"?name"?: "<([\w-]+)>"$', r"name: \1", text)

    def _event(self, event: dict[str, Any]) -> dict[str, Any]:
        body = dict(event["body"])
        own = {key: body.pop(key) for key in ("token",) if key in body}  # a trial's mark, which is nobody's secret
        text = {"text": self._case(body.pop("text"))} if event["kind"] in ("case", "chosen") and "text" in body else {}
        return {**event, "body": {**self.sharer.value(body), **own, **text}}

    def _file(self, name: str, path: Path) -> None:
        if path.is_symlink() or not path.is_file() or not NAME.fullmatch(name):
            self.left_out.append((name, "no plain file of an investigation"))
            return
        try:
            with path.open("rb") as stream:
                beginning = stream.read(4096)
        except OSError as problem:  # a trial that is under way takes its own away again
            self.left_out.append((name, f"not readable: {problem.strerror}"))
            return
        try:
            if name.endswith((".json", ".jsonl")) and path.stat().st_size <= MOST_DOCUMENT:
                text = path.read_text(encoding="utf-8")
                documents = text.splitlines() if name.endswith(".jsonl") else [text]
                read = [json.loads(one) for one in documents if one.strip()]
                reference = name.startswith("references/")
                self._text(name, "".join(_line(self._document(one, reference)) for one in read))
                return
        except (ValueError, RecursionError):
            pass  # an agent that was killed leaves half a line: it is text then
        if b"\0" in beginning:
            self.left_out.append((name, "no text"))
        else:
            self._log(name, path)

    def _document(self, document: Any, reference: bool) -> Any:
        own = {}
        if isinstance(document, dict):
            own = {key: document[key] for key in ("schema", "token") if key in document}
        if reference and isinstance(document, dict):
            document = {**document, "answers": [_untold(one) for one in document.get("answers", ())]}
        shown = self.sharer.value(document)
        return {**shown, **own} if own else shown

    def _log(self, name: str, path: Path) -> None:
        with self.archive.open(_info(name), "w") as out:
            for chunk in _chunks(path):
                self._write(out, self.sharer.text(chunk.decode("utf-8", "replace")))
        self.files += 1

    def _text(self, name: str, text: str) -> None:
        with self.archive.open(_info(name), "w") as out:
            self._write(out, text)
        self.files += 1

    def _write(self, out: IO[bytes], text: str) -> None:
        self.counts.update(PLACEHOLDER.findall(text))
        out.write(text.encode("utf-8", "replace"))


def _shown(name: str) -> str:
    """A folder's name that can be told and typed, as `import` asks for."""
    return "".join(character if character.isprintable() else "-" for character in name)[:100]


def _untold(answer: Any) -> Any:
    """A recorded answer without what was told: its prompt and its text are somebody's."""
    if not isinstance(answer, dict):
        return answer
    text = {"text": "<prompt-0>" if answer.get("text") else ""}
    return {**answer, **text, "tokens": [""] * len(answer.get("tokens") or ())}


def _line(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False) + "\n"


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    return info


def _chunks(path: Path) -> Iterator[bytes]:
    """Whole lines of a file, about a mebibyte at once; of what is left out, the ends of its lines."""
    size, at = path.stat().st_size, 0
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            if not block.endswith(b"\n"):
                block += stream.readline(4 * _CHUNK)
            while b"-----BEGIN" in block and b"-----END" not in block.rpartition(b"-----BEGIN")[2]:
                more = stream.readline(_CHUNK)  # a key is replaced as a whole
                if not more or len(block) > 3 * _CHUNK:
                    break
                block += more
            kept = at < LONGEST // 2 or at + len(block) > size - LONGEST // 2
            at += len(block)
            yield block if kept else b"\n" * block.count(b"\n")
