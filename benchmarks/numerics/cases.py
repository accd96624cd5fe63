"""What is run: a seed gives the same cases on every machine, before any of them is built.

A case says which model in which release of the library, asked how, with what kind of fault at a place that is drawn
later, once the modules of the model are known. This file needs nothing but the standard library: it is read by the
benchmark and by what runs inside an engine's environment.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

ENVIRONMENTS = ("transformers-5.2.0", "transformers-5.24.0")
DENSE = ("llama", "qwen2", "qwen3")
SPARSE = ("qwen3-moe", "glm-moe-dsa")
FAMILIES = DENSE + SPARSE

FAULTS = {
    "router-normalisation": "0/0 where a router's weights are divided by their sum",
    "exp-overflow": "exp past the largest number of its type",
    "masked-row": "a softmax, or inf - inf, over a row that is masked fully",
    "uninitialised": "memory that nobody wrote is read",
    "bad-scale": "a scale that is zero, or that overflows the type",
    "nan-weight": "a NaN in a parameter",
    "rare-expert": "a bad expert that few tokens reach",
    "decode-only": "a fault of the decode path alone",
    "one-rank": "a fault of one of two ranks that add up their parts",
    "after-step": "a fault that shows at a later step",
}

HEALTHY = {
    "padding-left": "prompts of several lengths, padded on the left",
    "padding-right": "padded on the right, read at the last real token",
    "sliding-window": "layers that see the last few tokens only",
    "unread-rows": "padding rows that attention never writes and nobody reads",
    "filled-mask": "a mask of -inf, as a buffer or as what a module returns",
    "logits-fill": "top-k, top-p and padded vocabulary filled with -inf",
    "static-cache": "a cache allocated once, whose unwritten part is never read",
    "empty-buffers": "output buffers made by torch.empty and written fully",
    "vanishing": "an infinity that a division turns into zero, as sigmoid does",
    "two-ranks": "two ranks that add up their parts",
}


@dataclass(frozen=True)
class Request:
    """What the model is asked, always twice.

    Attributes:
        lengths: tokens of each prompt of the batch.
        new_tokens: tokens generated; the first comes from the prefill, so decode has one step less.
        how: `generate` is the library's own loop, `loop` a plain one of prefill and decode.
        sampling: tokens are drawn instead of taken greedily; with a NaN the draw itself raises.
    """

    lengths: tuple[int, ...]
    new_tokens: int
    how: str
    sampling: bool = False


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes:
        draw: the seed of the weights, of the prompts and of the place of the fault.
        chosen: what a run without any instrument found out: which draw of the place really shows.
    """

    name: str
    kind: str
    environment: str
    family: str
    dtype: str
    attention: str
    experts: str
    request: Request
    draw: int
    ranks: int = 1
    chosen: Mapping[str, Any] = field(default_factory=dict)

    @property
    def faulty(self) -> bool:
        """Whether something is planted."""
        return self.kind in FAULTS

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def case(document: Mapping[str, Any]) -> Case:
    """The inverse of `Case.document`."""
    request = document["request"]
    return Case(**{**document, "request": Request(**{**request, "lengths": tuple(request["lengths"])})})


def draw(seed: int, faults: int, healthy: int) -> list[Case]:
    """The cases of a seed: kinds in turns, so that any number of them covers all."""
    return [
        *(_case(seed, number, list(FAULTS)[number % len(FAULTS)]) for number in range(faults)),
        *(_case(seed, number, list(HEALTHY)[number % len(HEALTHY)]) for number in range(healthy)),
    ]


_NEEDS_A_ROUTER = ("router-normalisation", "rare-expert")
_NEEDS_DENSE = ("one-rank", "two-ranks", "unread-rows", "padding-right")
_NEEDS_HALF = ("vanishing",)


def _case(seed: int, number: int, kind: str) -> Case:
    at = random.Random(f"{seed}/{kind}/{number}")
    family = at.choice(
        SPARSE
        if kind in _NEEDS_A_ROUTER
        else DENSE
        if kind in _NEEDS_DENSE
        else ("qwen2",)
        if kind == "sliding-window"
        else FAMILIES
    )
    batch = at.choice((1, 2, 3))
    longest = at.randint(6, 14)
    padded = at.random() < 0.7
    lengths = tuple(longest if row == 0 or not padded else at.randint(3, longest) for row in range(batch))
    if kind.startswith(("padding", "unread")):
        lengths = (longest, *(at.randint(2, longest - 2) for _ in range(at.choice((1, 2)))))
    sampling = at.random() < (0.8 if kind == "logits-fill" else 0.25)
    how = "generate" if sampling and kind in HEALTHY else at.choice(("generate", "loop"))
    return Case(
        name=f"{'fault' if kind in FAULTS else 'healthy'}-{seed}-{number:03d}",
        kind=kind,
        environment=at.choice(ENVIRONMENTS),
        family=family,
        dtype="float16" if kind in _NEEDS_HALF else at.choice(("float32", "float16", "bfloat16")),
        attention=at.choice(("eager", "sdpa")),
        experts=at.choice(("grouped_mm", "eager")),
        request=Request(lengths, at.randint(4, 7), how, sampling),
        draw=at.randrange(2**32),
        ranks=2 if kind in ("one-rank", "two-ranks") else 1,
    )
