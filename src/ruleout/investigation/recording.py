"""A reference is recorded: a server is asked greedily, each prompt twice, and what it says the same way is kept.

A server that answers one prompt in two ways is no reference for anybody, and neither is one that fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruleout.engines import ENGINES, Engine, Request, engine_named, recognise
from ruleout.engines.command import Command
from ruleout.engines.installed import packages_of
from ruleout.engines.modelfolder import served_model
from ruleout.engines.openai import Interface, requests_of, stretched
from ruleout.engines.serving import Server
from ruleout.investigation.answers import judge_answer
from ruleout.investigation.asking import ask, fetched
from ruleout.investigation.folder import NO_ROOM, require_room
from ruleout.investigation.launching import prepare
from ruleout.investigation.run import LOG, read_run
from ruleout.investigation.suspecting import diagnosis_of
from ruleout.model import Case, MissingError, Mode, Probe, Recorded, Reference, ServedModel, UsageError
from ruleout.runners.base import Event, Runner

PROMPTS = (
    "The capital of France is",
    "Write a function that adds two numbers, and say why it is right.",
    "List the planets of the solar system, from the sun outwards:",
    stretched("One line of a log that says the same thing as the one before it.", 60),
)
"""Short ones and a longer one: what is wrong may need some tokens to show."""
MAX_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked.

    Attributes:
        path: where completions are asked for; None: where the engine is asked otherwise.
        logprobs: whether to ask for them; None: where the engine is known to tell them.
        model: the name that the server knows its model by; None: as the command, or the server, says.
    """

    prompts: tuple[str, ...] = PROMPTS
    max_tokens: int = MAX_TOKENS
    path: str | None = None
    logprobs: bool | None = None
    model: str | None = None

    def probes(self, logprobs: bool) -> tuple[Probe, ...]:
        """Each prompt twice."""
        wanted = logprobs if self.logprobs is None else self.logprobs
        kind = "logprobs" if wanted else "completion"
        return tuple(Probe(kind, prompt, self.max_tokens, repeat=2, logprobs=wanted) for prompt in self.prompts)


class NoReference(Exception):  # noqa: N818 - an answer, not an error
    """The server is none for anybody; the message says why."""


def record_launched(
    case: Case, wishes: Wishes, runner: Runner, spool: Path, on_event: Callable[[Event], None]
) -> Reference:
    """The reference of a deployment that is launched for it, and stopped.

    Raises:
        NoReference: it failed, or answered one prompt in two ways.
        UsageError: it is no server, or cannot be asked.
        MissingError: it could not be launched.
    """
    if case.mode is Mode.JOB:
        raise UsageError(
            f"{case.command[0]}: nothing says that this is a server, and what ends by itself is not asked",
            "Give the command of an engine, or by --case a case that says when it is ready.",
        )
    engine = engine_named(case.engine)
    if not isinstance(engine, Server | Command):
        raise UsageError(f"engine {case.engine} is not asked this way", "Give the --url of the running server.")
    engine = replace(engine, completions=wishes.path or engine.completions)
    case = replace(case, probes=wishes.probes(engine.logprobs))
    prepared = prepare(case, engine, case.baseline, 1, spool, Path.cwd())
    require_room(spool)
    events = prepared.run(runner, on_event)
    require_room(spool, NO_ROOM)
    if prepared.refused:
        raise MissingError(prepared.refused, "Then try again.")
    run = read_run(case, engine, prepared.requests, spool, events)
    if run.broken_off:
        raise MissingError(f"it was broken off: {run.broken_off}", "Try again.")
    if run.failure is not None:
        raise NoReference(run.failure.client or run.failure.message)
    answers = _recorded(engine, prepared.requests, events)
    served = engine.served(case, case.baseline) if isinstance(engine, Server) else None
    model = served or ServedModel(_asked_model(prepared.requests))
    return Reference(engine.completions, model, answers, engine.name, _versions(case, spool / LOG), case.command)


def record_running(url: str, wishes: Wishes, key: str | None) -> Reference:
    """The reference of a server that is running.

    Args:
        url: its root, as in http://127.0.0.1:8000.
        key: for its API.

    Raises:
        NoReference: an answer of it is none, or it answered one prompt in two ways.
        UsageError: it does not say which model it serves.
        MissingError: nobody answers there.
    """
    url = url.rstrip("/").removesuffix("/v1")  # the base that clients are given
    told = _first_model(fetched(url, "/v1/models", key))
    name = wishes.model or told.get("id")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{url} does not say which model it serves", "Check the address, or name it: --model NAME.")
    owner = {"llamacpp": "llama.cpp"}.get(str(told.get("owned_by")), str(told.get("owned_by")))
    engine: Engine = ENGINES.get(owner, ENGINES["command"])
    known = engine if isinstance(engine, Server | Command) else Command()
    path, logprobs = wishes.path or known.completions, known.logprobs
    requests = requests_of(wishes.probes(logprobs), Interface(name, path, logprobs))
    events = [{"kind": "probe", "step": request.step, **ask(url, request, key)} for request in requests]
    for request, event in zip(requests, events, strict=True):
        if (fault := judge_answer(event, request, known)) is not None:
            raise NoReference(f"{request.name}: {fault.whole}")
    said = told.get("root")
    root = said if isinstance(said, str) else name
    folder = Path(root) if Path(root).is_absolute() else None
    version = fetched(url, "/version", key).get("version")
    versions = {known.name: version} if isinstance(version, str) else {}
    return Reference(path, served_model(root, folder), _recorded(known, requests, events), known.name, versions)


def _first_model(document: Mapping[str, Any]) -> Mapping[str, Any]:
    data = document.get("data")
    return data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}


def _recorded(engine: Engine, requests: Sequence[Request], events: Sequence[Event]) -> tuple[Recorded, ...]:
    """The answers, of which every second is the first again. Raises NoReference when it is not."""
    bodies = {event["step"]: str(event.get("body") or "") for event in events if event["kind"] == "probe"}
    found = []
    for request, again in zip(requests[::2], requests[1::2], strict=True):
        answer, repeated = (engine.answer(r, bodies.get(r.step, "")) for r in (request, again))
        if answer is None or repeated is None or answer.text != repeated.text:
            raise NoReference(f"the prompt {request.probe.prompt[:40]!r} is answered in two ways, though greedily")
        told = len(answer.tokens) == len(answer.logprobs)
        found.append(
            Recorded(
                request.probe.prompt,
                request.probe.max_tokens,
                answer.text or "",
                answer.finish_reason,
                answer.tokens if told else (),
                answer.logprobs if told else (),
                answer.runners_up if told else (),
            )
        )
    return tuple(found)


def _asked_model(requests: Sequence[Request]) -> str:
    return str(json.loads(requests[0].body or "{}").get("model", ""))


def _versions(case: Case, log: Path) -> Mapping[str, str]:
    """What is installed where it runs; what the log says of it where that is not at hand."""
    there = packages_of(recognise(case.command), case.env, case.cwd)
    if there or not log.is_file():
        return there
    read = diagnosis_of(log)
    told = {read.engine.name: read.engine.version, "torch": read.environment.torch}
    return {name: version for name, version in told.items() if name and version}
