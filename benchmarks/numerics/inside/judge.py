# mypy: disable-error-code="import-not-found"
"""Proves a planted fault before anything is measured with it.

The truth was written down by whoever planted it. Here the run itself is asked, by looking at everything at any price:
the first module with finite inputs, parameters and buffers and a bad output must be the one that the truth names, in
that step; the first operation in it that made a bad number must be among the truth's; and what the model gives to be
read must go bad. Where a parameter is the truth, no other module may have a bad one, and its module must be used.
"""

from __future__ import annotations

import contextlib
from typing import Any

from benchmarks.numerics.inside.looking import Modules, Operations, all_finite, no_nan
from benchmarks.numerics.inside.truth import EMPTY, KEPT, Truth
from torch import nn

FILLING = ("masked_fill", "where", "full", "full_like", "fill", "scatter", "new_full", *EMPTY)
"""What makes infinities, or hands out what is in memory, on purpose."""
_A_QUARTER = 0.25


class Judge(Modules):
    """Looks at all modules, and at all operations of the one that the truth names."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.born: tuple[str, str, int] | None = None
        self.operations: list[str] = []
        self.used = self.bad_parameters = 0
        self.share: float | None = None
        self._modes: contextlib.ExitStack | None = None

    def start(self, model: nn.Module) -> None:
        super().start(model)
        named = [*model.named_parameters(), *model.named_buffers()]
        self.bad = [name for name, tensor in named if tensor.is_floating_point() and not all_finite(tensor)]

    def entered(self, module: nn.Module) -> None:
        if self.running[-1] == self.truth.module and self.born is None and self._modes is None:
            self._modes = contextlib.ExitStack()
            for good in (all_finite, no_nan):
                self._modes.enter_context(Operations(self.operations.append, good))

    def left(self, module: nn.Module, given: Any, output: Any) -> None:
        path = self.running[-1]
        if path == self.truth.module:
            self.used += 1
            if self._modes is not None:
                self._modes.close()
                self._modes = None
            if self.truth.expert is not None and self.share is None:
                chosen = next(each for each in given[0] if not each.is_floating_point())
                self.share = float((chosen == self.truth.expert).any(-1).float().mean())
        own = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        if self.born is None and not all_finite(output) and all_finite(given) and all_finite(own):
            self.born = (path, self.phase, self.step)
        elif self.born is None and path == self.truth.module:
            self.operations.clear()

    def wrong(self, steps: list[bool]) -> str:
        """What speaks against the truth; empty when it is proven. Steps are those of all requests, finite or not."""
        if all(steps):
            return "the fault does not show in what is read"
        truth = self.truth
        if self.share is not None and not 0 < self.share <= _A_QUARTER:
            return f"the expert is reached by {self.share:.0%} of the tokens"
        if truth.parameter is not None:
            places = {name.rpartition(".")[0] for name in self.bad}
            if places != {truth.module} or f"{truth.module}.{truth.parameter}" not in self.bad:
                return f"bad parameters are {self.bad}"
            return "" if self.used else "its module is not used"
        if self.bad:
            return f"parameters are bad: {self.bad}"
        if self.born != (truth.module, truth.phase, truth.step):
            return f"born in {self.born}"
        first = [name for name in self.operations if name not in FILLING or name in truth.operations]
        kept = not first and truth.operations == KEPT
        if not kept and (not first or not among(first[0], truth.operations)):
            return f"operations are {self.operations}"
        return ""


def among(name: str, allowed: tuple[str, ...]) -> bool:
    """Whether an operation is one of those; `*` ends a prefix."""
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in allowed)
