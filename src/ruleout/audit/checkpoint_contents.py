"""What a folder's safetensors files hold: the headers of those that are loaded, and where the index says they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ruleout.audit.folder import ModelFolder, Unreadable
from ruleout.audit.tensors import Header, Tensor, few, read_header
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

INDEX = "model.safetensors.index.json"
SHARDING = "https://huggingface.co/docs/transformers/big_models#sharded-checkpoints"
BESIDE = ("adapter_", "consolidated", "original")
"""How files of weights begin that lie beside a model and are none of it."""


@dataclass(frozen=True)
class Checkpoint:
    """What a folder's safetensors files hold.

    Attributes:
        headers: by file name, of the files that are loaded.
        index: file name by tensor name; None without an index, or where it could not be read.
        unread: findings about the index itself.
    """

    headers: Mapping[str, Header]
    index: Mapping[str, str] | None
    unread: tuple[AuditFinding, ...] = ()

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor with the name of its file."""
        for file, header in self.headers.items():
            for tensor in header.tensors:
                yield file, tensor

    def by_name(self) -> dict[str, Tensor]:
        """The tensors by name; the last one where a name stands twice."""
        return {tensor.name: tensor for _, tensor in self.tensors()}

    @property
    def complete(self) -> bool:
        """Whether everything that could be there was read: only then can a tensor be called missing."""
        return bool(self.headers) and all(header.readable for header in self.headers.values())

    @property
    def whole(self) -> bool:
        """Whether every file that the index names is there too: only then do the headers tell all bytes."""
        return self.complete and (self.index is None or set(self.index.values()) <= self.headers.keys())


def contents(folder: ModelFolder) -> Checkpoint:
    """Reads the headers of a folder's safetensors files."""
    index, unread = _index(folder)
    named = [name for name in folder.names if name.endswith(".safetensors") and not name.startswith(BESIDE)]
    if index is not None:
        files = set(index.values())
        named = [name for name in named if name in files]
    return Checkpoint({name: read_header(folder, name) for name in named}, index, unread)


def language_model(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """The tensors of the language model by name, without what a multimodal model puts before it."""
    held = checkpoint.by_name()
    for prefix, inner in (("language_model.", ""), ("model.language_model.", "model.")):
        first = f"{prefix}{'' if inner else 'model.'}layers.0."
        if any(name.startswith(first) for name in held):
            return {
                f"{inner}{name.removeprefix(prefix)}" if name.startswith(prefix) else name: tensor
                for name, tensor in held.items()
            }
    return held


def _index(folder: ModelFolder) -> tuple[Mapping[str, str] | None, tuple[AuditFinding, ...]]:
    if not folder.has(INDEX):
        return None, ()
    remedy = "Fetch the index again; it is a small file."
    try:
        found: Any = folder.mapping(INDEX, limit=256 << 20).get("weight_map")
    except Unreadable as problem:
        return None, (_finding("checkpoint-index", Severity.ERROR, problem.why, INDEX, remedy, SHARDING),)
    if not isinstance(found, dict) or not all(isinstance(file, str) for file in found.values()):
        what = "has no weight_map that gives the file of each tensor"
        return None, (_finding("checkpoint-index", Severity.ERROR, what, INDEX, remedy, SHARDING),)
    outside = sorted({file for file in found.values() if "/" in file or "\\" in file or file in ("", ".", "..")})
    if outside:
        what = f"names files that do not lie in the folder: {few(outside)}; they are not read"
        unread = (
            _finding(
                "checkpoint-outside",
                Severity.ERROR,
                what,
                INDEX,
                "Do not serve it: fetch it from its publisher.",
                SHARDING,
            ),
        )
        return {name: file for name, file in found.items() if file not in outside}, unread
    return found, ()


def _finding(name: str, severity: Severity, what: str, where: str, remedy: str, source: str) -> AuditFinding:
    return AuditFinding(name, severity, what, where, remedy, source, Component.WEIGHTS_CHECKPOINT)
