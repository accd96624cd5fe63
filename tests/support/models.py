"""Folders of models, made by tests: a tiny GLM-MoE-DSA, healthy unless a test spoils it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.checkpoints import library_wrote

TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>{% generation %}{{ m['content'] }}{% endgeneration %}{% endfor %}"
TOKENS = ["<|bos|>", "<|endoftext|>", "<|pad|>"]


def model(folder: Path, config: dict[str, Any] | None = None) -> Path:
    """A folder as a library wrote it, with a tokenizer and a chat template; with a configuration that is given."""
    library_wrote("glm", np.random.default_rng(0)).write(folder)
    if config is not None:
        write(folder / "config.json", config)
    write(folder / "generation_config.json", {"eos_token_id": 1, "bos_token_id": 0, "pad_token_id": 2})
    write(
        folder / "tokenizer_config.json", {"eos_token": "<|endoftext|>", "tokenizer_class": "PreTrainedTokenizerFast"}
    )
    added = [{"id": number, "content": text, "special": True} for number, text in enumerate(TOKENS)]
    vocabulary = {chr(0x100 + number): number + len(TOKENS) for number in range(200)}
    write(folder / "tokenizer.json", {"model": {"type": "BPE", "vocab": vocabulary}, "added_tokens": added})
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return folder


def write(path: Path, document: Any) -> None:
    """A file of JSON."""
    path.write_text(json.dumps(document), encoding="utf-8")


def spoil(path: Path, **keys: Any) -> None:
    """Other values for some keys of a file of JSON; those that are `...` go."""
    document = json.loads(path.read_text(encoding="utf-8")) | keys
    write(path, {key: value for key, value in document.items() if value is not ...})
