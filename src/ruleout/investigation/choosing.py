"""From a failing command and its log to the few factors worth varying, in the order in which they are suspected.

What the person set by hand comes first, since it is what differs from a usual start; then what the log's diagnosis
proposes; then what the engine's catalogue has for the suspected components. A start that was refused with a reason that
no setting changes is not searched far.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ruleout.diagnosis.alternatives import alternative
from ruleout.diagnosis.factors import priors, spoken_of
from ruleout.diagnosis.ran import in_effect
from ruleout.engines import Recognised
from ruleout.engines.catalogue import Offer
from ruleout.model import (
    ABSENT,
    PRESENT,
    UNSET,
    Component,
    Diagnosis,
    Factor,
    FailureClass,
    Mechanism,
    Stage,
    arguments,
)
from ruleout.model.diagnosis import Suspect

MOST, MOST_OF_REFUSAL = 8, 3
MOST_LEVELS = 5
LEAST = 0.05
"""A factor of which suspects of less than this speak is not worth a trial by itself."""
OPEN = 0.3
"""With so much unexplained, the log speaks for nothing in particular."""
DECIDED = 0.5
REFUSALS = frozenset(
    {FailureClass.UNSUPPORTED_ARCH, FailureClass.UNKNOWN_MODEL_TYPE, FailureClass.IMPORT_ABI}
    | {FailureClass.MISSING_SYMBOL, FailureClass.QUANT_FORMAT_MISMATCH, FailureClass.MISSING_WEIGHTS}
)
"""Classes that say why a start was refused."""
_EARLY = frozenset({Stage.INSTALL_IMPORT, Stage.ARG_PARSING, Stage.MODEL_CONFIG})
_IDENTITY = re.compile(
    r"--(?:model(?:[-_](?:path|tag))?|force-model|served[-_]model[-_]name|alias|tokenizer.*|.*revision|trust[-_]remote[-_]code"
    r"|host|(?:.*-)?port|api-key.*|ssl-.*|uds|root-path|allow.*|device|nnodes|node-rank|(?:dist|master)-.*|headless"
    r"|(?:tp|pp|dp|ep)(?:[-_]size)?|.*parallel.*|.*[-_](?:dir|path|file|url)|config|extra_llm_api_options|chat-template.*"
    r"|.*parser|lora.*|mmproj.*|hf-.*|json-model-override-args|.*log.*|.*metrics.*|uvicorn.*|seed|api-server-count|help|version)"
)
"""Flags that say what is served, where and to whom: another value would be another deployment, not a trial of this."""
_VARIABLES = re.compile(r"(?:NCCL|VLLM|SGLANG|TORCH|PYTORCH|CUDA|TRITON|FLASHINFER|GGML|TLLM|TRTLLM)_\w+")
_VISIBLE = re.compile(r".*VISIBLE.*|.*(?:KEY|TOKEN|PATH|HOME|DIR|USAGE_STATS)$")
_SIZES = re.compile(
    r"(?i).*(?:space|mem|bytes|max[-_]model[-_]len|context|ctx[-_]size|utili[sz]ation|num[-_]seqs|tokens)"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A factor, and why it is varied. `given`: the command sets it."""

    factor: Factor
    why: str
    given: bool = False


def choose(found: Recognised, diagnosis: Diagnosis | None, catalogue: Sequence[Offer] = ()) -> tuple[Choice, ...]:
    """The factors to vary, most suspected first.

    Args:
        diagnosis: of the failing run's log; None while nothing was run.
        catalogue: of the engine's release, for this hardware and this model.
    """
    suspects = diagnosis.suspects if diagnosis else ()
    refused = diagnosis is not None and refusal(diagnosis)
    choices: dict[tuple[Mechanism, str], Choice] = {}
    for choice in (
        *_given(found, catalogue, suspects),
        *(_proposed(found, diagnosis, {o.flag for o in catalogue if not o.matters}) if diagnosis else ()),
        *_offered(diagnosis, catalogue),
    ):
        key = (choice.factor.mechanism, choice.factor.target)
        before = choices.get(key)
        choices[key] = choice if before is None else replace(before, factor=_merged(before.factor, choice.factor))
    kept = [choice for choice in choices.values() if _worth(choice, diagnosis, refused)]
    return _ordered(kept, suspects, MOST_OF_REFUSAL if refused else MOST)


def refusal(diagnosis: Diagnosis) -> bool:
    """Whether the start was refused for a reason that the log names: the same will happen every time."""
    if diagnosis.failure is None or not diagnosis.suspects:
        return False
    early = diagnosis.failure.class_ in REFUSALS or diagnosis.stage in _EARLY
    return early and diagnosis.suspects[0].probability >= DECIDED


def _worth(choice: Choice, diagnosis: Diagnosis | None, refused: bool) -> bool:
    if diagnosis is None or diagnosis.failure is None:
        return True
    spoken = spoken_of(diagnosis.suspects, choice.factor) >= LEAST
    named = choice.factor.target in diagnosis.failure.message + diagnosis.failure.text
    return spoken or named or (not refused and (choice.given or diagnosis.unexplained >= OPEN))


def _ordered(choices: Sequence[Choice], suspects: Sequence[Suspect], most: int) -> tuple[Choice, ...]:
    told = priors(suspects, [choice.factor for choice in choices])
    by_suspicion = sorted(choices, key=lambda choice: (-told.get(choice.factor.name, 0.0), not choice.given))
    first = sorted(by_suspicion, key=lambda choice: not choice.given)[:most]
    return tuple(choice for choice in by_suspicion if choice in first)


# -- what the command sets -------------------------------------------------------------------------------------


def _given(found: Recognised, catalogue: Sequence[Offer], suspects: Sequence[Suspect]) -> Iterator[Choice]:
    offers = {offer.flag: offer for offer in catalogue}
    for flag, value in _flags(found.given, offers).items():
        offer = offers.get(flag)
        level = PRESENT if value is None else value
        factor = _factor(flag, level, [ABSENT, *(_worth_of(offer) if offer else ())])
        yield Choice(_sized(factor, suspects), "given in the command", given=True)
    for name, value in found.env.items():
        if _VARIABLES.fullmatch(name) and not _VISIBLE.fullmatch(name):
            factor = Factor(_name(name), Mechanism.ENV, name, (value, UNSET), value)
            yield Choice(_sized(factor, suspects), "given in the environment", given=True)


def _flags(words: Sequence[str], offers: dict[str, Offer]) -> dict[str, str | None]:
    """The long flags of a command that may be varied, with their values; those of several values are left alone."""
    found: dict[str, str | None] = {}
    rest = list(words)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        values = [value] if equals else []
        bare = flag in offers and offers[flag].bare
        while not equals and not bare and rest and arguments.is_value(rest[0]):
            values.append(rest.pop(0))
        if flag.startswith("--") and len(flag) > 2 and len(values) < 2 and not _IDENTITY.fullmatch(flag):
            found[flag] = values[0] if values else None
    return found


def _sized(factor: Factor, suspects: Sequence[Suspect]) -> Factor:
    """Where memory is suspected, a size is tried at its half and less: the largest that works is worth knowing."""
    memory = sum(suspect.probability for suspect in suspects if suspect.component is Component.MEMORY)
    if memory < LEAST or not _SIZES.match(factor.target) or not re.fullmatch(r"\d+(?:\.\d+)?", factor.baseline):
        return factor
    size = float(factor.baseline)
    whole = "." not in factor.baseline
    smaller = [size / part for part in ((2, 4, 8, 16) if whole else (1.25, 1.6, 2.5))]
    levels = [str(int(s)) if whole else f"{s:.2f}".rstrip("0").rstrip(".") for s in smaller if s >= 1 or not whole]
    return replace(factor, levels=tuple(dict.fromkeys([factor.baseline, *levels])), ordered=True) if levels else factor


# -- what the diagnosis and the catalogue propose --------------------------------------------------------------


def _proposed(found: Recognised, diagnosis: Diagnosis, idle: Collection[str]) -> Iterator[Choice]:
    """The changes that the diagnosis would try, but for those of flags that are idle here."""
    for suspect in diagnosis.suspects:
        if suspect.probability < LEAST:
            continue
        why = f"{_told(suspect)}: the diagnosis would try it"
        for name, level in alternative(diagnosis, suspect).items():
            if arguments.variable(name):
                baseline = found.env.get(name, UNSET)
                yield Choice(Factor(_name(name), Mechanism.ENV, name, (baseline, level or "1"), baseline), why)
            elif level != ABSENT and name not in idle:
                yield Choice(_factor(name, ABSENT, [level or PRESENT]), why)


def _offered(diagnosis: Diagnosis | None, catalogue: Sequence[Offer]) -> Iterator[Choice]:
    for offer in catalogue:
        levels = [level for level in _worth_of(offer) if diagnosis is None or not _already(diagnosis, offer, level)]
        if not levels:
            continue
        factor = _factor(offer.flag, ABSENT, levels)
        suspect = next((s for s in (diagnosis.suspects if diagnosis else ()) if spoken_of([s], factor) >= LEAST), None)
        yield Choice(factor, _told(suspect) if suspect else f"decides on {offer.component}")


def _worth_of(offer: Offer) -> list[str]:
    """The levels worth a trial that are not what the engine does by itself."""
    return [level for level in offer.levels if level != "auto"]


def _already(diagnosis: Diagnosis, offer: Offer, level: str) -> bool:
    if not offer.bare:
        return in_effect(diagnosis, offer.flag, level)
    if offer.flag.startswith("--no-"):
        return in_effect(diagnosis, offer.flag[5:], "False")
    return in_effect(diagnosis, offer.flag, "")


def _told(suspect: Suspect) -> str:
    return f"{suspect.component}, {suspect.probability:.0%} by the log"


def _factor(flag: str, baseline: str, others: Sequence[str]) -> Factor:
    levels = tuple(dict.fromkeys([baseline, *others]))[:MOST_LEVELS]
    return Factor(_name(flag), Mechanism.FLAG, flag, levels, baseline)


def _merged(one: Factor, other: Factor) -> Factor:
    """The first with the levels of both. A list of sizes stays as it is."""
    levels = one.levels if one.ordered else tuple(dict.fromkeys([*one.levels, *other.levels]))
    return replace(one, levels=levels[:MOST_LEVELS])


def _name(target: str) -> str:
    return target.lstrip("-").replace("-", "_").lower()
