"""`transformers serve`, as of 5.2 to 5.24.

Two things differ from the other servers. It answers `/health` as soon as it listens, which is before the model is
loaded unless the command forces one. And under continuous batching 5.2 encodes its answers twice: the body is a JSON
string that holds the JSON.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ruleout.engines import factors, openai
from ruleout.engines.base import Answer, Launch, Request
from ruleout.engines.command import job
from ruleout.model import Case, Configuration, Mode, Probe, Stage, UsageError, arguments

_STAGES: Mapping[Stage, str] = {
    Stage.MODEL_CONFIG: r"^(\[transformers\] )?(Loading \S+$|loading configuration file (.*/)?config\.json)",
    Stage.WEIGHT_LOAD: r"loading weights file |Loading weights:|Loading checkpoint shards:",
    Stage.READY: r"^INFO: +Uvicorn running on ",
    Stage.PREFILL: r"\[Request received\] Model: ",
    Stage.SHUTDOWN: r"^INFO: +Shutting down$",
}
"""Requests are announced from 5.24 on; 5.2 logs nothing when one arrives. Neither says when decoding begins."""

_BARE = frozenset(
    {"--continuous-batching", "--compile", "--trust-remote-code", "--cb-use-cuda-graph", "--enable-cors"}
    | {"--input-validation", "--non-blocking", "--json", "-q", "--quiet", "-h", "--help"}
)
"""Flags of `serve` that take no value; those that begin with `--no-` neither."""

_PROBES = (Probe(repeat=2),)
"""Twice, because a server whose generation thread has died may still answer the first request with 200."""


class Transformers:
    """The adapter of `transformers serve`."""

    name = "transformers"
    stages = _STAGES

    def launch(self, case: Case, configuration: Configuration) -> Launch:
        """Serving on a free port of the loopback interface. Raises UsageError when it is not `transformers serve`."""
        if case.mode is Mode.JOB:
            return job(case, configuration)
        applied = factors.apply(_on_free_port(case), configuration)
        model = forced_model(applied.argv)
        offline = {"HF_HUB_OFFLINE": "1"} if model is not None and _is_folder(model, case) else {}
        return Launch(
            argv=applied.argv,
            env={**offline, **applied.env},
            cwd=case.cwd,
            port=0,
            ready_path=case.ready.path or "/health",
            ready_log=case.ready.log,
        )

    def requests(self, case: Case, configuration: Configuration) -> tuple[Request, ...]:
        """The case's probes, or the same completion twice; asked of the model that the command forces."""
        if case.mode is Mode.JOB:
            return ()
        model = forced_model(factors.apply(_on_free_port(case), configuration).argv)
        return openai.requests_of(factors.probes_under(case, configuration, case.probes or _PROBES), model)

    def answer(self, request: Request, body: str) -> Answer | None:
        """The completion in the body, also of one that was encoded twice; None when it is none."""
        return openai.answer_of(request, body)


def serve_position(argv: Sequence[str]) -> int | None:
    """Where the word `serve` of `transformers serve` or `python -m transformers.cli.transformers serve` stands."""
    for i, (before, token) in enumerate(pairwise(argv), start=1):
        module = before == "transformers.cli.transformers" and i > 1 and argv[i - 2] == "-m"
        if token == "serve" and (module or arguments.program(before) == "transformers"):
            return i
    return None


def forced_model(argv: Sequence[str]) -> str | None:
    """The model that every request gets: `--force-model` (5.2) or the argument of `serve` (5.24); None: as requested.

    5.24 refuses a request that names any other, so it is named exactly as the command does.
    """
    named = arguments.value_of(argv, "--force-model")
    start = serve_position(argv)
    if named is not None or start is None:
        return named
    rest = list(argv[start + 1 :])
    while rest:
        token = rest.pop(0)
        if arguments.is_value(token):
            return token
        if "=" not in token and token not in _BARE and not token.startswith("--no-") and rest:
            rest.pop(0)
    return None


def _on_free_port(case: Case) -> Case:
    if shell := arguments.shell_script(case.command):
        raise UsageError(
            f"engine transformers: the port cannot be set inside a script given to {shell} -c",
            "Give the command itself as a list of words; or use `engine: command` and write {port} in the script.",
        )
    if serve_position(case.command) is None:
        raise UsageError(
            f"case {case.name}: the command is not `transformers serve`",
            "Use `engine: command`, which runs anything, with `ready: {path: …}` or `mode: job`.",
        )
    argv = arguments.without(arguments.without(case.command, "--port"), "--host")
    return replace(case, command=(*argv, "--port", "{port}", "--host", "127.0.0.1"))


def _is_folder(model: str, case: Case) -> bool:
    """Whether a model is a local folder. On another host only an absolute path tells."""
    if case.host != "local":
        return os.path.isabs(model)
    return os.path.isdir(os.path.join(case.cwd or "", model))
