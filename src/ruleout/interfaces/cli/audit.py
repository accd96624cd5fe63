"""`ruleout audit`: what will fail, what will silently be wrong, and what fits, before anything is launched."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ruleout.interfaces.cli.behind import BeforeCommand, behind
from ruleout.interfaces.cli.host import HostDescription
from ruleout.model.audit import Host, Launch
from ruleout.model.errors import UsageError

if TYPE_CHECKING:
    from ruleout.audit import ModelFolder
    from ruleout.audit.subject import Progress

ENGINES = ("sglang", "vllm", "transformers", "tensorrt-llm")
_VERSION = re.compile(r"v?\d+(\.\d+)*([.+-]?[0-9A-Za-z]+)*")
FIXED = "config.fixed.json"


class _Audit(BeforeCommand):
    operands = "MODEL_DIR [-- COMMAND…]"


@click.command(cls=_Audit, short_help="List what will fail, before it is launched.")
@click.argument("model_dir", metavar="MODEL_DIR")
@click.option("--host", type=HostDescription(), metavar="sm=…,gpus=…,memory=…", help="What is to run it [this host].")
@click.option("--engine", metavar="NAME[==VERSION]", help="What is to serve it, where no command says so.")
@click.option("--against", metavar="CONFIG", help="The config.json that the weights were made with: what is changed?")
@click.option("--deep", is_flag=True, help="Also read every tensor: NaN, Inf, zero and absurd scales.")
@click.option("--fix", is_flag=True, help=f"Write a corrected copy of config.json beside it: {FIXED}.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.pass_context
def audit(
    ctx: click.Context,
    model_dir: str,
    host: Host | None,
    engine: str | None,
    against: str | None,
    deep: bool,
    fix: bool,
    as_json: bool,
) -> int:
    """List what will fail, what will silently be wrong and what fits, of a model's folder and a launch COMMAND.

    Nothing is launched, and nothing in the folder is executed. Exit status: 0; 1 an error was found; 2 a bad folder.
    """
    from ruleout.audit import audit as check
    from ruleout.investigation.hosts import this_host
    from ruleout.report.audit import audit_document

    folder = _folder(model_dir)
    original = None if against is None else _original(against)
    found = check(
        folder,
        _launch(behind(ctx), engine),
        this_host() if host is None else host,
        _progress() if deep else None,
        original,
    )
    written = _write_fixed(folder) if fix else None
    if as_json:
        from ruleout.interfaces.cli.streams import tell_json

        tell_json(audit_document(found))
    else:
        from ruleout.interfaces.cli.auditing import tell_audit

        tell_audit(found)
    if written is not None:
        from ruleout.interfaces.cli.streams import tell_progress

        tell_progress(written)
    return 1 if found.failed else 0


def _folder(name: str) -> ModelFolder:
    """The model's folder. Raises UsageError when it is none, or has no configuration."""
    from ruleout.audit import ModelFolder

    path = Path(name)
    remedy = "Name the folder that holds the model's config.json."
    try:
        if "\0" in name:
            raise ValueError
        if not name or not path.exists():
            hub = name.count("/") == 1 and name[0] not in "./~"
            told = "no such folder" + (" (a name on a hub is no folder: fetch it first)" if hub else "")
            raise UsageError(f"{name or 'MODEL_DIR'}: {told}", remedy)
        if not path.is_dir():
            raise UsageError(f"{name}: not a folder", remedy)
        folder = ModelFolder(path)
        if not folder.has("config.json") and folder.names is not None:
            raise UsageError(f"{name}: no config.json in there", remedy)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else "not the name of a folder"
        plain = "".join(c if c.isprintable() else "·" for c in name)
        raise UsageError(f"{plain}: {why}", remedy) from None
    return folder


def _launch(command: tuple[str, ...] | None, engine: str | None) -> Launch | None:
    from ruleout.investigation.auditing import launch_of

    launch = launch_of(_words(command)) if command else None
    if engine is None:
        return launch
    name, equals, version = engine.partition("==")
    if equals and not _VERSION.fullmatch(version):
        raise UsageError(f"--engine {engine}: {version!r} is no version", f"Write it as in --engine {name}==0.5.9.")
    if name not in ENGINES:
        remedy = "Write it as in --engine sglang==0.5.9."
        raise UsageError(f"--engine {engine}: not one of {', '.join(ENGINES)}", remedy)
    if launch is not None and launch.engine not in (name, "command"):
        raise UsageError(f"--engine {name}, but the command starts {launch.engine}", "Leave out one of the two.")
    launch = launch or Launch()
    return replace(launch, engine=name, version=version or launch.version)


def _words(command: tuple[str, ...]) -> tuple[str, ...]:
    """A command that was put in quotes as a whole, by its words: nothing is launched, so none of it is run."""
    if len(command) != 1:
        return command
    try:
        return tuple(shlex.split(command[0])) or command
    except ValueError:
        return command


def _original(name: str) -> Mapping[str, Any]:
    from ruleout.audit import ModelFolder, Unreadable

    path = Path(name)
    path = path / "config.json" if path.is_dir() else path
    try:
        return ModelFolder(path.parent).mapping(path.name)
    except Unreadable as problem:
        raise UsageError(f"{path}: {problem.why}", "Name the config.json that the weights were made with.") from None


def _write_fixed(folder: ModelFolder) -> str:
    """Write the corrected copy, and say so. Raises UsageError when the file is there with other content."""
    from ruleout.audit import Unreadable
    from ruleout.audit.fixing import fixed

    try:
        config, done = fixed(folder.mapping("config.json"))
    except Unreadable as problem:
        raise UsageError(f"{folder.path / problem.name}: {problem.why}", problem.remedy) from None
    if not done:
        return "nothing that could be corrected without guessing"
    target, text = folder.path / FIXED, json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    try:
        number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except FileExistsError:
        raise UsageError(f"{target} exists already", "Remove it, or move it away.") from None
    except OSError as problem:
        raise UsageError(f"{target}: {problem.strerror}", "Give permission, or audit a copy of the folder.") from None
    try:
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except OSError as problem:
        target.unlink(missing_ok=True)  # it is ours: it was made a moment ago
        raise UsageError(f"{target}: {problem.strerror}; nothing is left of it", "Make room on the disk.") from None
    return f"{target}: {'; '.join(done)}"


def _progress() -> Progress:
    """A line that tells how far reading has come, on a terminal; elsewhere a line every ten seconds."""
    import sys

    from ruleout.interfaces.cli.streams import tell_progress

    live, last = sys.stderr.isatty(), [0.0]

    def tell(done: int, whole: int) -> None:
        now = time.monotonic()
        if now - last[0] < (0.2 if live else 10.0) and done < whole:
            return
        last[0] = now
        text = f"  reading tensors  {100 * done / (whole or 1):>3.0f} % of {whole / 1e9:.1f} GB"
        if live:
            click.echo(f"\r{text}" + ("\n" if done >= whole else ""), err=True, nl=False)
        else:
            tell_progress(text)

    return tell
