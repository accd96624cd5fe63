"""From a configuration to the events of its trial: the document is written, the trial noted, then the agent runs."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruleout.engines import Engine, Launch, Request
from ruleout.engines.devices import devices
from ruleout.investigation.folder import write_whole
from ruleout.investigation.references import check_references
from ruleout.investigation.running import noted
from ruleout.investigation.timing import LONGEST_S
from ruleout.model import Case, Configuration, Mode, UsageError
from ruleout.model.redaction import SECRETS, Redactor
from ruleout.runners.base import Event, Runner

LOG_BYTES = 8 << 30
BODY_BYTES = 1 << 20
STOP_GRACE = 10.0


@dataclass
class Prepared:
    """A trial that can be launched. `token` marks every process of it in its environment."""

    spool: Path
    token: str
    requests: tuple[Request, ...]
    document: Mapping[str, Any]
    events: list[Event] = field(default_factory=list)

    def run(self, runner: Runner, on_event: Callable[[Event], None]) -> list[Event]:
        """Run it to its end. Raises MissingError when the folder cannot be written."""
        write_whole(self.spool / "trial.json", json.dumps(self.document, indent=1, ensure_ascii=False) + "\n")
        with noted(self.token, self.spool):
            self.events = runner.run(self.document, on_event)
        return self.events

    @property
    def refused(self) -> str:
        """Why it could not even be launched; empty when it was."""
        end = self.events[-1] if self.events else {}
        if end.get("reason") != "refused":
            return ""
        return Redactor(SECRETS)(str(end.get("detail") or "refused"))  # it may quote another's command

    @property
    def exit_code(self) -> int | None:
        """The exit code of the command, if it left by itself."""
        left = next((e for e in self.events if e["kind"] == "exit"), None)
        return None if left is None else left.get("code")


def prepare(case: Case, engine: Engine, configuration: Configuration, number: int, spool: Path, cwd: Path) -> Prepared:
    """The trial of a configuration. `cwd` is where the command runs unless the case says otherwise.

    Raises UsageError when a factor cannot be set on this command, or a reference is of another model.
    """
    refuse_elsewhere(case)
    check_references(case, engine, configuration)
    requests = engine.requests(case, configuration)
    launch = engine.launch(case, configuration)
    token = secrets.token_hex(8)
    return Prepared(spool, token, requests, _document(case, launch, requests, number, token, spool, cwd))


def refuse_elsewhere(case: Case) -> None:
    """Raises UsageError when the case is to be run on another host."""
    if case.host != "local":
        raise UsageError(f"case {case.name}: host {case.host} is not supported yet", "Run ruleout on that host itself.")


def _document(
    case: Case, launch: Launch, requests: tuple[Request, ...], number: int, token: str, spool: Path, cwd: Path
) -> dict[str, Any]:
    """The launch as the document that the agent reads (`ruleout.trial/1`)."""
    return {
        "schema": "ruleout.trial/1",
        "id": number,
        "token": token,
        "spool": str(spool),
        "argv": list(launch.argv),
        "env": {
            "set": {name: value for name, value in launch.env.items() if value is not None},
            "unset": [name for name, value in launch.env.items() if value is None],
        },
        "cwd": launch.cwd or str(cwd),
        "mode": case.mode.value,
        "host": "127.0.0.1",
        "port": launch.port,
        "ready": {"path": launch.ready_path, "log": launch.ready_log, "timeout_s": case.ready.timeout},
        "probes": [_probe(request) for request in requests] if case.mode is Mode.SERVE else [],
        "stop": {"grace_s": STOP_GRACE},
        "lease": {"eof_grace_s": 1.5, "seconds": None},
        "gather": {"paths": list(launch.pages)},
        "others": {
            "wait_s": case.others.wait,
            "gpus": 0 if case.others.share else devices(case.engine, launch.argv),
        },
        "limits": {
            "seconds": LONGEST_S if case.timeout is None else case.timeout,
            "log_bytes": case.budget.disk or LOG_BYTES,
            "silence_s": None,
            "body_bytes": BODY_BYTES,
        },
    }


def _probe(request: Request) -> dict[str, Any]:
    return {
        "step": request.step,
        "name": request.name,
        "method": request.method,
        "path": request.path,
        "headers": dict(request.headers),
        "body": request.body,
        "bodies": list(request.bodies),
        "optional": request.probe.optional,
        "timeout_s": request.timeout,
        "requests": request.requests,
        "concurrency": request.concurrency,
    }
