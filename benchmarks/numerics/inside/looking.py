# mypy: disable-error-code="import-not-found"
"""What every instrument here needs: which module runs, in which step, and whether tensors are finite.

An instrument looks at one run of a model and answers with what it holds for the first bad number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as hooks
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass
class Answer:
    """What an instrument says; empty where it does not say.

    Attributes:
        operation: without namespace, overload and the underscore of in-place variants.
        parameter: of the module, when it says that the parameter brought it along.
        at: seconds of the monotonic clock, the same for all processes of a machine.
    """

    module: str = ""
    operation: str = ""
    parameter: str = ""
    phase: str = ""
    step: int | None = None
    rank: int | None = None
    at: float = field(default_factory=time.monotonic)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


class Instrument:
    """Looks on while a model works: `start` once it is built, `stop` at the end. This one sees nothing."""

    answer: Answer | None = None

    @staticmethod
    def load() -> None:
        """Imports what it needs, once for all the processes that are forked later."""

    def start(self, model: nn.Module) -> None:
        """Begins to look."""

    def stop(self) -> None:
        """Takes itself out and says what it found, in `answer`."""


def tensors(given: Any, depth: int = 6) -> Iterator[torch.Tensor]:
    """The floating tensors in what a module takes or gives; a cache is not looked into."""
    if isinstance(given, torch.Tensor):
        if given.is_floating_point():
            yield given
    elif depth and isinstance(given, Mapping):
        for each in given.values():
            yield from tensors(each, depth - 1)
    elif depth and isinstance(given, (tuple, list)):
        for each in given:
            yield from tensors(each, depth - 1)
    elif depth and is_dataclass(given) and not isinstance(given, type):
        yield from tensors(vars(given), depth - 1)


def all_finite(given: Any) -> bool:
    """Whether every number of every tensor in it is finite."""
    return all(bool(torch.isfinite(each).all()) for each in tensors(given))


def no_nan(given: Any) -> bool:
    """Whether there is no NaN in it; infinities may be."""
    return not any(bool(torch.isnan(each).any()) for each in tensors(given))


def named(func: Any) -> str:
    """An operation's name without namespace, overload and the underscore of in-place variants."""
    return str(func.__name__).split(".")[0].rstrip("_") or str(func.__name__)


class Modules(Instrument):
    """Follows the calls of modules, and counts the steps of requests at the calls of the root."""

    def start(self, model: nn.Module) -> None:
        self.paths = {module: name for name, module in model.named_modules()}
        self.model, self.running = model, [""]
        self.phase, self.step = "prefill", 0
        self._handles = [
            hooks.register_module_forward_pre_hook(self._before),
            hooks.register_module_forward_hook(self._after, with_kwargs=True, always_call=True),
            model.register_forward_pre_hook(self._request, with_kwargs=True),
        ]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _request(self, module: nn.Module, args: Any, kwargs: Mapping[str, Any]) -> None:
        decode = kwargs["input_ids"].shape[1] == 1
        self.phase, self.step = ("decode", self.step + 1) if decode else ("prefill", 0)

    def _before(self, module: nn.Module, args: Any) -> None:
        self.running.append(self.paths.get(module, ""))
        self.entered(module)

    def _after(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        self.left(module, (args, kwargs), output)
        self.running.pop()

    def entered(self, module: nn.Module) -> None:
        """A module begins; its path is `running[-1]`."""

    def left(self, module: nn.Module, given: Any, output: Any) -> None:
        """A module has ended; output is None when it raised."""


class Operations(TorchDispatchMode):  # type: ignore[misc]
    """Tells the name of every operation whose output is bad and whose inputs were not."""

    def __init__(self, look: Callable[[str], None], good: Callable[[Any], bool] = all_finite) -> None:
        super().__init__()
        self.look, self.good = look, good

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = self.good((args, kwargs or {}))
        out = func(*args, **(kwargs or {}))
        if before and not self.good(out):
            self.look(named(func))
        return out
