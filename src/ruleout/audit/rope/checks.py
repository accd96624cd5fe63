"""The findings about rotary positions: where a library departs from what the configuration means, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.rope.comparing import compared
from ruleout.audit.rope.departing import MISPAIRED, NOWHERE, departures, paired, pairs, start_warning
from ruleout.audit.rope.engines import sglang, vllm
from ruleout.audit.rope.families import RELEASES, newest
from ruleout.audit.rope.meaning import meant, says_theta
from ruleout.audit.rope.reading import Reading
from ruleout.audit.rope.scaling import absurd
from ruleout.audit.rope.telling import number, told
from ruleout.audit.rope.transformers import read
from ruleout.audit.subject import Subject
from ruleout.model.audit import AuditFinding, RopeOutcome, RopeReading, Severity

PUBLISHED = {
    "glm_moe_dsa": "1000000 or 8000000",
    "glm4_moe": "1000000",
    "qwen3": "1000000",
    "qwen3_moe": "1000000 or 10000000",
}
"""What the published configurations of families have that were never trained with the usual 10000 (their config.json at
https://huggingface.co/zai-org and https://huggingface.co/Qwen)."""


def readers(release: str) -> Callable[[Mapping[str, Any]], Reading]:
    """A reader of a release of transformers."""
    return lambda config: read(config, release)


READERS: Mapping[str, Callable[[Mapping[str, Any]], Reading]] = {
    **{f"transformers-{release}": readers(release) for release in RELEASES},
    "vllm": vllm,
    "sglang": sglang,
}
"""Who is asked how it reads a configuration."""


def turns(subject: Subject) -> bool:
    """Whether the model has rotary positions, as far as its configuration tells."""
    keys = ("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "rotary_emb_base")
    return any(key in subject.config for key in keys) or newest(_kind(subject)) is not None


def _kind(subject: Subject) -> str | None:
    kind = subject.config.get("model_type")
    return kind if isinstance(kind, str) else None


def readings(subject: Subject) -> dict[str, RopeReading]:
    """How each library reads the rotary positions, against what the configuration means."""
    if not subject.config or not turns(subject):
        return {}
    reference = meant(subject.config)
    found = {name: compared(reader(subject.config), reference) for name, reader in READERS.items()}
    meaning = paired(subject.config)
    return {name: _paired(_by_default(reading, subject), meaning) for name, reading in found.items()}


def _paired(reading: RopeReading, meaning: bool | None) -> RopeReading:
    """Right angles for the wrong elements are not the same."""
    if reading.outcome is not RopeOutcome.SAME or None in (reading.interleaved, meaning):
        return reading
    return reading if reading.interleaved == meaning else replace(reading, outcome=RopeOutcome.DIFFERENT, why=MISPAIRED)


def _by_default(reading: RopeReading, subject: Subject) -> RopeReading:
    """A theta that nobody gave, in a family that was never trained with it, is not what is meant."""
    if says_theta(subject.config) or _kind(subject) not in PUBLISHED or reading.outcome is not RopeOutcome.SAME:
        return reading
    why = f"{NOWHERE}, {number(reading.parameters.get('rope_theta'))} is taken"
    return replace(reading, outcome=RopeOutcome.DIFFERENT, why=why)


def findings(subject: Subject) -> Iterator[AuditFinding]:
    """What is to be known of the rotary positions."""
    found = readings(subject)
    if not found:
        return
    yield from _theta(subject)
    yield from _two_places(subject)
    yield from absurd(subject)
    yield from departures(subject, found)
    yield from pairs(subject, found)
    yield from start_warning(subject, found)


def _theta(subject: Subject) -> Iterator[AuditFinding]:
    config = subject.config
    if not says_theta(config):
        kind, never = _kind(subject), PUBLISHED.get(_kind(subject) or "")
        default = meant(config).parameters
        taken = number(next(iter(default.values()), {}).get("rope_theta", 10000.0))
        published = f"; published {kind} configurations have {never}" if never else ""
        yield told(
            "rope-theta-missing",
            Severity.ERROR if never else Severity.NOTE,
            f"rope_theta is nowhere: every library takes {taken}, the default of the model type{published}",
            "config.json: rope_theta",
            "Write the theta that the model was trained with." if never else "",
        )
    for where, value in _thetas(config):
        if isinstance(value, bool) or not isinstance(value, int | float):
            what = f"rope_theta is {quoted(value)}, no number: no library can compute with it"
            yield told("rope-theta-type", Severity.ERROR, what, where, "Write it as a number, without quotes.")
        elif not value > 0:
            what = f"rope_theta is {number(value)}: all angles become infinite or NaN, and with them all logits"
            yield told("rope-theta-not-positive", Severity.ERROR, what, where, "Write it as published.")
        elif value > _LARGEST:
            what = f"rope_theta is {number(value)}, beyond float32: all but the first pair of elements stand still"
            yield told("rope-theta-overflow", Severity.ERROR, what, where, "Write it as published.")


_LARGEST = 3.4e38


def _thetas(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("rope_parameters", "rope_scaling"):
        given = config.get(name)
        for where, one in ((name, given), *_entries(name, given)):
            if isinstance(one, dict) and "rope_theta" in one:
                yield f"config.json: {where}.rope_theta", one["rope_theta"]
    if "rope_theta" in config and not isinstance(config.get("rope_parameters"), dict):
        yield "config.json: rope_theta", config["rope_theta"]


def _entries(name: str, given: Any) -> list[tuple[str, Any]]:
    return [(f"{name}.{quoted(key)}", one) for key, one in given.items()] if isinstance(given, dict) else []


def _two_places(subject: Subject) -> Iterator[AuditFinding]:
    new, old = subject.config.get("rope_parameters"), subject.config.get("rope_scaling")
    if not isinstance(new, dict) or not new:
        return
    beside = subject.config.get("rope_theta")
    if isinstance(old, dict) and old:
        lost = "rope_theta" in new and "rope_theta" not in old and beside is None
        theta = f": theta {number(new['rope_theta'])} is lost, the default takes its place" if lost else ""
        yield told(
            "rope-theta-reset" if lost else "rope-two-places",
            Severity.ERROR if lost else Severity.WARNING,
            f"rope_scaling stands beside rope_parameters, and transformers 5 replaces the one by the other{theta}",
            "config.json: rope_scaling",
            "Move what rope_scaling says into rope_parameters, and take rope_scaling out.",
        )
    if beside is not None and "rope_theta" in new and beside != new["rope_theta"]:
        yield told(
            "rope-theta-twice",
            Severity.WARNING,
            f"rope_theta is {quoted(beside)} beside rope_parameters, and {quoted(new['rope_theta'])} in it: "
            "transformers 5 takes the latter, version 4 the former",
            "config.json: rope_theta",
            "Leave the one that the model was trained with.",
        )
