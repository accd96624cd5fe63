"""Graphs and compiled code hide modules from a tracer: they are asked for away, and what that changes is evidence.

What is put on a command here is always told, since the failure may go away with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ruleout.model import ABSENT, PRESENT, Case, Configuration, arguments

ON: Mapping[str, tuple[str, ...]] = {
    "vllm": ("--enforce-eager",),  # both torch.compile and CUDA graphs
    "sglang": ("--disable-cuda-graph",),
}
"""By engine, the flags without which it runs modules inside of graphs or compiled code."""
OFF: Mapping[str, tuple[str, ...]] = {
    "vllm": ("--no-enforce-eager",),
    "sglang": ("--enable-torch-compile",),
    "transformers": ("--compile", "--cb-use-cuda-graph"),
}
"""By engine, the flags with which it does."""


@dataclass(frozen=True, slots=True)
class Eager:
    """A case whose modules can be seen. `levels` is what that took, by flag; empty: nothing."""

    case: Case
    levels: Configuration = field(default_factory=Configuration)

    @property
    def change(self) -> str:
        """What it took, as a person types it."""
        return arguments.told({flag: "" if level == PRESENT else level for flag, level in self.levels.items()})


def eager(case: Case) -> Eager:
    """The case without graphs and compiled code, as far as its engine has them and its command can be rewritten."""
    if arguments.shell_script(case.command) is not None:
        return Eager(case)
    off = [flag for flag in OFF.get(case.engine, ()) if flag in case.command]
    on = [flag for flag in ON.get(case.engine, ()) if flag not in case.command]
    command = (*(word for word in case.command if word not in off), *on)
    levels = Configuration({**dict.fromkeys(off, ABSENT), **dict.fromkeys(on, PRESENT)})
    return Eager(replace(case, command=command), levels)
