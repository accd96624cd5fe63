# mypy: disable-error-code="import-not-found"
"""A request as an engine serves it: a prefill, then decode steps over a cache.

It reports what a client could notice, not what an instrument says: whether what the model gave to be read was finite,
step by step.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from benchmarks.numerics.cases import Request
from benchmarks.numerics.inside.models import VOCABULARY

PAD = 2


def prompts(request: Request, seed: int) -> list[list[int]]:
    """Random tokens, none of them special."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(8, VOCABULARY, (length,), generator=generator).tolist() for length in request.lengths]


def padded(rows: list[list[int]], left: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask, both of shape (batch, longest)."""
    longest = max(map(len, rows))
    fill = [[PAD] * (longest - len(row)) for row in rows]
    ids = [gap + row if left else row + gap for gap, row in zip(fill, rows, strict=True)]
    seen = [
        [0] * len(gap) + [1] * len(row) if left else [1] * len(row) + [0] * len(gap)
        for gap, row in zip(fill, rows, strict=True)
    ]
    return torch.tensor(ids), torch.tensor(seen)


def cache_argument(model: Any) -> str:
    """What this release calls the cache in the arguments of a model."""
    return "cache" if "cache" in inspect.signature(type(model).forward).parameters else "past_key_values"


def serve(model: Any, request: Request, rows: list[list[int]], cache: Any = None, **generation: Any) -> list[bool]:
    """Answers once. Returns for each step, the prefill first, whether the logits to be read were finite.

    Raises what the model or the sampler raises.
    """
    with torch.no_grad():
        if request.how == "generate":
            return _generated(model, request, rows, cache, generation)
        return _looped(model, request, rows, cache)


def _generated(model: Any, request: Request, rows: list[list[int]], cache: Any, more: dict[str, Any]) -> list[bool]:
    ids, seen = padded(rows)
    if cache is not None:
        more = {**more, "past_key_values": cache}
    if request.sampling:
        more = {"top_k": 20, "top_p": 0.9, **more}
    answer = model.generate(
        input_ids=ids,
        attention_mask=seen,
        max_new_tokens=request.new_tokens,
        min_new_tokens=request.new_tokens,
        do_sample=request.sampling,
        return_dict_in_generate=True,
        output_logits=True,
        **more,
    )
    return [finite(step) for step in answer.logits]


def _looped(model: Any, request: Request, rows: list[list[int]], cache: Any) -> list[bool]:
    ids, seen = padded(rows)
    name = cache_argument(model)
    steps = []
    for _ in range(request.new_tokens):
        positions = (seen.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        given = {} if cache is None else {name: cache}
        answer = model(
            input_ids=ids, attention_mask=seen, position_ids=positions, use_cache=True, logits_to_keep=1, **given
        )
        cache = answer[name]
        logits = answer.logits[:, -1]
        steps.append(finite(logits))
        greedy = logits.argmax(-1, keepdim=True)
        ids = torch.multinomial(logits.float().softmax(-1), 1) if request.sampling else greedy
        seen = torch.cat((seen, seen.new_ones(len(rows), 1)), dim=1)
    return steps


def finite(tensor: torch.Tensor) -> bool:
    """Whether all numbers of a tensor are finite; infinities of a filled vocabulary count as bad, NaN too."""
    return bool(torch.isfinite(tensor).all())
