# mypy: disable-error-code="import-not-found"
"""Two ranks that hold half of every MLP each and add up what comes out, as tensor parallelism does."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from benchmarks.numerics.inside.places import layers, replace
from torch import nn
from torch.nn import functional


def join(rank: int, ranks: int, meeting: str) -> None:
    """Joins a gloo group over a file."""
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)


def shard(model: nn.Module, rank: int, ranks: int) -> None:
    """Leaves this rank its part of each MLP: columns of the first two products, rows of the last."""

    def added_up(self: Any, x: torch.Tensor) -> torch.Tensor:
        part = functional.linear(x, self.weight)
        dist.all_reduce(part)
        return part

    for _, layer in layers(model):
        mlp: Any = layer.mlp
        for linear, axis in ((mlp.gate_proj, 0), (mlp.up_proj, 0), (mlp.down_proj, 1)):
            linear.weight = nn.Parameter(linear.weight.data.chunk(ranks, axis)[rank].contiguous(), requires_grad=False)
        replace(mlp.down_proj, added_up)
