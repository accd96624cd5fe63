"""Graphs and compiled code hide modules from a tracer: they are asked for away, and what that changes is evidence.

What is put on a command here is always told, since the failure may go away with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ruleout.model import ABSENT, Case, arguments

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
    """A case whose modules can be seen. `change` is what that took, as a person types it; empty: nothing."""

    case: Case
    change: str = ""


def eager(case: Case) -> Eager:
    """The case without graphs and compiled code, as far as its engine has them and its command can be rewritten."""
    if arguments.shell_script(case.command) is not None:
        return Eager(case)
    command, change = case.command, dict[str, str]()
    for flag in OFF.get(case.engine, ()):
        if flag in command:
            command, change[flag] = tuple(word for word in command if word != flag), ABSENT
    for flag in ON.get(case.engine, ()):
        if flag not in command:
            command, change[flag] = (*command, flag), ""
    return Eager(replace(case, command=command), arguments.told(change))
