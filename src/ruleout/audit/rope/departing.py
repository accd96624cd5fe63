"""Which libraries depart from what a configuration means, told once for all that depart alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.rope.families import RELEASES
from ruleout.audit.rope.fields import STRICT
from ruleout.audit.rope.meaning import meant
from ruleout.audit.rope.telling import SOURCES, number, place, told
from ruleout.audit.rope.transformers import STRANGER
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, RopeOutcome, RopeReading, Severity
from ruleout.model.model_types import numbers

Readings = Mapping[str, RopeReading]

NOWHERE = "rope_theta is nowhere"
"""How the reason begins where a library departs for want of a theta."""
MISPAIRED = "other elements are turned together than are meant"
"""The reason where a library departs in nothing but that."""
ELSEWHERE = (NOWHERE, MISPAIRED, STRANGER)
"""How reasons begin that are findings of their own."""
_IDS = {RopeOutcome.DIFFERENT: "rope-different", RopeOutcome.NAN: "rope-nan", RopeOutcome.FAILS: "rope-fails"}
_WHAT = {
    RopeOutcome.DIFFERENT: "positions are turned otherwise than this configuration means",
    RopeOutcome.NAN: "all logits become NaN",
    RopeOutcome.FAILS: "it ends with an error",
}
_REMEDY = {
    RopeOutcome.DIFFERENT: "Use a library that reads it as meant, or write the parameters the way this one reads them.",
    RopeOutcome.NAN: "Write theta and factor as in the published config.json.",
    RopeOutcome.FAILS: "Write the rotary parameters and sizes as in the published config.json, or use another release.",
}


def departures(subject: Subject, readings: Readings) -> Iterator[AuditFinding]:
    """Each way of departing once."""
    groups: dict[tuple[RopeOutcome, str], list[str]] = {}
    for name, reading in readings.items():
        if reading.outcome in _IDS and not reading.why.startswith(ELSEWHERE):
            groups.setdefault((reading.outcome, reading.why or _how(reading)), []).append(name)
    hopeless = not any(map(_right, readings.values()))
    for (outcome, how), names in groups.items():
        severity = Severity.ERROR if hopeless else severity_for(subject, names)
        what = f"{', '.join(names)}: {_WHAT[outcome]} ({how})"
        if key := _key_of_another_type(how):
            yield _of_another_type(key, severity, what)
        else:
            yield told(_IDS[outcome], severity, what, place(subject), _REMEDY[outcome], names[0])


def _key_of_another_type(how: str) -> str:
    """The key that is refused for its type, where that has nothing to do with positions; otherwise empty."""
    key = how.removeprefix(f"{STRICT}: ").partition(" ")[0] if how.startswith(STRICT) else ""
    return "" if "rope" in key or "rotary" in key else key


def _of_another_type(key: str, severity: Severity, what: str) -> AuditFinding:
    remedy, source = "Write it as in the published config.json.", SOURCES["transformers"]
    return AuditFinding(
        "config-type", severity, what, f"config.json: {key}", remedy, source, Component.USER_CONFIG
    )  # fmt: skip


def _right(reading: RopeReading) -> bool:
    """Whether the angles are those that are meant, whichever elements they are for."""
    return reading.outcome is RopeOutcome.SAME or reading.why == MISPAIRED


def severity_for(subject: Subject, names: list[str]) -> Severity:
    """How much it matters what these libraries do: it depends on what the command starts.

    Of a transformers whose release is not known, it may be any that is; of one between two that are known, the older
    one's rules are likely. Which one an engine has is its own affair.
    """
    engine, version = subject.launch.engine, subject.launch.version
    releases = [name.partition("-")[2] for name in names if name.startswith("transformers-")]
    if engine not in ("vllm", "sglang", "transformers"):
        return Severity.WARNING
    if engine != "transformers":
        return Severity.ERROR if engine in names else Severity.NOTE
    if version is None:
        return Severity.WARNING if releases else Severity.NOTE
    nearest = max((one for one in RELEASES if numbers(one) <= numbers(version)), key=numbers, default=RELEASES[0])
    if nearest not in releases:
        return Severity.NOTE
    return Severity.ERROR if f"{version}.".startswith(f"{nearest}.") else Severity.WARNING


def _radians(error: float) -> str:
    """Three digits, and no powers of ten."""
    return f"{error:.3g}" if error < 1000 else f"{error:,.0f}".replace(",", " ")


def _how(reading: RopeReading) -> str:
    given = reading.parameters
    parts = [f"theta {number(given.get('rope_theta'))}", f"type {quoted(given.get('rope_type'))}"]
    if reading.attention_scaling not in (None, 1.0):
        parts.append(f"attention scaling {reading.attention_scaling:.4g}")
    if reading.layer_type:
        parts.append(f"in layers of {quoted(reading.layer_type)}")
    if reading.angle_error:
        errors = ", ".join(f"{_radians(error)} at {name}" for name, error in reading.angle_error.items())
        parts.append(f"angles off by up to {errors} tokens, in radians")
    elif reading.frequencies is not None:
        parts.append(f"{2 * reading.frequencies} elements of a head turned")
    return "; ".join(parts)


def paired(config: Mapping[str, Any]) -> bool | None:
    """Whether the configuration means neighbours rather than halves; None where that is not known."""
    said = config.get("rope_interleave")
    return said if isinstance(said, bool) else meant(config).interleaved


def pairs(subject: Subject, readings: Readings) -> Iterator[AuditFinding]:
    """Who pairs other elements than the model was trained with; the key that says which is not read by all."""
    meaning = paired(subject.config)
    wrong = [name for name, reading in readings.items() if reading.interleaved not in (None, meaning)]
    if not wrong or meaning is None:
        return
    how, right = ("halves", "neighbours") if meaning else ("neighbours", "halves")
    what = f"{', '.join(wrong)}: elements are turned in {how}, the model means {right}; text differs from the start"
    severity = severity_for(subject, wrong)
    remedy = "Serve it with a release that pairs them as meant."
    yield told("rope-interleave-ignored", severity, what, "config.json: rope_interleave", remedy, wrong[0])


def start_warning(subject: Subject, readings: Readings) -> Iterator[AuditFinding]:
    """What to make of the warning that engines print with transformers 5, whatever the model."""
    engine = subject.launch.engine
    names = [engine] if engine in readings else [name for name in readings if name.startswith("transformers-5")]
    if any(readings[name].outcome is RopeOutcome.UNKNOWN for name in names):
        return
    wrong = [name for name in names if not _right(readings[name])]
    matters = f"for this one it matters with {', '.join(wrong)}" if wrong else "it says nothing about this one"
    what = f"the RoPE warning at the start (`Transformers version … is used …`) is printed for every model; {matters}"
    yield told("rope-start-warning", Severity.NOTE, what, place(subject))
