"""Any command at all: a job that ends by itself, or a server about which the case says what no adapter knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ruleout.engines import factors, openai
from ruleout.engines.base import Answer, Launch, Request
from ruleout.engines.completions import answer_of
from ruleout.engines.factors import Applied
from ruleout.engines.workload import probes_under
from ruleout.model import Case, Configuration, Mode, Probe, Stage, UsageError, arguments

_MODEL_FLAGS = ("--served-model-name", "--force-model", "--alias", "--model", "--model-path")
"""By which flags servers are told the name of their model, the one that clients use first."""


@dataclass(frozen=True, slots=True)
class Command:
    """The adapter of everything that has no adapter of its own: a server of OpenAI's style, as far as it is asked."""

    name: str = "command"
    stages: Mapping[Stage, str] = field(default_factory=dict)
    completions: str = openai.CHAT
    logprobs: bool = False

    def launch(self, case: Case, configuration: Configuration) -> Launch:
        """The command with the configuration's levels. Raises UsageError when nothing says when it is ready."""
        if case.mode is Mode.JOB:
            return job(case, configuration)
        if case.ready.path is None and case.ready.log is None:
            raise UsageError(
                f"case {case.name}: nothing says when the server is ready",
                'Add `ready: {path: /health}` or `ready: {log: "a line of its log"}`, or `mode: job` if it just ends.',
            )
        applied = factors.apply(case, configuration)
        port = _port(applied)
        if port is None and (case.ready.path is not None or case.probes):
            raise UsageError(
                f"case {case.name}: the command does not say on which port it serves",
                "Write {port} where the command takes its port; a free one is put there.",
            )
        pages = () if case.ready.path is None else (case.ready.path,)
        return Launch(applied.argv, applied.env, case.cwd, port, case.ready.path, case.ready.log, pages)

    def requests(self, case: Case, configuration: Configuration) -> tuple[Request, ...]:
        """The case's probes; without any, one GET of the path that says it is ready."""
        if case.mode is Mode.JOB:
            return ()
        usual = (Probe(kind="http", path=case.ready.path),) if case.ready.path is not None else ()
        interface = openai.Interface(_model(factors.apply(case, configuration).argv), self.completions, logprobs=True)
        return openai.requests_of(probes_under(case, configuration, case.probes or usual), interface)

    def answer(self, request: Request, body: str) -> Answer | None:
        """The completion in the body of an OpenAI-style server; None when it is none."""
        return answer_of(request, body)


def job(case: Case, configuration: Configuration) -> Launch:
    """The launch of a command that ends by itself."""
    applied = factors.apply(case, configuration)
    return Launch(applied.argv, applied.env, case.cwd, port=0 if _asks_for_port(applied) else None)


def _asks_for_port(applied: Applied) -> bool:
    return any("{port}" in text for text in (*applied.argv, *applied.env.values()) if text is not None)


def _port(applied: Applied) -> int | None:
    if _asks_for_port(applied):
        return 0
    written = arguments.value_of(applied.argv, "--port")
    return int(written) if written is not None and written.isdecimal() and 0 < int(written) < 65536 else None


def _model(argv: Sequence[str]) -> str:
    for flag in _MODEL_FLAGS:
        if (value := arguments.value_of(argv, flag)) is not None:
            return value
    return "default"
