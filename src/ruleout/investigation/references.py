"""References as files (`ruleout.reference/1`): made once, named by cases, kept with each investigation that uses them.

An investigation keeps a copy, so that what its trials were compared with cannot change under it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import isfinite
from pathlib import Path

from pydantic import ValidationError

from ruleout.engines import Engine
from ruleout.engines.openai import CHAT, TEXT
from ruleout.engines.serving import Server
from ruleout.investigation.folder import Folder, write_whole
from ruleout.model import Case, Configuration, Mode, Reference, UsageError
from ruleout.model.codec import from_json, to_json

SCHEMA = "ruleout.reference/1"
MOST_BYTES = 64 << 20
_ANEW = "Make it anew: `ruleout probe --save FILE -- COMMAND`."


def read_reference(path: Path, source: str) -> Reference:
    """The reference in a file. Raises UsageError when there is none.

    Args:
        source: what to call the file.
    """
    try:
        if not path.is_file():
            raise UsageError(f"reference {source}: no such file", "Name one that is there. " + _ANEW)
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"reference {source}: more than {MOST_BYTES >> 20} MiB", _ANEW)
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise UsageError(f"reference {source}: {problem.strerror}", "Name a file that can be read.") from None
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"reference {source}: not JSON: {' '.join(str(problem).split())}", _ANEW) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise UsageError(f"reference {source}: its schema is {schema!r}, not {SCHEMA}", _ANEW)
    try:
        found = from_json(Reference, {key: value for key, value in document.items() if key != "schema"})
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"reference {source}: {where}: {first['msg']}", _ANEW) from None
    if (why := _unusable(found)) is not None:
        raise UsageError(f"reference {source}: {why}", _ANEW)
    return replace(found, source=str(path.absolute()))


def _unusable(reference: Reference) -> str | None:
    if reference.path not in (CHAT, TEXT):
        return f"path is {reference.path!r}, neither {CHAT} nor {TEXT}"
    if not reference.answers:
        return "there are no answers in it"
    for i, answer in enumerate(reference.answers):
        told = answer.logprobs, answer.tokens, answer.runners_up
        if answer.logprobs and len({len(values) for values in told}) > 1:
            return f"answers.{i}: tokens, logprobs and runners_up are not of one length"
        if not all(isfinite(value) for value in (*answer.logprobs, *filter(None, answer.runners_up))):
            return f"answers.{i}: a logprob that is not finite"
        if answer.max_tokens < 1:
            return f"answers.{i}: max_tokens is not a number from 1 up"
    return None


def reference_text(reference: Reference) -> str:
    """A reference as the text of its file."""
    document = {key: value for key, value in to_json(reference).items() if key != "source"}
    return json.dumps({"schema": SCHEMA, **document}, indent=1, ensure_ascii=False) + "\n"


def with_prompt(reference: Reference, prompt: str) -> Reference:
    """A reference with nothing but the answer to one prompt. Raises UsageError when it has none to it."""
    answers = tuple(answer for answer in reference.answers if answer.prompt == prompt)
    if not answers:
        raise UsageError(
            f"reference {_name(reference)} has no answer to the prompt {_short(prompt)!r}",
            f"Its prompts: {', '.join(repr(_short(answer.prompt)) for answer in reference.answers[:4])}.",
        )
    return replace(reference, answers=answers)


def _name(reference: Reference) -> str:
    return Path(reference.source).name


def _short(prompt: str) -> str:
    return prompt if len(prompt) <= 40 else prompt[:39] + "…"


def located(folder: Path, written: str) -> Path:
    """Where a reference is that a case in that folder names: an investigation has its own copy."""
    kept = _kept(Folder(folder), written)
    return kept if Folder(folder).exists and kept.is_file() else folder / Path(written).expanduser()


def _kept(folder: Folder, written: str) -> Path:
    return folder.path / "references" / Path(written).name


def keep_references(case: Case, folder: Folder) -> None:
    """Copy what a case compares with into its investigation. Raises UsageError for two files of one name."""
    copied: dict[Path, str] = {}
    for reference in _references(case):
        kept = _kept(folder, reference.source)
        if copied.setdefault(kept, reference.source) != reference.source:
            raise UsageError(f"two references are called {kept.name}", "Rename one of them.")
        if not kept.is_file():
            write_whole(kept, Path(reference.source).read_text(encoding="utf-8-sig"))


def _references(case: Case) -> list[Reference]:
    return [probe.reference for probe in case.probes if probe.reference is not None]


def check_references(case: Case, engine: Engine, configuration: Configuration) -> None:
    """Raises UsageError when a reference was made with another model than this configuration serves."""
    references = _references(case)
    if not references or not isinstance(engine, Server) or case.mode is not Mode.SERVE:
        return
    served = engine.served(case, configuration)
    for reference in references:
        if served is not None and served.differs(reference.model):
            where = str(configuration.difference(case.baseline))
            under = "" if where == "baseline" else f" under {where}"
            raise UsageError(
                f"reference {_name(reference)} was made with the model {reference.model.name}, "
                f"and the command serves {served.name}{under}",
                "Make a reference with this model, or leave out the probe of kind compare.",
            )
