"""What a reader of a configuration makes of it: a rotation for each kind of layer, or why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ruleout.audit.rope.rotation import Rotation

Parameters = dict[str, Any]
"""Rotary parameters, by their names."""
LAYERS = ("full_attention", "sliding_attention")
"""The kinds of layers that models with two kinds have."""
ALL = ""
"""The kind of layer where all are of one kind."""
_REQUIRED = {
    "linear": {"factor"},
    "dynamic": {"factor"},
    "yarn": {"factor"},
    "longrope": {"short_factor", "long_factor"},
    "llama3": {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"},
}
"""What has to be there, by the rope type; what version 5 fills in itself is left out."""
_OF_THEIR_OWN = frozenset(
    {"mrope", "bailing_mrope", "xdrope", "fope", "ntk", "mllama4", "openpangu"}
    | {"deepseek_yarn", "deepseek_llama_scaling"}
)
"""Rope types that one engine or model's own code knows; what the others make of them depends on the model."""
TROUBLES = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)
"""What impossible values raise, there as here."""


class Refused(Exception):  # noqa: N818 - it is what a reader does, not our error
    """The reader ends with an error. `why` tells which, and of what."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Untold(Exception):  # noqa: N818 - it is what we do not know, not an error
    """What the reader does is not known here, and why not."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader works with.

    Attributes:
        rotations: by the kind of layer; `ALL` where there is one kind.
        parameters: the rotary parameters, standardised, by the same.
        interleaved: whether neighbours are turned together rather than halves; None where that is not known.
        refused: the error with which it ends; empty where it does not.
        untold: why nothing is known of it; empty where something is.
    """

    rotations: Mapping[str, Rotation] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    interleaved: bool | None = None
    refused: str = ""
    untold: str = ""


def attempted(attempt: Callable[[], Reading]) -> Reading:
    """What an attempt to read comes to, where it may end as the library itself would."""
    try:
        return attempt()
    except Refused as problem:
        return Reading(refused=problem.why)
    except Untold as problem:
        return Reading(untold=problem.why)
    except TROUBLES as problem:
        return Reading(refused=explained(problem))


def explained(problem: Exception) -> str:
    """An error as one reads it: Python tells of a missing key by the key alone."""
    if isinstance(problem, KeyError):
        return f"KeyError: {problem.args[0] if problem.args else ''!r}"
    return f"{type(problem).__name__}: {problem}"


def check(given: Parameters) -> None:
    """Raises Untold for a rope type that only a model's own code knows, Refused where a parameter of it is missing."""
    check_told(given.get("rope_type"))
    check_required(given)


def check_told(kind: Any) -> None:
    """Raises Untold for a rope type that only some code of its own knows: that others end in an error is not sure."""
    if isinstance(kind, str) and kind in _OF_THEIR_OWN:
        raise Untold(f"what is made of rope type {kind!r} depends on the model's own code")


def check_required(given: Parameters) -> None:
    """Raises Refused when a parameter of the rope type is missing."""
    kind = given.get("rope_type")
    missing = _REQUIRED.get(kind if isinstance(kind, str) else "", set()) - set(given)
    if missing:
        raise Refused(f"KeyError: {kind!r} needs {', '.join(sorted(missing))}")
