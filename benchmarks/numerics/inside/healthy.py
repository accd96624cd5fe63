# mypy: disable-error-code="import-not-found"
"""Runs in which infinities and unwritten memory are where they belong: nothing may be reported.

Healthy means: all that the model's root gives to be read is finite, or is filled with -inf on purpose.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.numerics.cases import Case
from benchmarks.numerics.inside import places
from benchmarks.numerics.inside.models import VOCABULARY
from benchmarks.numerics.inside.places import Timing
from benchmarks.numerics.inside.serving import finite, padded, serve
from torch import nn
from torch.nn import functional

Serve = Callable[[], list[bool]]


def arrange(model: Any, case: Case, rows: list[list[int]]) -> Serve:
    """Changes the model as the case says. Returns what serves one request."""
    at = random.Random(case.draw)
    places.fill_what_is_not_written()
    return _ARRANGED.get(case.kind, _plainly)(model, case, rows, at)


def _plainly(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    return lambda: serve(model, case.request, rows)


def _right(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    """The whole batch is computed, and each row read at its last real token."""

    def served() -> list[bool]:
        ids, seen = padded(rows, left=False)
        with torch.no_grad():
            hidden = model.model(input_ids=ids, attention_mask=seen).last_hidden_state
            return [finite(model.lm_head(hidden[range(len(rows)), [len(row) - 1 for row in rows]]))]

    return served


def _unread(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    """Attention goes through each sequence's real tokens; the padding rows of its output stay as allocated."""
    lengths = [len(row) for row in rows]

    def attention(query: Any, key: Any, value: Any, seen: Any, scaling: float) -> torch.Tensor:
        out = torch.empty_like(query)
        for row, length in enumerate(lengths):
            part = slice(row, row + 1), slice(None), slice(0, length)
            out[part] = functional.scaled_dot_product_attention(
                query[part], key[part], value[part], is_causal=True, scale=scaling
            )
        return out

    for _, layer in places.layers(model):
        places.attend(layer.self_attn, Timing(), attention)

    def served() -> list[bool]:
        ids, _ = padded(rows, left=False)
        last = torch.tensor([row * ids.shape[1] + length - 1 for row, length in enumerate(lengths)])
        with torch.no_grad():
            return [finite(_Reading.of(model)(ids, last))]

    return served


class _Reading(nn.Module):  # type: ignore[misc]
    """The root that an engine calls: hidden states of all rows, logits of those that are read."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, self.lm_head = model.model, model.lm_head

    @staticmethod
    def of(model: Any) -> Any:
        """One for each model, as long as it lives."""
        if not hasattr(model, "reading"):
            object.__setattr__(model, "reading", _Reading(model))
        return model.reading

    def forward(self, ids: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        hidden = self.model(input_ids=ids, use_cache=False).last_hidden_state
        return self.lm_head(hidden.reshape(-1, hidden.shape[-1])[last])


class _Causal(nn.Module):  # type: ignore[misc]
    """Hands out a mask of -inf above the diagonal."""

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        length, total = query.shape[2], key.shape[2]
        return torch.full((length, total), float("-inf")).triu(1 + total - length)


def _mask(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    """Each layer keeps its mask in a buffer, as older models do, or asks a module for it."""
    as_buffer = at.random() < 0.5
    for _, layer in places.layers(model):
        attention = layer.self_attn
        if as_buffer:
            attention.register_buffer("bias_mask", torch.full((64, 64), float("-inf")).triu(1), persistent=False)
        else:
            attention.masking = _Causal()

        def attend(query: Any, key: Any, value: Any, seen: Any, scaling: float, own: Any = attention) -> torch.Tensor:
            length, total = query.shape[2], key.shape[2]
            mask = own.bias_mask[total - length : total, :total] if as_buffer else own.masking(query, key)
            scores = (query @ key.transpose(2, 3)).float() * scaling + mask
            scores = scores.masked_fill(~seen, float("-inf")) if length > 1 else scores
            kept = torch.nan_to_num(torch.softmax(scores, dim=-1))
            return kept.to(value.dtype) @ value

        places.attend(attention, Timing(), attend)
    return _plainly(model, case, rows, at)


class _TopK(nn.Module):  # type: ignore[misc]
    """A sampler that fills what is not among the best with -inf, and gives that back."""

    def forward(self, logits: torch.Tensor, k: int) -> torch.Tensor:
        least = logits.topk(k).values[..., -1:]
        return logits.masked_fill(logits < least, float("-inf"))


def _logits(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    """Part of the vocabulary is padding and gets -inf in the head, or a sampler of its own fills the logits."""
    if at.random() < 0.5:
        real = VOCABULARY - 16

        def head(self: Any, hidden: torch.Tensor) -> torch.Tensor:
            logits = functional.linear(hidden, self.weight)
            logits[..., real:] = float("-inf")
            return logits

        places.replace(model.lm_head, head)
        return lambda: [True for _ in serve(model, case.request, rows)]
    sampler = _TopK()

    def served() -> list[bool]:
        ids, seen = padded(rows)
        with torch.no_grad():
            logits = model(input_ids=ids, attention_mask=seen, logits_to_keep=1).logits[:, -1].float()
            return [finite(sampler(logits, 8).softmax(-1)), *serve(model, case.request, rows, top_k=5)]

    return served


def _static(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    """The library's own static cache, or one that hands out what was written of memory that held something else."""
    longest = max(case.request.lengths) + case.request.new_tokens + 1
    if at.random() < 0.3 and case.request.how == "generate" and "glm" not in case.family:
        return lambda: serve(model, case.request, rows, cache_implementation="static", disable_compile=True)
    return lambda: serve(model, case.request, rows, places.empty_cache(model, longest))


def _buffers(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    """Products write into memory that was allocated before."""

    def into(self: Any, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(x.numel() // x.shape[-1], self.weight.shape[0], dtype=x.dtype)
        torch.mm(x.reshape(-1, x.shape[-1]), self.weight.t(), out=out)
        if self.bias is not None:
            out += self.bias
        return out.view(*x.shape[:-1], -1)

    for path, layer in places.layers(model):
        for _, linear in places.linears(layer, path):
            places.replace(linear, into)
    return _plainly(model, case, rows, at)


def _vanishing(model: Any, case: Case, rows: list[list[int]], at: random.Random) -> Serve:
    """x / (1 + exp(-x)) with exp(-x) past the largest number: the quotient is zero, as it should be."""
    for module in model.modules():
        if hasattr(module, "act_fn") and hasattr(module, "gate_proj"):
            with torch.no_grad():
                module.gate_proj.weight *= 10
            places.replace(module.act_fn, lambda self, x: x / (1 + torch.exp(-x)))
    return _plainly(model, case, rows, at)


_ARRANGED = {
    "padding-right": _right,
    "unread-rows": _unread,
    "filled-mask": _mask,
    "logits-fill": _logits,
    "static-cache": _static,
    "empty-buffers": _buffers,
    "vanishing": _vanishing,
}
