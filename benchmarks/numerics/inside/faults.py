# mypy: disable-error-code="import-not-found"
"""What is planted, as real faults come: by a forward that somebody tuned, by weights, a backend, a configuration.

Each returns the truth of it. Where a fault only sometimes shows, the judge draws another place.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from benchmarks.numerics.cases import Case
from benchmarks.numerics.inside import places
from benchmarks.numerics.inside.places import AfterStep, DecodeOnly, Timing, UnfitError
from benchmarks.numerics.inside.truth import EMPTY, KEPT, MATMUL, Truth
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Planted:
    """What is in the model now, and the cache to be used with it, made anew for each request."""

    truth: Truth
    cache: Callable[[], Any] = field(default=lambda: None)


@dataclass
class Ground:
    """Where something is planted: a model, a generator of choices, when it takes effect, and on which rank."""

    model: Any
    case: Case
    at: random.Random
    timing: Timing
    rows: list[list[int]]
    here: bool = True

    def layer(self, last: bool = True) -> tuple[str, Any]:
        """One of the decoder layers; without the last where only other rows of it would see."""
        found = places.layers(self.model)
        return self.at.choice(found if last else found[:-1])

    @property
    def largest(self) -> float:
        """Of the model's type."""
        return float(torch.finfo(getattr(torch, self.case.dtype)).max)


def router_normalisation(ground: Ground) -> Planted:
    """Weights under a threshold are dropped, and the rest is divided by its sum: by zero where none is left."""
    path, layer = ground.layer()
    block = layer.mlp
    if not hasattr(block, "gate") or not hasattr(block, "experts"):
        raise UnfitError
    gate, threshold = block.gate, ground.at.choice((0.5, 0.6, 0.7, 0.8))
    top, factor = block.experts.num_experts, float(getattr(ground.model.config, "routed_scaling_factor", 1.0))

    def route(logits: torch.Tensor, sparse: bool) -> tuple[torch.Tensor, torch.Tensor]:
        scores = logits.float().sigmoid() if sparse else logits.float().softmax(-1)
        weights, chosen = scores.topk(min(2, top), dim=-1)
        weights = torch.where(weights > threshold, weights, 0.0)
        return chosen, weights / weights.sum(-1, keepdim=True) * factor

    if hasattr(block, "route_tokens_to_experts"):
        original = block.route_tokens_to_experts
        block.route_tokens_to_experts = lambda logits: (
            route(logits, True) if ground.timing.now(logits.shape[0]) else original(logits)
        )
        return Planted(Truth(f"{path}.mlp", ("div",)))

    def forward(self: Any, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        logits = functional.linear(hidden.reshape(-1, hidden.shape[-1]).to(self.weight.dtype), self.weight)
        chosen, weights = route(logits, "glm" in ground.case.family)
        return logits, weights, chosen

    places.tune(gate, ground.timing, forward)
    return Planted(Truth(f"{path}.mlp.gate", ("div",)))


def exp_in_activation(ground: Ground) -> Planted:
    """An activation written with exp(x), which overflows where x is large; the projection before it is strong."""
    path, layer = ground.layer()
    found = [
        (name, module)
        for name, module in layer.mlp.named_modules()
        if hasattr(module, "act_fn") and hasattr(module, "gate_proj")
    ]
    if not found:
        raise UnfitError
    name, mlp = ground.at.choice(found)
    with torch.no_grad():
        mlp.gate_proj.weight *= 10 if ground.case.dtype == "float16" else 60
    if ground.here:
        places.tune(mlp.act_fn, ground.timing, lambda self, x: x * torch.exp(x) / (1 + torch.exp(x)))
    return Planted(Truth(".".join(filter(None, (path, "mlp", name, "act_fn"))), ("exp",)))


def exp_in_attention(ground: Ground) -> Planted:
    """A softmax that forgets to take off the greatest score."""
    path, layer = ground.layer()
    strong = 16 if ground.case.dtype == "float16" else 160

    def attention(query: Any, key: Any, value: Any, seen: Any, scaling: float) -> torch.Tensor:
        scores = query @ key.transpose(2, 3) * (scaling * strong)
        grown = torch.exp(scores.masked_fill(~seen, torch.finfo(scores.dtype).min))
        return grown / grown.sum(-1, keepdim=True) @ value

    places.attend(layer.self_attn, ground.timing, attention)
    return Planted(Truth(f"{path}.self_attn", ("exp",)))


def masked_row(ground: Ground) -> Planted:
    """A mask that leaves a query nothing to see: the diagonal is missing, or all of a window."""
    path, layer = ground.layer(last=isinstance(ground.timing, DecodeOnly | AfterStep))
    by_hand = ground.at.random() < 0.5

    def attention(query: Any, key: Any, value: Any, seen: Any, scaling: float) -> torch.Tensor:
        length, total = query.shape[2], key.shape[2]
        ahead = torch.arange(total) - (torch.arange(length)[:, None] + total - length)
        visible = seen & (ahead < (0 if length > 1 else -total))
        scores = (query @ key.transpose(2, 3) * scaling).masked_fill(~visible, float("-inf"))
        if by_hand:
            grown = (scores - scores.amax(-1, keepdim=True)).exp()
            return grown / grown.sum(-1, keepdim=True) @ value
        return torch.softmax(scores, dim=-1) @ value

    places.attend(layer.self_attn, ground.timing, attention)
    return Planted(Truth(f"{path}.self_attn", ("sub",) if by_hand else ("_softmax",)))


def unwritten_tile(ground: Ground) -> Planted:
    """A product whose last tile of columns is left as it was allocated."""
    path, layer = ground.layer()
    name, linear = ground.at.choice(places.linears(layer, path))
    tile = ground.at.choice((1, 8, 16))

    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        done = self.weight.shape[0] - tile
        out = torch.empty(*x.shape[:-1], self.weight.shape[0], dtype=x.dtype)
        out[..., :done] = functional.linear(x, self.weight[:done])
        return out

    places.tune(linear, ground.timing, forward)
    return Planted(Truth(name, EMPTY))


def unwritten_buffer(ground: Ground) -> Planted:
    """A buffer that no checkpoint holds and that nobody filled."""
    if ground.at.random() < 0.5:
        rotary = ground.model.model.rotary_emb
        rotary.inv_freq = torch.empty_like(rotary.inv_freq)
        return Planted(Truth("model.rotary_emb", parameter="inv_freq"))
    path, layer = ground.layer()
    name, linear = ground.at.choice(places.linears(layer, path))
    linear.register_buffer("output_scale", torch.empty(linear.weight.shape[0], dtype=linear.weight.dtype))
    places.replace(linear, lambda self, x: functional.linear(x, self.weight) * self.output_scale)
    return Planted(Truth(name, parameter="output_scale"))


def unwritten_slot(ground: Ground) -> Planted:
    """A cache that puts the first token of a new block one slot too far, so that a slot is read that nobody wrote."""
    longest, steps = max(ground.case.request.lengths), ground.case.request.new_tokens - 1
    step = ground.at.randint(1, steps)
    number, (path, _) = ground.at.choice(list(enumerate(places.layers(ground.model))))
    return Planted(
        Truth(f"{path}.self_attn", KEPT, phase="decode", step=step),
        lambda: places.empty_cache(ground.model, longest + steps + 2, longest + step - 1, number),
    )


def zero_scale(ground: Ground) -> Planted:
    """Activations divided by a calibrated scale which is zero."""
    path, layer = ground.layer()
    name, linear = ground.at.choice(_shared_out(ground, places.linears(layer, path)))
    if ground.here:
        linear.register_buffer("input_scale", torch.zeros((), dtype=linear.weight.dtype))
        places.tune(linear, ground.timing, lambda self, x: functional.linear(x / self.input_scale, self.weight))
    return Planted(Truth(name, ("div",)))


def large_scale(ground: Ground) -> Planted:
    """Weights multiplied by a scale at run time, past what the type holds."""
    path, layer = ground.layer()
    name, linear = ground.at.choice(_shared_out(ground, places.linears(layer, path)))
    if ground.here:
        linear.register_buffer("weight_scale", torch.full((), ground.largest * 0.9, dtype=linear.weight.dtype))
        with torch.no_grad():
            linear.weight *= 16
        places.tune(linear, ground.timing, lambda self, x: functional.linear(x, self.weight * self.weight_scale))
    return Planted(Truth(name, ("mul",)))


def strong_weight(ground: Ground) -> Planted:
    """Weights that are finite, and so large that what they make is not."""
    path, layer = ground.layer()
    if ground.at.random() < 0.5:
        name, norm = ground.at.choice(
            [(f"{path}.{part}", getattr(layer, part)) for part in ("input_layernorm", "post_attention_layernorm")]
        )
        with torch.no_grad():
            norm.weight.fill_(ground.largest * 0.9)
        return Planted(Truth(name, ("mul",)))
    name, linear = ground.at.choice(places.linears(layer, path))
    with torch.no_grad():
        linear.weight *= ground.largest * 0.5 / float(linear.weight.abs().max())
    return Planted(Truth(name, MATMUL))


def zero_theta(ground: Ground) -> Planted:
    """A configuration with the base of the rotary embedding at zero."""
    rotary, config = ground.model.model.rotary_emb, ground.model.config
    config.rope_parameters = {**config.rope_parameters, "rope_theta": 0.0}
    ground.model.model.rotary_emb = type(rotary)(config)
    return Planted(Truth("model.rotary_emb", parameter="inv_freq"))


def nan_weight(ground: Ground) -> Planted:
    """One number of a parameter, or a row of it."""
    path, layer = ground.layer()
    named = [
        *((f"{path}.{name}", parameter) for name, parameter in layer.named_parameters() if _matters(name)),
        ("model.embed_tokens.weight", ground.model.model.embed_tokens.weight),
        ("model.norm.weight", ground.model.model.norm.weight),
        ("lm_head.weight", ground.model.lm_head.weight),
    ]
    name, parameter = ground.at.choice(named)
    row = ground.at.choice(ground.rows[0]) if "embed" in name else ground.at.randrange(parameter.shape[0])
    with torch.no_grad():
        place = parameter[row]
        if place.dim() and ground.at.random() < 0.5:
            place = place.view(-1)[ground.at.randrange(place.numel())]
        place.fill_(float("nan"))
    module, _, own = name.rpartition(".")
    return Planted(Truth(module, parameter=own))


def rare_expert(ground: Ground) -> Planted:
    """One expert has a NaN, or weights so large that what they make overflows."""
    path, layer = ground.layer()
    experts = getattr(layer.mlp, "experts", None)
    if experts is None:
        raise UnfitError
    number, own = ground.at.randrange(experts.num_experts), ground.at.choice(("gate_up_proj", "down_proj"))
    parameter = getattr(experts, own)
    truth = Truth(f"{path}.mlp.experts", MATMUL, expert=number)
    with torch.no_grad():
        if ground.at.random() < 0.5:
            parameter[number].view(-1)[ground.at.randrange(parameter[number].numel())] = float("nan")
            return Planted(replace(truth, parameter=own, operations=()))
        parameter[number] *= ground.largest * 0.5 / float(parameter[number].abs().max())
    return Planted(truth)


def nan_shard(ground: Ground) -> Planted:
    """One number of one rank's part of an MLP."""
    path, layer = ground.layer()
    own = ground.at.choice(("gate_proj", "up_proj"))
    linear = getattr(layer.mlp, own)
    row, column = (ground.at.randrange(size) for size in linear.weight.shape)
    if ground.here:
        with torch.no_grad():
            linear.weight[row, column] = float("nan")
    return Planted(Truth(f"{path}.mlp.{own}", parameter="weight"))


def _shared_out(ground: Ground, found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """With several ranks: what each has its own part of, before the parts are added up."""
    if ground.case.ranks == 1:
        return found
    return [one for one in found if one[0].endswith(("mlp.gate_proj", "mlp.up_proj"))]


def _matters(name: str) -> bool:
    """An indexer only chooses, and a bad bias of a router does not reach its weights; one expert is another kind."""
    return "indexer" not in name and "experts." not in name.replace("shared_experts", "") and "gate." not in name


_TIMED: tuple[Callable[[Ground], Planted], ...] = (
    router_normalisation,
    exp_in_activation,
    exp_in_attention,
    masked_row,
    unwritten_tile,
    zero_scale,
    large_scale,
)
PLANTS: dict[str, tuple[Callable[[Ground], Planted], ...]] = {
    "router-normalisation": (router_normalisation,),
    "exp-overflow": (exp_in_activation, exp_in_attention),
    "masked-row": (masked_row,),
    "uninitialised": (unwritten_tile, unwritten_buffer, unwritten_slot),
    "bad-scale": (zero_scale, large_scale, strong_weight, zero_theta),
    "nan-weight": (nan_weight,),
    "rare-expert": (rare_expert,),
    "decode-only": _TIMED,
    "one-rank": (exp_in_activation, zero_scale, large_scale, nan_shard),
    "after-step": (*_TIMED, unwritten_slot),
}


def plant(model: nn.Module, case: Case, attempt: int, rows: list[list[int]], rank: int = 0) -> Planted:
    """Plants what the case asks for, at the place of this attempt.

    Raises UnfitError when the model has no such place.
    """
    at = random.Random(f"{case.draw}/{attempt}")
    step = at.randint(1, case.request.new_tokens - 1)
    there = at.randrange(case.ranks)
    timing: Timing = Timing()
    if case.kind == "decode-only":
        timing = DecodeOnly(len(case.request.lengths))
    elif case.kind == "after-step":
        timing = AfterStep(step)
    ground = Ground(model, case, at, timing, rows, here=rank == there)
    planted = at.choice(PLANTS[case.kind])(ground)
    truth = replace(planted.truth, rank=there)
    if truth.phase == "prefill" and case.kind in ("decode-only", "after-step"):
        truth = replace(truth, phase="decode", step=step if case.kind == "after-step" else 1)
    return replace(planted, truth=truth)
