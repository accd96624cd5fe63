"""Fake spools: what an agent would have left of a run, written by hand. No process is started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruleout.engines import engine_named
from ruleout.investigation.run import LOG, Run, read_run
from ruleout.model import Case, Mode, Probe, Ready

READY_LINE = "INFO: Uvicorn running"
STAGES = {"weight_load": "^loading weights", "kv_cache_alloc": "^allocating cache", "decode": "^decoding"}

SERVE = Case(
    "served",
    "command",
    ("serve", "--model", "tiny", "--port", "{port}"),
    ready=Ready(60.0, path="/health"),
    stages=STAGES,
    probes=(Probe(repeat=2),),
)
JOB = Case("job", "command", ("work",), mode=Mode.JOB, stages=STAGES)


def completion(text: str | None, reason: str = "stop", **more: Any) -> str:
    """The body of an OpenAI-style chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason, **more}
    return json.dumps({"choices": [choice], "usage": {"completion_tokens": 3 if text else 0}})


@dataclass
class FakeSpool:
    """Events of a run, added one after the other, a minute apart."""

    folder: Path
    events: list[dict[str, Any]] = field(default_factory=list)

    def log(self, *lines: str) -> FakeSpool:
        """The server's log."""
        (self.folder / LOG).write_text("".join(f"{line}\n" for line in lines))
        return self

    def add(self, kind: str, **fields: Any) -> FakeSpool:
        """Another event."""
        count = len(self.events)
        self.events.append({"kind": kind, "seq": count, "mono": 1000.0 + 60 * count, "wall": 0.0, **fields})
        return self

    def ready(self) -> FakeSpool:
        """It was started and became ready."""
        return self.add("started", pid=1).add("ready", seconds=1.0)

    def answered(self, step: int, body: str = completion("Paris"), status: int = 200) -> FakeSpool:
        """A request was answered."""
        return self.add("probe", step=step, name="completion", status=status, body=body, error=None)

    def ended(self, reason: str = "done", detail: str = "") -> FakeSpool:
        """The last word."""
        return self.add("end", reason=reason, detail=detail)

    def exited(self, code: int | None = None, signal: int | None = None) -> FakeSpool:
        """The command left by itself."""
        return self.add("exit", code=code, signal=signal).ended("exit")

    def read(self, case: Case) -> Run:
        """The run."""
        engine = engine_named(case.engine)
        events: list[Mapping[str, Any]] = list(self.events)
        return read_run(case, engine, engine.requests(case, case.baseline), self.folder, events)
