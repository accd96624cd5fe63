"""Labelled failures as somebody would paste them: the command with its flags, then the lines that were shown.

A case is a YAML file with `id`, `engine`, `stage`, `failure_class`, `root_cause_component`, `symptom_lines`,
`command_flags`, `source_url`. Those whose lines were made up afterwards, and those whose cause is uncertain, are left
out: nothing is to be learned from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ruleout.diagnosis.catalogue import catalogue
from ruleout.diagnosis.infer import Found, clues_in
from ruleout.diagnosis.rule import Match
from ruleout.diagnosis.sharpen import matches
from ruleout.diagnosis.view import view
from ruleout.diagnosis.weights import weighed
from ruleout.model import Component, FailureClass, Stage
from ruleout.reading.diagnose import Run, read_run

COMMANDS = {"sglang": "python3 -m sglang.launch_server", "vllm": "vllm serve"}
NEAR: tuple[frozenset[str], ...] = (
    frozenset({"warmup", "kernel_compile", "cuda_graph_capture"}),
    frozenset({"arg_parsing", "model_config"}),
)
"""Stages between which a pasted excerpt seldom tells."""
SERVING = {"concurrency": frozenset({"decode", "prefill"}), "warmup": frozenset({"prefill"})}
_THREAD = re.compile(r"[\w.\-]+/[\w.\-]+/(?:issues|pull|discussions)/\d+")


@dataclass(frozen=True)
class Case:
    """A case, what was read of it, and what is true of it.

    Attributes:
        clues, rules: those that hold. They are the same under every fold's numbers.
    """

    name: str
    thread: str
    class_: FailureClass
    stage: str
    component: Component
    run: Run
    clues: tuple[Found, ...]
    rules: tuple[Match, ...]

    @property
    def read_class(self) -> FailureClass | None:
        """The class that was read or concluded."""
        failure = self.run.diagnosis.failure
        return failure.class_ if failure else None

    @property
    def stage_is_right(self) -> bool:
        """Whether the stage agrees, or is one that an excerpt seldom tells from it."""
        read = self.run.diagnosis.stage or Stage.UNKNOWN
        near = {self.stage}.union(*(group for group in NEAR if self.stage in group), SERVING.get(self.stage, ()))
        return read.value in near

    def cites(self, address: str) -> bool:
        """Whether an address is that of this case's own thread."""
        found = _THREAD.search(address)
        return bool(found and found[0] == self.thread) or address == self.thread


def read(folder: Path, scratch: Path) -> list[Case]:
    """The cases of a folder, in the order of their names. `scratch` takes the excerpts. Raises OSError."""
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))]
    return [
        _case(data, scratch)
        for data in found
        if data.get("symptom_provenance") != "reconstructed" and data.get("confidence") != "low"
    ]


def _case(data: dict[str, Any], scratch: Path) -> Case:
    flags = " ".join(str(flag) for flag in data.get("command_flags") or [] if str(flag).startswith("-"))
    command = COMMANDS.get(data["engine"], "")
    lines = [f"$ {command} {flags}"] if command and flags else []
    path = scratch / f"{data['id']}.log"
    path.write_text("\n".join([*lines, *(data.get("symptom_lines") or [])]) + "\n", encoding="utf-8")
    run = read_run([path])
    seen = view(weighed(run.diagnosis), run.near, run.lines)
    thread = _THREAD.search(data.get("source_url") or "")
    return Case(
        data["id"],
        thread[0] if thread else data.get("source_url") or data["id"],
        FailureClass(data["failure_class"]),
        data["stage"],
        Component(data["root_cause_component"]),
        run,
        tuple(clues_in(seen)),
        tuple(matches(catalogue(), seen)),
    )
