"""How far two rotations of one text come apart: an angle that is off by a radian points another way altogether."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ruleout.audit.rope.reading import ALL, Reading
from ruleout.audit.rope.rotation import Array, Rotation
from ruleout.model.audit import RopeOutcome, RopeReading

POSITIONS = {"1k": 1_000, "8k": 8_000, "128k": 128_000}
"""Tokens at which the error of an angle is told."""
SAME = 1e-5
"""Up to which relative difference frequencies are the same: in float32, powers are good for a tenth of it."""


def compared(reading: Reading, reference: Reading) -> RopeReading:
    """What a reader makes of the rotation that is meant, as an audit tells it."""
    if reading.untold or reference.untold:
        return RopeReading(RopeOutcome.UNKNOWN, reading.untold or reference.untold)
    if reading.refused:
        return RopeReading(RopeOutcome.FAILS, reading.refused)
    if not reading.rotations or not (reference.rotations or reference.refused):
        return RopeReading(RopeOutcome.UNKNOWN, "there is no kind of layer that is turned")
    layer = max(reading.rotations, key=lambda kind: _worst(reading, reference, kind))
    found = reading.rotations[layer]
    finite = all(rotation.finite for rotation in reading.rotations.values())
    outcome = RopeOutcome.SAME
    if not finite:
        outcome = RopeOutcome.NAN
    elif reference.refused or any(_apart(reading, reference, kind) for kind in reading.rotations):
        outcome = RopeOutcome.DIFFERENT
    why = {RopeOutcome.NAN: "inverse frequencies that are no finite numbers"}.get(outcome, "")
    return RopeReading(
        outcome,
        why,
        attention_scaling=found.scaling,
        frequencies=len(found.frequencies),
        first=_told(found.frequencies[:1]),
        last=_told(found.frequencies[-1:]),
        angle_error=_errors(reading, reference, layer) if outcome is RopeOutcome.DIFFERENT else {},
        parameters={k: v for k, v in reading.parameters[layer].items() if isinstance(v, str | int | float | None)},
        layer_type=layer or None,
        interleaved=reading.interleaved,
    )


def same(one: Rotation, other: Rotation) -> bool:
    """Whether two rotations turn every text alike."""
    if not math.isclose(one.scaling, other.scaling, rel_tol=SAME):
        return False
    lengths = (1, *POSITIONS.values(), *(int(r.beyond) + 1 for r in (one, other) if math.isfinite(r.beyond)))
    return all(_close(one.at(tokens), other.at(tokens)) for tokens in lengths)


def _close(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=SAME, atol=0, equal_nan=True))


def _apart(reading: Reading, reference: Reading, kind: str) -> bool:
    meant = _counterparts(reference, kind)
    return not meant or any(not same(reading.rotations[kind], one) for one in meant)


def _counterparts(reference: Reading, kind: str) -> list[Rotation]:
    """The rotations that are meant for a kind of layer: where either has but one kind, all of the other."""
    found = reference.rotations.get(kind)
    if found is not None:
        return [found]
    return list(reference.rotations.values()) if kind == ALL or len(reference.rotations) == 1 else []


def _worst(reading: Reading, reference: Reading, kind: str) -> float:
    """For choosing which kind of layer to tell of."""
    errors = _errors(reading, reference, kind)
    return max(errors.values(), default=0.0) if errors else float(_apart(reading, reference, kind))


def _errors(reading: Reading, reference: Reading, kind: str) -> Mapping[str, float]:
    """The largest error of an angle, in radians, by the position; empty where the angles have no counterpart."""
    one = reading.rotations[kind]
    meant = [other for other in _counterparts(reference, kind) if other.frequencies.shape == one.frequencies.shape]
    found: dict[str, float] = {}
    with np.errstate(all="ignore"):
        for name, tokens in POSITIONS.items() if meant else ():
            gaps = [np.abs(one.at(tokens).astype(np.float64) - other.at(tokens)) for other in meant]
            found[name] = max(float(np.max(gap, initial=0.0)) for gap in gaps) * tokens
    return {name: float(f"{error:.4g}") for name, error in found.items() if math.isfinite(error)}


def _told(numbers: Array) -> float | None:
    """A frequency for a document; None where it is no finite number."""
    return float(numbers[0]) if len(numbers) and math.isfinite(float(numbers[0])) else None
