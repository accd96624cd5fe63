# mypy: disable-error-code="import-not-found"
"""Ways to change a built model as real faults do: a forward that somebody tuned, weights, a backend, a cache.

Nothing here knows of faults, and no name tells of one: healthy runs are changed by the same means.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch import nn
from transformers import cache_utils
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

Forward = Callable[..., Any]
_numbers = itertools.count(1)


class UnfitError(Exception):
    """This model has no such place."""


def layers(model: nn.Module) -> list[tuple[str, Any]]:
    """The decoder layers with their paths."""
    return [(f"model.layers.{number}", layer) for number, layer in enumerate(model.model.layers)]


def linears(layer: nn.Module, path: str) -> list[tuple[str, Any]]:
    """The plain linear modules of a layer, those of an indexer left out: what it chooses are whole numbers."""
    return [
        (f"{path}.{name}", module)
        for name, module in layer.named_modules()
        if type(module) is nn.Linear and "indexer" not in name
    ]


def replace(module: nn.Module, forward: Forward) -> None:
    """Gives one module another forward; it is called with the module first."""
    module.forward = MethodType(forward, module)


class Timing:
    """When a tuned forward is taken instead of the original: always."""

    def now(self, rows: int) -> bool:
        """Asked once a call, with the number of tokens in it."""
        return True


class DecodeOnly(Timing):
    """When there is one token of each sequence."""

    def __init__(self, batch: int) -> None:
        self.batch = batch

    def now(self, rows: int) -> bool:
        return rows == self.batch


class AfterStep(Timing):
    """From the call of that number on; the prefill of the first request is call 0."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.calls = 0

    def now(self, rows: int) -> bool:
        self.calls += 1
        return self.calls > self.step


def tune(module: nn.Module, timing: Timing, tuned: Forward) -> None:
    """Takes another forward at some times, judged by the rows of its first argument."""
    original = module.forward

    def forward(self: nn.Module, x: torch.Tensor, *more: Any, **named: Any) -> Any:
        if timing.now(x.numel() // x.shape[-1]):
            return tuned(self, x, *more, **named)
        return original(x, *more, **named)

    replace(module, forward)


def attend(attention: Any, timing: Timing, tuned: Forward) -> None:
    """Gives one attention module another backend, by the library's own registry."""
    original = ALL_ATTENTION_FUNCTIONS["sdpa"]

    def backend(module: Any, query: Any, key: Any, value: Any, mask: Any, **named: Any) -> Any:
        if timing.now(query.shape[0] * query.shape[2]):
            groups = query.shape[1] // key.shape[1]
            key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
            out = tuned(query, key, value, seen(mask, query, key), named["scaling"])
            return out.transpose(1, 2).contiguous(), None
        return original(module, query, key, value, mask, **named)

    name = f"backend_{next(_numbers)}"
    ALL_ATTENTION_FUNCTIONS.register(name, backend)
    attention.config = copy.copy(attention.config)
    attention.config._attn_implementation_internal = name


def seen(mask: torch.Tensor | None, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Which keys a query sees, as truth values, from any of the masks that the library makes."""
    if mask is None:
        length, total = query.shape[2], key.shape[2]
        return torch.ones(length, total, dtype=torch.bool).tril(total - length)[None, None]
    mask = mask[..., : key.shape[2]]
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def empty_cache(model: Any, longest: int, block: int | None = None, layer: int = 0) -> Any:
    """A cache allocated once with torch.empty, which gives out only what was written.

    Args:
        block: at one layer, a token that begins a block of that many is written one slot too far.
    """
    base: Any = cache_utils.DynamicLayer
    if "glm" in type(model).__name__.lower():
        base = getattr(cache_utils, "DynamicIndexedLayer", base)
    numbers = itertools.count()

    class Preallocated(base):  # type: ignore[misc]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.number, self.written = next(numbers), 0
            self.room: list[Any] = []

        def get_seq_length(self, *given: Any) -> int:
            return self.written

        def update(self, keys: Any, values: Any, *given: Any, **named: Any) -> Any:
            if not self.room:
                self.lazy_initialization(keys, values)
                self.room = [new.new_empty(*new.shape[:2], longest, new.shape[3]) for new in (keys, values)]
            start, count = self.written, keys.shape[2]
            skip = 1 if block and self.number == layer and start and start % block == 0 else 0
            for room, new in zip(self.room, (keys, values), strict=True):
                room[:, :, start + skip : start + skip + count] = new
            self.written += count
            self.keys, self.values = (room[:, :, : self.written] for room in self.room)
            return self.keys, self.values

    return cache_utils.Cache(layer_class_to_replicate=Preallocated)


def fill_what_is_not_written() -> None:
    """Makes torch.empty hand out NaN, as memory that held something else may."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
