"""What is audited: the folder with its small files read once, what the command asks for, and what it is to run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ruleout.audit.checkpoint_contents import Checkpoint, contents, language_model
from ruleout.audit.checkpoint_families import Parameter, parameters
from ruleout.audit.folder import ModelFolder, Unreadable
from ruleout.audit.tensors import Tensor
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Host, Launch, Severity

EMPTY: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Subject:
    """What the checks look at.

    Attributes:
        whole: config.json as it is; empty where it could not be read.
        config: the same, a multimodal model's text model on top of it: what the language model is built from.
        generation_config: generation_config.json; empty where there is none.
        quantization: how the weights are quantised, by config.json or hf_quant_config.json; None where they are not.
        launch: what the command asks for; without an engine where there is no command.
        host: None where it is not known.
        problems: files that could not be read.
    """

    folder: ModelFolder
    whole: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    generation_config: Mapping[str, Any] = field(default_factory=dict)
    quantization: Mapping[str, Any] | None = None
    launch: Launch = field(default_factory=Launch)
    host: Host | None = None
    problems: tuple[AuditFinding, ...] = ()

    @property
    def model_type(self) -> str | None:
        """As config.json names it."""
        kind = self.whole.get("model_type")
        return kind if isinstance(kind, str) else None

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """What the safetensors files hold, by their headers."""
        return contents(self.folder)

    @cached_property
    def tensors(self) -> Mapping[str, Tensor]:
        """The tensors of the language model, by the names that its own checkpoint would give them."""
        return language_model(self.checkpoint)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that the configuration asks for. Raises NotDescribed."""
        return tuple(parameters(self.config))

    @property
    def arguments(self) -> Mapping[str, str]:
        """The flags of the command, by their names in snake_case."""
        return self.launch.arguments


Check = Callable[[Subject], Iterator[AuditFinding]]
"""A check yields what it finds, and nothing where it has nothing to look at."""
Progress = Callable[[int, int], None]
"""Told how many bytes of how many have been read."""


def subject(folder: ModelFolder, launch: Launch | None, host: Host | None) -> Subject:
    """The subject with its small files read."""
    problems: list[AuditFinding] = []
    whole = _read(folder, "config.json", problems, needed=True)
    text = whole.get("text_config")
    config = {**whole, **text} if isinstance(text, dict) else whole
    return Subject(
        folder,
        whole,
        config,
        _read(folder, "generation_config.json", problems),
        _quantization(folder, whole, problems),
        launch or Launch(),
        host,
        tuple(problems),
    )


def unreadable(problem: Unreadable, severity: Severity, component: Component) -> AuditFinding:
    """A file that could not be read, as a finding."""
    return AuditFinding("unreadable-file", severity, problem.why, problem.name, problem.remedy, component=component)


def _read(folder: ModelFolder, name: str, problems: list[AuditFinding], *, needed: bool = False) -> Mapping[str, Any]:
    if not (needed or folder.has(name)):
        return EMPTY
    try:
        return folder.mapping(name)
    except Unreadable as problem:
        problems.append(unreadable(problem, Severity.ERROR, Component.WEIGHTS_CHECKPOINT))
        return EMPTY


def _quantization(
    folder: ModelFolder, whole: Mapping[str, Any], problems: list[AuditFinding]
) -> Mapping[str, Any] | None:
    """config.json's word goes before that of the file which modelopt writes beside it."""
    for place in (whole, whole.get("text_config")):
        told = place.get("quantization_config") if isinstance(place, dict) else None
        if isinstance(told, dict):
            return told
    told = _read(folder, "hf_quant_config.json", problems).get("quantization")
    return {"quant_method": "modelopt", **told} if isinstance(told, dict) else None
