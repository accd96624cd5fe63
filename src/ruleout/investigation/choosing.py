"""From a failing command and its log to the few factors worth varying, in the order in which they are suspected.

What the person set by hand comes first, since it is what differs from a usual start; then what the log's diagnosis
proposes; then what the engine's catalogue has for the suspected components. A start that was refused with a reason that
no setting changes is not searched far.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from ruleout.diagnosis.alternatives import alternative
from ruleout.diagnosis.factors import priors, spoken_of
from ruleout.diagnosis.flags import spelt
from ruleout.diagnosis.ran import in_effect
from ruleout.engines import Recognised
from ruleout.engines.catalogue import Offer
from ruleout.engines.configfile import configured
from ruleout.investigation.givens import MOST_LEVELS, Choice, given, offered, worth_of
from ruleout.investigation.sizes import LEAST
from ruleout.model import ABSENT, PRESENT, UNSET, Diagnosis, EngineId, Factor, FailureClass, Mechanism, Stage, arguments
from ruleout.model.diagnosis import Suspect
from ruleout.model.figures import percent

MOST, MOST_OF_REFUSAL = 8, 3
SURE = 0.8
"""With so much for one suspect, the log says why it failed, and what it does not speak of is left alone."""
OPEN = 0.3
"""With so much unexplained, the log speaks for nothing in particular."""
DECIDED = 0.5
REFUSALS = frozenset(
    {FailureClass.UNSUPPORTED_ARCH, FailureClass.UNKNOWN_MODEL_TYPE, FailureClass.IMPORT_ABI}
    | {FailureClass.MISSING_SYMBOL, FailureClass.QUANT_FORMAT_MISMATCH, FailureClass.MISSING_WEIGHTS}
)
"""Classes that say why a start was refused."""
_NO_NAMES = frozenset({ABSENT, PRESENT, UNSET, "auto", "none", "default", "on", "off"})
_NUMBER = re.compile(r"[\d.,eE+-]+").fullmatch
_SERVING = frozenset({Stage.READY, Stage.PREFILL, Stage.DECODE, Stage.CONCURRENCY, Stage.SHUTDOWN, Stage.UNKNOWN})
_EARLY = frozenset({Stage.INSTALL_IMPORT, Stage.ARG_PARSING, Stage.MODEL_CONFIG})


def choose(found: Recognised, diagnosis: Diagnosis | None, catalogue: Sequence[Offer] = ()) -> tuple[Choice, ...]:
    """The factors to vary, most suspected first.

    Args:
        diagnosis: of the failing run's log; None while nothing was run.
        catalogue: of the engine's release, for this hardware and this model.
    """
    suspects = diagnosis.suspects if diagnosis else ()
    on = {flag for flag, value in configured(found).items() if value is None}
    catalogue = [offer for offer in catalogue if offer.flag not in on]
    refused = diagnosis is not None and refusal(diagnosis)
    choices: dict[tuple[Mechanism, str], Choice] = {}
    for choice in (
        *given(found, catalogue, diagnosis),
        *(_proposed(found, diagnosis, catalogue) if diagnosis else ()),
        *_offered(diagnosis, catalogue),
    ):
        key = (choice.factor.mechanism, choice.factor.target)
        before = choices.get(key)
        choices[key] = choice if before is None else replace(before, factor=_merged(before.factor, choice.factor))
    named = {choice.factor.name: choice for choice in reversed(choices.values())}  # of two of one name, the first
    kept = [choice for choice in reversed(named.values()) if _worth(choice, diagnosis, refused)]
    return _ordered(kept, suspects, MOST_OF_REFUSAL if refused else MOST)


def released(engine: EngineId, catalogue: Sequence[Offer], words: Collection[str] = ()) -> tuple[Offer, ...]:
    """What a release knows of the catalogue, under the names that it has there; the variable, where there is no flag.

    Where the installed engine's help was read, that is known already.

    Args:
        words: of the command; a former name that it uses is one that its engine takes.
    """
    given = {word.partition("=")[0] for word in words}
    found = []
    for offer in catalogue:
        if offer.formerly in given:
            found.append(replace(offer, flag=offer.formerly))
            continue
        named = [] if offer.asked else [spelt(engine, {offer.flag: level}) for level in offer.levels or ("",)]
        if all(named):
            name = next((flag for change in named if change for flag in change), offer.flag)
            levels = tuple(level for change in named if change for level in change.values())
            found.append(replace(offer, flag=name, levels=levels if offer.levels and named else offer.levels))
    return tuple(found)


def refusal(diagnosis: Diagnosis) -> bool:
    """Whether the start, or the first request, was refused for a reason that the log names: it will be every time."""
    if diagnosis.failure is None or not diagnosis.suspects:
        return False
    surely, class_ = diagnosis.suspects[0].probability, diagnosis.failure.class_
    if class_ in REFUSALS or diagnosis.stage in _EARLY:
        return surely >= DECIDED
    told = diagnosis.stage not in _SERVING or class_ is FailureClass.INCOMPATIBLE_CONFIG_ASSERT
    return told and surely >= SURE


def _worth(choice: Choice, diagnosis: Diagnosis | None, refused: bool) -> bool:
    if diagnosis is None or diagnosis.failure is None:
        return True
    spoken = spoken_of(diagnosis.suspects, choice.factor) >= LEAST
    return spoken or _named(choice, diagnosis) or (not refused and (choice.given or diagnosis.unexplained >= OPEN))


def _named(choice: Choice, diagnosis: Diagnosis) -> bool:
    """The failure, or what speaks for a suspect, names the flag, or the level that the command gives it."""
    failure = diagnosis.failure
    told = [failure.message, failure.text, *failure.frames] if failure else []
    told += [line.text for suspect in diagnosis.suspects for line in suspect.evidence]
    level = choice.factor.baseline.lower()
    words = [choice.factor.target, *([level] if choice.given and level not in _NO_NAMES and not _NUMBER(level) else [])]
    return any(word in text.lower() for text in told for word in words)


def _ordered(choices: Sequence[Choice], suspects: Sequence[Suspect], most: int) -> tuple[Choice, ...]:
    told = priors(suspects, [choice.factor for choice in choices])
    by_suspicion = sorted(choices, key=lambda choice: (-told.get(choice.factor.name, 0.0), not choice.given))
    first = sorted(by_suspicion, key=lambda choice: not choice.given)[:most]
    return tuple(choice for choice in by_suspicion if choice in first)


# -- what the diagnosis and the catalogue propose --------------------------------------------------------------


def _proposed(found: Recognised, diagnosis: Diagnosis, catalogue: Sequence[Offer]) -> Iterator[Choice]:
    """The changes that the diagnosis would try, but for those of flags that are idle here, or to what holds anyhow."""
    idle = {offer.flag for offer in catalogue if not offer.matters}
    usual = {offer.flag: offer.default for offer in catalogue}
    for suspect in diagnosis.suspects:
        if suspect.probability < LEAST:
            continue
        why = f"{_told(suspect)}: the diagnosis would try it"
        for name, level in alternative(diagnosis, suspect).items():
            if arguments.variable(name):
                yield Choice(offered(name, [level or "1"], found.variables.get(name, UNSET)), why)
            elif level not in (ABSENT, usual.get(name)) and name not in idle:
                yield Choice(offered(name, [level or PRESENT]), why)


def _offered(diagnosis: Diagnosis | None, catalogue: Sequence[Offer]) -> Iterator[Choice]:
    for offer in catalogue:
        worth = [level for level in worth_of(offer) if level != offer.default]
        levels = [level for level in worth if diagnosis is None or not _already(diagnosis, offer, level)]
        if not levels:
            continue
        factor = offered(offer.flag, levels)
        suspect = next((s for s in (diagnosis.suspects if diagnosis else ()) if spoken_of([s], factor) >= LEAST), None)
        yield Choice(factor, _told(suspect) if suspect else f"decides on {offer.component}")


def _already(diagnosis: Diagnosis, offer: Offer, level: str) -> bool:
    if not offer.bare:
        return in_effect(diagnosis, offer.flag, level)
    if offer.flag.startswith("--no-"):
        return in_effect(diagnosis, offer.flag[5:], "False")
    return in_effect(diagnosis, offer.flag, "")


def _told(suspect: Suspect) -> str:
    return f"{suspect.component}, {percent(suspect.probability)} by the log"


def _merged(one: Factor, other: Factor) -> Factor:
    """The first with the levels of both; what it is at without the flag is no level more. A row of sizes stays."""
    if one.ordered:
        return one
    more = [level for level in other.levels if level != ABSENT or ABSENT in one.levels]
    return replace(one, levels=tuple(dict.fromkeys([*one.levels, *more]))[:MOST_LEVELS])
