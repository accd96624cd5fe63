"""Inverse frequencies from rotary parameters: formulas that all libraries share, one function for each rope type.

Sources: `modeling_rope_utils.py` of https://github.com/huggingface/transformers (4.57 to 5.24), which names the papers.
Precision is that of the exponents: float32 is what the libraries compute in, so that theta overflows where it does with
them. What would raise there raises here: operators are left to the values as they come from the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruleout.audit.folder import kind_of

Array = NDArray[Any]
Precision = type[np.float32] | type[np.float64]

SCALED = ("llama3", "yarn", "longrope")
"""Types that need to know for how many positions the model was trained before it was stretched."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is turned.

    Attributes:
        size: elements of a head.
        dim: how many of them are turned.
        most: max_position_embeddings, as the configuration has it.
    """

    size: int
    dim: int
    most: Any


@dataclass(frozen=True, slots=True)
class Rotation:
    """How positions are turned.

    Attributes:
        frequencies: radians a token, for each pair of elements.
        scaling: the factor on cosines and sines.
        beyond: from how many tokens on other frequencies hold.
        grown: what these are, by the number of tokens.
    """

    frequencies: Array
    scaling: float = 1.0
    beyond: float = math.inf
    grown: Callable[[int], Array] | None = None

    def at(self, tokens: int) -> Array:
        """The frequencies when the text has that many tokens; NaN where a text of that length would end in an error."""
        if self.grown is None or tokens <= self.beyond:
            return self.frequencies
        try:
            with np.errstate(all="ignore"):
                return self.grown(tokens)
        except (TypeError, ValueError, ArithmeticError):
            return np.full_like(self.frequencies, np.nan)

    @property
    def finite(self) -> bool:
        """Whether every number is one."""
        return bool(np.isfinite(self.frequencies).all()) and math.isfinite(self.scaling)


def rotation(kind: Any, parameters: Mapping[str, Any], head: Head, precision: Precision = np.float32) -> Rotation:
    """The rotation of a rope type.

    Raises:
        KeyError: a parameter is missing, or the type is none that is known.
        TypeError, ValueError, ArithmeticError: a parameter is no number, or an impossible one.
    """
    with np.errstate(all="ignore"):
        return TYPES[kind](parameters, head, precision)


def _number(value: Any) -> Any:
    """A value as it stands: arrays take lists, text and endless integers for operands where tensors do not."""
    if not isinstance(value, int | float):
        raise TypeError(f"{kind_of(value)} where a number is needed")
    if isinstance(value, int) and abs(value) >= 1 << 63:
        raise OverflowError("an integer beyond 64 bits")
    return value


def _powers(base: Any, dim: int, over: int, precision: Precision) -> Array:
    """Theta to the power of each pair's number."""
    if dim < 0:
        raise ValueError(f"{dim} elements to turn")
    pairs: Array = np.arange(0, dim, 2, dtype=precision)
    exponents: Array = np.divide(pairs, over, dtype=precision)
    powers: Array = np.power(precision(_number(base)), exponents)
    return powers


def _default(parameters: Mapping[str, Any], head: Head, precision: Precision) -> Rotation:
    return Rotation(1.0 / _powers(parameters["rope_theta"], head.dim, head.dim, precision))


def _linear(parameters: Mapping[str, Any], head: Head, precision: Precision) -> Rotation:
    plain = _default(parameters, head, precision).frequencies
    return Rotation(plain / precision(_number(parameters["factor"])))


def _proportional(parameters: Mapping[str, Any], head: Head, precision: Precision) -> Rotation:
    angles = int(parameters.get("partial_rotary_factor", 1.0) * head.size // 2)
    turned = 1.0 / _powers(parameters["rope_theta"], 2 * angles, head.size, precision)
    still = np.zeros(max(0, head.size // 2 - angles), dtype=precision)
    return Rotation(np.concatenate([turned, still]) / precision(_number(parameters.get("factor", 1.0))))


def _dynamic(parameters: Mapping[str, Any], head: Head, precision: Precision) -> Rotation:
    base, factor, most = parameters["rope_theta"] * 1.0, _number(parameters["factor"]), _number(head.most)

    def grown(tokens: int) -> Array:
        stretch = (factor * max(tokens, most) / most) - (factor - 1)
        stretched: Array = 1.0 / _powers(base * stretch ** (head.dim / (head.dim - 2)), head.dim, head.dim, precision)
        return stretched

    return Rotation(grown(0), beyond=most, grown=grown)


def _yarn(parameters: Mapping[str, Any], head: Head, precision: Precision) -> Rotation:
    base, factor = _number(parameters["rope_theta"]), parameters["factor"]
    trained = parameters["original_max_position_embeddings"]
    factor = _number(head.most / trained if factor is None else factor)
    powers = _powers(base, head.dim, head.dim, precision)
    near, far = 1.0 / powers, 1.0 / (precision(factor) * powers)
    low, high = (_corrected(turns, trained, base, head.dim) for turns in _betas(parameters))
    if parameters.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head.dim - 1)
    ramp: Array = np.arange(head.dim // 2, dtype=precision)
    keep = 1 - np.clip((ramp - low) / ((high if high != low else high + 0.001) - low), 0, 1)
    return Rotation((far * (1 - keep) + near * keep).astype(precision), float(magnitude(parameters, factor)))


def _betas(parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    return parameters.get("beta_fast") or 32, parameters.get("beta_slow") or 1


def _corrected(turns: Any, trained: Any, base: Any, dim: int) -> float:
    """Which pair has turned so often at the end of the positions that the model was trained for."""
    return dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))


def magnitude(parameters: Mapping[str, Any], factor: Any) -> Any:
    """YaRN's factor on cosines and sines."""
    told = parameters.get("attention_factor")
    if told is not None:
        return told
    one, all_ = parameters.get("mscale"), parameters.get("mscale_all_dim")
    return mscale(factor, one) / mscale(factor, all_) if one and all_ else mscale(factor)


def mscale(factor: Any, weight: Any = 1) -> float:
    """0.1 · weight · ln(factor) + 1, as YaRN has it."""
    return 1.0 if factor <= 1 else float(0.1 * weight * math.log(factor) + 1.0)


def _longrope(parameters: Mapping[str, Any], head: Head, precision: Precision) -> Rotation:
    base, trained = parameters["rope_theta"], parameters["original_max_position_embeddings"]
    factor, scaling = parameters.get("factor"), parameters.get("attention_factor")
    short: Array = np.asarray(parameters["short_factor"], dtype=precision)
    long: Array = np.asarray(parameters["long_factor"], dtype=precision)
    factor = head.most / trained if factor is None else factor
    if scaling is None:
        scaling = 1.0 if factor <= 1.0 else math.sqrt(1 + math.log(factor) / math.log(trained))
    powers = _powers(base, head.dim, head.dim, precision)
    # The long table is only read once a text is so long.
    return Rotation(1.0 / (short * powers), float(scaling), float(trained), lambda tokens: 1.0 / (long * powers))


def _llama3(parameters: Mapping[str, Any], head: Head, precision: Precision) -> Rotation:
    plain = _default(parameters, head, precision).frequencies
    factor, low, high = (_number(parameters[key]) for key in ("factor", "low_freq_factor", "high_freq_factor"))
    trained = _number(parameters["original_max_position_embeddings"])
    waves = 2 * math.pi / plain
    smooth = (trained / waves - low) / (high - low)
    between = (1 - smooth) * plain / factor + smooth * plain
    stretched = np.where(waves > trained / low, plain / factor, np.where(waves < trained / high, plain, between))
    return Rotation(stretched.astype(precision))


TYPES: Mapping[Any, Callable[[Mapping[str, Any], Head, Precision], Rotation]] = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
}
