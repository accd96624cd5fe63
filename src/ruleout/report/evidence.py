"""What the trials say of factors besides the verdict: what the engine made of a level, what nobody tried, what hid it.

A reader who sees `kv_cache_dtype=auto` has to learn that the engine took FP8 for it, and one who sees two backends that
fail, that three others were never tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ruleout.model import Case, Mechanism, NotRuledOut, OutcomeKind, Verdict
from ruleout.model.configuration import shown
from ruleout.model.verdict import OWN_CHOICE
from ruleout.report.words import OPEN, failure, on_command, target_trial

_LEFT = (("masked", True), ("untried", False))


def chosen(case: Case, verdict: Verdict) -> Iterator[str]:
    """What the engine made of levels of the failing deployment that take part in a cause, where it says so.

    A level like `auto` names no setting: what fails is what the engine took for it.
    """
    first = target_trial(verdict)
    if first is None or first.outcome is None:
        return
    for varied in (f for f in case.factors if f.mechanism is Mechanism.FLAG):
        name = varied.target.lstrip("-").replace("-", "_")
        took = first.outcome.resolved.get(name, "")
        given = first.configuration.get(varied.name, varied.baseline)
        if in_causes(verdict, varied.name) and took.lower() not in ("", "true", "false", given.lower()):
            yield f"{on_command(varied, given)}: the engine took {took} (trial {first.id})"


def in_causes(verdict: Verdict, name: str) -> bool:
    """Whether a factor takes part in a cause."""
    return any(carrier.factor == name for cause in verdict.causes for carrier in cause)


def untried(case: Case, verdict: Verdict) -> Iterator[str]:
    """Levels of the causes' factors that no telling trial had: neither known to fail nor to be a way out."""
    telling = (OutcomeKind.REPRODUCED, OutcomeKind.CLEAN)
    judged = [t for t in verdict.trials if t.outcome and t.outcome.kind in telling and not (t.without or t.instruments)]
    for varied in (f for f in case.factors if in_causes(verdict, f.name) and not f.ordered):
        seen = {t.configuration.get(varied.name, varied.baseline) for t in judged}
        seen |= {
            level for cause in verdict.causes for one in cause if one.factor == varied.name for level in one.levels
        }
        if left := [level for level in varied.levels if level not in seen]:
            hidden = masked_levels(verdict, varied.name)
            named = (f"{shown(level)}{' (masked)' if level in hidden else ''}" for level in left)
            yield f"{varied.name}: {', '.join(named)}"


def masked_levels(verdict: Verdict, name: str) -> set[str]:
    """The levels of a factor that were tried where another failure came first."""
    return {one.configuration[name] for one in verdict.masked if name in one.configuration}


def left_of(verdict: Verdict, one: NotRuledOut) -> str:
    """Why a factor is not ruled out: the levels that only masked trials had, and those that none had."""
    hidden = masked_levels(verdict, one.factor)
    kinds = {label: [level for level in one.untried if (level in hidden) is masked] for label, masked in _LEFT}
    return "; ".join(f"{label}: {', '.join(levels)}" for label, levels in kinds.items() if levels) or OPEN


def moving(case: Case, verdict: Verdict, ids: Sequence[int]) -> list[int]:
    """Of trials those that changed something: a baseline does not show what the failure stays without."""
    still = {t.id for t in verdict.trials if not t.configuration.difference(case.baseline)}
    return [number for number in ids if number not in still]


def only_masked(case: Case, verdict: Verdict) -> set[str]:
    """Factors that were changed, but in no trial that tells."""
    changed = {True: set[str](), False: set[str]()}
    for trial in verdict.trials:
        if trial.outcome is not None and not (trial.outcome.hearsay or trial.without or trial.instruments):
            masked = trial.outcome.kind is OutcomeKind.OTHER
            changed[masked] |= set(trial.configuration.difference(case.baseline))
    return changed[True] - changed[False]


def constant(case: Case, verdict: Verdict) -> list[tuple[str, list[str]]]:
    """What was the same in all trials that tell, by how it came to be so."""
    masked = only_masked(case, verdict)
    rows: dict[str, list[str]] = {"Varied only where masked": [], "Not varied": [], "Left to the engine": []}
    for name in verdict.never_varied:
        label = "Varied only where masked" if name in masked else "Not varied"
        rows["Left to the engine" if name.endswith(OWN_CHOICE) else label].append(name.removesuffix(OWN_CHOICE))
    return [(label, names) for label, names in rows.items() if names]


def masks(verdict: Verdict) -> list[tuple[str, list[int]]]:
    """The failures that hid the target, each with its trials; the most frequent first.

    The same failure may tell of another size or address each time; the first trial's words stand for all.
    """
    judged = [(t.id, t.outcome) for t in verdict.trials if t.outcome and t.outcome.kind is OutcomeKind.OTHER]
    named = {number: failure(outcome.failure) for number, outcome in judged if outcome.failure}
    named |= {number: outcome.reason for number, outcome in judged if outcome.by_person and not outcome.hearsay}
    alike = {failure(outcome.failure): outcome.failure.signature for _, outcome in judged if outcome.failure}
    found: dict[str, tuple[str, list[int]]] = {}
    for one in verdict.masked:
        text = named.get(one.trial, one.failure)
        found.setdefault(alike.get(text, text), (text, []))[1].append(one.trial)
    return sorted(found.values(), key=lambda item: -len(item[1]))
