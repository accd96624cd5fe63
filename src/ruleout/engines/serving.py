"""An engine that serves over HTTP in OpenAI's style: the same launch, requests and answers; what differs is data.

Wherever a command says how its server is reached, the trial's own is set instead: plain HTTP on a free port of the
loopback interface. In a container the server keeps its port, and that is published there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ruleout.engines import factors, openai
from ruleout.engines.base import Answer, Launch, Request
from ruleout.engines.command import job
from ruleout.engines.completions import answer_of
from ruleout.engines.configfile import configured
from ruleout.engines.modelfolder import context_of, served_model
from ruleout.engines.recognising import recognise
from ruleout.engines.switches import parted, switch
from ruleout.engines.usual import usual_probes
from ruleout.engines.workload import probes_under
from ruleout.model import Case, Configuration, Mode, ServedModel, Stage, UsageError, arguments

ENCRYPTED = (
    *("--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs", "--ssl-cert-reqs", "--ssl-keyfile-password"),
    "--enable-ssl-refresh",
)


@dataclass(frozen=True, slots=True)
class Server:
    """The adapter of one engine.

    Attributes:
        called: the command, in words.
        ready_path: the path that answers 2xx once requests are served, and not before.
        model_flags: the flags that say which model; the first that is given counts.
        positional: the model may be the argument of the command instead.
        name_flags: the flags that give the model another name, by which clients know it.
        reached_by: the flags besides port and host that say how clients reach it.
        port: where it listens without a flag that says it.
        key_variable: the variable that gives the key which clients have to show; empty: there is none.
        completions: the path that completes a prompt; chat needs a template, which small checkpoints lack.
        spelt: the command, in an environment and a folder, as the installed release takes it, where releases differ.
        context_flags: the flags that say how many tokens a prompt and its answer may have.
        logprobs: it tells the logprobs of what it generates.
        offline: what keeps it from the network when the model is a local folder.
        private: what is always set, so that nothing is sent to the engine's makers.
        pages: the paths where it tells of its health and its work; one that it has not is answered with 404.
        override_flag: takes a JSON object whose keys replace those of the model's configuration; empty: there is none.
    """

    name: str
    called: str
    stages: Mapping[Stage, str]
    ready_path: str
    model_flags: tuple[str, ...] = ()
    positional: bool = True
    name_flags: tuple[str, ...] = ()
    reached_by: tuple[str, ...] = ENCRYPTED
    port: int = 8000
    key_variable: str = ""
    completions: str = openai.TEXT
    spelt: Callable[[tuple[str, ...], Mapping[str, str], str | None], tuple[str, ...]] = lambda argv, env, cwd: argv
    context_flags: tuple[str, ...] = ()
    logprobs: bool = False
    offline: Mapping[str, str] = field(default_factory=dict)
    private: Mapping[str, str] = field(default_factory=dict)
    override_flag: str = ""
    pages: tuple[str, ...] = ("/health", "/metrics")

    def launch(self, case: Case, configuration: Configuration) -> Launch:
        """Serving on a free port of the loopback interface. Raises UsageError when the command is another's."""
        if case.mode is Mode.JOB:
            return job(case, configuration)
        case = self._on_free_port(case)
        applied = factors.apply(case, configuration, self.override_flag)
        model = self.model(applied.argv)
        offline = self.offline if model is not None and _is_folder(model, case) else {}
        argv = self.spelt(applied.argv, {k: v for k, v in applied.env.items() if v is not None}, case.cwd)
        return Launch(
            argv=_with_variables(argv, self.private),
            env={**self.private, **offline, **applied.env},
            cwd=case.cwd,
            port=0,
            ready_path=case.ready.path or self.ready_path,
            ready_log=case.ready.log,
            pages=self.pages,
        )

    def requests(self, case: Case, configuration: Configuration) -> tuple[Request, ...]:
        """The case's probes, or the usual ones; asked of the model that the command names."""
        if case.mode is Mode.JOB:
            return ()
        argv = factors.apply(self._on_free_port(case), configuration, self.override_flag).argv
        usual = case.probes or usual_probes(self._context(case, argv), self.logprobs)
        interface = openai.Interface(self.name_for_clients(argv), self.completions, self.logprobs)
        asked = openai.requests_of(probes_under(case, configuration, usual), interface)
        key = recognise(argv).value_of("--api-key") or self._key(case)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return tuple(replace(request, headers={**request.headers, **headers}) for request in asked)

    def _key(self, case: Case) -> str | None:
        """The key that clients have to show, by its variable."""
        if not self.key_variable:
            return None
        found = recognise(case.command)
        given = {**case.env, **found.variables}
        return given.get(self.key_variable) or (None if found.container else os.environ.get(self.key_variable)) or None

    def answer(self, request: Request, body: str) -> Answer | None:
        """The completion in the body, also of one that was encoded twice; None when it is none."""
        return answer_of(request, body)

    def model(self, argv: Sequence[str]) -> str | None:
        """Which model the command serves; None when it does not say."""
        found = recognise(argv)
        named = found.value_of(*self.model_flags)
        if named is None and self.positional:
            named = self._argument(argv)
        return _first(configured(found), (*self.model_flags, "--model-tag")) if named is None else named

    def name_for_clients(self, argv: Sequence[str]) -> str | None:
        """The name of the model in a request; None when the command does not say."""
        found = recognise(argv)
        named = found.value_of(*self.name_flags) or _first(configured(found), self.name_flags)
        return self.model(argv) if named is None else named

    def _context(self, case: Case, argv: Sequence[str]) -> int | None:
        """How many tokens a prompt and its answer may have; None when nothing says it."""
        given = recognise(argv).value_of(*self.context_flags) or ""
        if given.isdecimal() and int(given):
            return int(given)
        model = self.model(argv)
        return None if model is None else context_of(Path(case.cwd or "", model).expanduser())

    def served(self, case: Case, configuration: Configuration) -> ServedModel | None:
        """Which model is served; None when the command does not say."""
        model = self.model(factors.apply(self._on_free_port(case), configuration, self.override_flag).argv)
        return None if model is None else served_model(model, Path(case.cwd or "", model).expanduser())

    def _argument(self, argv: Sequence[str]) -> str | None:
        """The first word that is no flag and no flag's value."""
        return next((values[0] for flag, values in parted(self.name, recognise(argv).given) if not flag), None)

    def _on_free_port(self, case: Case) -> Case:
        found = recognise(case.command)
        if shell := arguments.shell_script(found.command):
            raise UsageError(
                f"engine {self.name}: the port cannot be set inside a script given to {shell} -c",
                "Give the command itself as a list of words; or use `engine: command` and write {port} in the script.",
            )
        if found.engine != self.name:
            raise UsageError(
                f"case {case.name}: the command is not `{self.called}`",
                "Use `engine: command`, which runs anything, with `ready: {path: …}` or `mode: job`.",
            )
        inner = found.value_of("--port") or str(self.port)
        command = found.command
        for flag in ("--port", "--host", *self.reached_by):
            valued = arguments.never if switch(self.name, flag) else arguments.always
            command = factors.without(command, flag, valued)
        port, host = "{port}", "127.0.0.1"
        if found.within is not None and not found.within.on_host:
            port, host = inner, "0.0.0.0"
        command = _container_of_a_trial((*command, "--port", port, "--host", host), inner)
        return replace(case, command=command, env={**case.env, **found.env})


def _first(values: Mapping[str, str | None], flags: Sequence[str]) -> str | None:
    return next((value for flag in flags if (value := values.get(flag)) is not None), None)


def _container_of_a_trial(command: tuple[str, ...], inner: str) -> tuple[str, ...]:
    """The command with its container, if there is one, as a trial runs it. Raises UsageError if unreachable."""
    within = recognise(command).within
    if within is None:
        return command
    if within.unreachable:
        raise UsageError(
            f"a container with the network {within.unreachable!r}: no port of it can be reached",
            "Leave the option out, or give the command that the container runs, inside of it.",
        )
    return within.for_a_trial(inner)


def _with_variables(command: tuple[str, ...], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The command with variables for its container, if there is one, as far as it is not given them."""
    for name, value in variables.items():
        within = recognise(command).within
        if within is not None and name not in within.env:
            command = within.with_variable(name, value)
    return command


def _is_folder(model: str, case: Case) -> bool:
    """Whether a model is a local folder. On another host only an absolute path tells."""
    if case.host != "local":
        return os.path.isabs(model)
    return os.path.isdir(os.path.join(case.cwd or "", model))
