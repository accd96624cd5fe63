# mypy: disable-error-code="import-not-found"
"""Builds checkpoints that deployments really fail of. It runs inside an engine's environment, beside build_tiny.py.

    python build_practice.py MODELS FOLDER        makes FOLDER/… from MODELS/glm-tiny and MODELS/llama-tiny

Each differs from a model that works by one thing, so that what fails can only be that.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from build_tiny import SHARD, configurations, model  # first: it takes the network away
from safetensors.torch import load_file, save_file

INDEX = "model.safetensors.index.json"
NAN = "model.layers.1.mlp.down_proj.weight"
HUB_KEYS = {
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    "ep_size": 1,
    "num_nextn_predict_layers": 0,
}
"""What configs of this type on the hub have for vLLM and SGLang, and transformers has no use for."""


def hub_layout(folder: Path) -> None:
    """Stores each expert's matrices as tensors of their own, as published checkpoints do; vLLM reads only those."""
    weight_map: dict[str, str] = {}
    for path in sorted(folder.glob("*.safetensors")):
        apart: dict[str, Any] = {}
        for name, tensor in load_file(path).items():
            layer, experts, matrix = name.partition(".mlp.experts.")
            fused = experts and matrix in ("gate_up_proj", "down_proj")
            for number, expert in enumerate(tensor if fused else ()):
                parts = zip(("gate_proj", "up_proj"), expert.chunk(2, 0), strict=True)
                for part, values in parts if matrix == "gate_up_proj" else ((matrix, expert),):
                    apart[f"{layer}{experts}{number}.{part}.weight"] = values.contiguous()
            if not fused:
                apart[name] = tensor
        save_file(apart, path, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(apart, path.name)
    edit(folder / INDEX, weight_map=weight_map)
    edit(folder / "config.json", **HUB_KEYS)


def edit(path: Path, **changes: Any) -> None:
    """Changes keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes, indent=2))


def shard_of(folder: Path, name: str) -> Path:
    """The file that holds a weight."""
    weight_map: dict[str, str] = json.loads((folder / INDEX).read_text())["weight_map"]
    return folder / weight_map[name]


def not_a_number(folder: Path) -> None:
    """One matrix of one shard is NaN throughout: everything loads, and no answer has a word."""
    path = shard_of(folder, NAN)
    tensors = load_file(path)
    tensors[NAN] = torch.full_like(tensors[NAN], float("nan"))
    save_file(tensors, path, metadata={"format": "pt"})


def without_a_shard(folder: Path) -> None:
    """The index names a shard that is not there, as after a download that was cut off."""
    shard_of(folder, NAN).unlink()


def cut_short(folder: Path) -> None:
    """A shard ends early, as on a full disk."""
    path = shard_of(folder, NAN)
    path.write_bytes(path.read_bytes()[:-1000])


def of_no_type(folder: Path) -> None:
    """A type and an architecture that no engine knows."""
    edit(folder / "config.json", model_type="nosuch_model", architectures=["NoSuchForCausalLM"])


def plain(folder: Path) -> None:
    """A GLM on which releases of transformers agree where they compute attention right.

    5.2 halves the rotary dimensions where 5.24 interleaves them, and their indexers choose differently. With two rotary
    dimensions both orders are the same, and an indexer that keeps more positions than there are chooses nothing.
    """
    config = configurations()["glm-tiny"]
    config.qk_rope_head_dim = config.head_dim = 2
    config.qk_head_dim = config.qk_nope_head_dim + 2
    config.index_topk = config.max_position_embeddings
    for shard in folder.glob("*.safetensors"):
        shard.unlink()
    model(config).save_pretrained(folder, max_shard_size=SHARD)


PRACTICE = {
    "glm-hub": ("glm-tiny", hub_layout),
    "glm-plain": ("glm-tiny", plain),
    "llama-nan": ("llama-tiny", not_a_number),
    "llama-missing-shard": ("llama-tiny", without_a_shard),
    "llama-truncated-shard": ("llama-tiny", cut_short),
    "llama-unknown-type": ("llama-tiny", of_no_type),
}


def main(models: Path, folder: Path) -> None:
    """Writes all of them."""
    for name, (origin, change) in PRACTICE.items():
        shutil.copytree(models / origin, folder / name)
        change(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
