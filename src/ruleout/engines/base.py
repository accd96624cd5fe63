"""An engine adapter turns a case and a configuration into a launch and requests, and reads an answer as a client would.

It judges nothing and starts nothing: it only knows how one engine is spoken to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ruleout.model import Case, Configuration, Probe, Recorded, Stage


@dataclass(frozen=True, slots=True)
class Launch:
    """How the deployment is started under one configuration.

    Attributes:
        argv: the command; `{port}` in it and in the values of `env` is replaced by the port.
        env: what is set in the environment; None unsets.
        port: None: the command needs none; 0: any free one; otherwise exactly this one.
        ready_path: the path that answers 2xx once it is ready; ready_log: a regex for a line that says so.
        pages: the paths where it tells of its health and its work, looked at before it is stopped.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)
    cwd: str | None = None
    port: int | None = None
    ready_path: str | None = None
    ready_log: str | None = None
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One raw HTTP request of a probe, sent `requests` times, `concurrency` at once. `timeout` is in seconds.

    Attributes:
        step: in which order it is sent, from 1.
        bodies: where prompts differ: the requests take them in turn, instead of `body`.
        probe: of which it is one.
        expected: what the reference has for it.
    """

    step: int
    name: str
    method: str
    path: str
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120.0
    requests: int = 1
    concurrency: int = 1
    bodies: tuple[str, ...] = ()
    probe: Probe = field(default_factory=Probe)
    expected: Recorded | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client finds in a 2xx answer to a completion.

    Attributes:
        text: the generated text; None where the answer has no place for one.
        completion_tokens: as the engine counted them; None when it did not say.
        asked_tokens: the limit that the request set.
        tokens: of the generated text, as text; empty when there are none.
        logprobs: of these tokens, non-finite ones included; empty when there are none.
        runners_up: the logprob of the likeliest other token at each place; None where that is not told.
        token_ids: of the generated tokens; empty when there are none.
        error: what a stream says of its failure, in place of a status; empty when it says of none.
    """

    text: str | None
    finish_reason: str | None = None
    completion_tokens: int | None = None
    asked_tokens: int | None = None
    logprobs: tuple[float, ...] = ()
    token_ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()
    runners_up: tuple[float | None, ...] = ()
    error: str = ""


class Engine(Protocol):
    """What ruleout needs to know about a serving engine."""

    @property
    def name(self) -> str:
        """As in `engine:` of a case file."""

    @property
    def stages(self) -> Mapping[Stage, str]:
        """A regex (RE2 syntax) for a line of the log with which each stage begins."""

    def launch(self, case: Case, configuration: Configuration) -> Launch:
        """The launch under this configuration. Raises UsageError when a factor cannot be set on this command."""

    def requests(self, case: Case, configuration: Configuration) -> tuple[Request, ...]:
        """The requests of the case's probes, or of the engine's usual ones, in the order of their steps."""

    def answer(self, request: Request, body: str) -> Answer | None:
        """The answer in the body of a 2xx response; None when the body is not a completion at all."""
