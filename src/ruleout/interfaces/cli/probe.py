"""`ruleout probe`: what a server answers, kept as a reference that other deployments of its model are compared with."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.engines.openai import CHAT, TEXT
from ruleout.interfaces.cli.investigate import json_option
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.streams import tell_error, tell_progress, tell_text
from ruleout.investigation.casefile import read_case
from ruleout.investigation.faults import excerpt
from ruleout.investigation.folder import write_whole
from ruleout.investigation.oracle import oracle_case, spooled
from ruleout.investigation.recording import MAX_TOKENS, PROMPTS, NoReference, Wishes, record_launched, record_running
from ruleout.investigation.references import reference_text
from ruleout.model import Reference, UsageError
from ruleout.runners.base import Event
from ruleout.runners.local import LocalRunner

_PATHS = {"chat": CHAT, "text": TEXT}
EXIT_NO_REFERENCE = 1
_SHOWN = ("torch", "transformers")
"""Of the versions, what is shown beside the engine's own."""


@click.command(context_settings={"ignore_unknown_options": False}, short_help="Ask a server, and keep what it answers.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the reference there.")
@click.option("--url", help="Ask this running server, e.g. http://127.0.0.1:8000.")
@click.option("--case", "case_file", type=click.Path(path_type=Path), help="Take command, engine and readiness of it.")
@click.option("--prompt", "prompts", multiple=True, help="Ask this instead of the usual prompts; may be repeated.")
@click.option("--max-tokens", type=click.IntRange(min=1), default=MAX_TOKENS, show_default=True)
@click.option("--interface", type=click.Choice(list(_PATHS)), help="How it is asked [as the engine usually is].")
@click.option("--logprobs/--no-logprobs", default=None, help="Ask for logprobs [where the engine is known for them].")
@click.option("--model", help="With --url: the name of the model, where the server does not say it.")
@click.option("--api-key", envvar="OPENAI_API_KEY", help="With --url: its key; it is not written down.")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def probe(
    save: Path | None,
    url: str | None,
    case_file: Path | None,
    prompts: tuple[str, ...],
    max_tokens: int,
    interface: str | None,
    logprobs: bool | None,
    model: str | None,
    api_key: str | None,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Ask a server, and keep what it answers: the running one at --url, or that of COMMAND (behind `--`).

    Each prompt is completed greedily and twice. A reference that was saved is what probes of kind compare are judged
    by: `{kind: compare, reference: reference.json}`.

    Exit status: 0 it answered; 1 it failed, or answered one prompt in two ways: then nothing is saved.
    """
    if url is not None and (command or case_file):
        raise UsageError("both a running server and one to launch are given", "Give one: --url, or a command.")
    if url is None and not command and case_file is None:
        raise UsageError("nothing to ask", "Name a running server by --url, or give a command behind `--`.")
    if save is not None and save.exists():
        raise UsageError(f"{save} exists already", "Name another file, or remove that one.")
    if save is not None and not save.absolute().parent.is_dir():
        raise UsageError(f"--save {save}: there is no folder {save.parent}", "Make it, or name a file in another one.")
    wishes = Wishes(prompts or PROMPTS, max_tokens, _PATHS.get(interface or ""), logprobs, model)
    try:
        if url is not None:
            reference = record_running(url, wishes, api_key)
        else:
            case = oracle_case(command, read_case(case_file) if case_file else None)
            with spooled() as spool:
                reference = record_launched(case, wishes, LocalRunner(), spool, _tell_event)
    except NoReference as why:
        tell_error(f"no reference: {why}", "Take a deployment that is known to be right.")
        return EXIT_NO_REFERENCE
    if save is not None:
        write_whole(save.absolute(), reference_text(reference))
    if as_json:
        tell_text(reference_text(reference))
    else:
        _tell(reference, save)
    return 0


def _tell_event(event: Event) -> None:
    if event["kind"] == "started":
        tell_progress("  launched; waiting until it is ready")
    elif event["kind"] == "ready":
        tell_progress(f"  ready after {event['seconds']:.0f} s; asking")


def _tell(reference: Reference, save: Path | None) -> None:
    console = answer_console()
    shown = [name for name in (*_SHOWN, reference.engine) if name in reference.versions]
    versions = ", ".join(f"{name} {reference.versions[name]}" for name in dict.fromkeys(shown))
    by = f"{reference.engine} ({versions})" if versions else reference.engine
    console.print(f"{reference.model.name} by {by}", markup=False, soft_wrap=True)
    for answer in reference.answers:
        told = f", {len(answer.logprobs)} logprobs" if answer.logprobs else ""
        line = f"  {excerpt(answer.prompt, 40)} → {excerpt(answer.text, 40)}{told}"
        console.print(line, markup=False, soft_wrap=True)
    if save is not None:
        console.print(f"saved: {save}", markup=False, soft_wrap=True)
