"""The command that fails, what of it is proven needed, and the nearest one that does not fail.

A part is proven needed by two trials that differ in nothing else, of which one fails and one does not. That is asked of
the trials themselves, so that a report says no more than they do.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleout.model import (
    ABSENT,
    PRESENT,
    UNSET,
    Case,
    Cause,
    Configuration,
    Factor,
    Mechanism,
    OutcomeKind,
    Trial,
    Verdict,
    arguments,
    carried,
)
from ruleout.report import words
from ruleout.report.issue.markdown import code

NEVER_MOVED = "unproven: it was in every trial"
LUCK = 0.05
"""With a greater chance that a clean run was luck, nothing is called proven."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A trial that fails and one that does not, and the factors in which they differ."""

    fails: Trial
    passes: Trial
    factors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the failing command, as it is typed, and what is known of it, in Markdown."""

    typed: str
    known: str


def telling(verdict: Verdict, kind: OutcomeKind) -> list[Trial]:
    """The trials of an outcome that speak about factors."""
    return [t for t in verdict.trials if t.outcome and t.outcome.kind is kind and not (t.without or t.instruments)]


def whole(case: Case, trial: Trial) -> Configuration:
    """The levels of all factors in a trial: one that was added later was at its baseline."""
    return case.baseline.moved(trial.configuration)


def pairs(case: Case, verdict: Verdict) -> list[Pair]:
    """Each configuration that failed with each that never did.

    Those in which a factor was not as asked for prove nothing about it.
    """
    failing = _first(case, telling(verdict, OutcomeKind.REPRODUCED))
    clean = _first(case, telling(verdict, OutcomeKind.CLEAN))
    found = []
    for (fails, not_as_asked), trial in failing.items():
        for (passes, nor_here), other in clean.items():
            differ = tuple(fails.difference(passes))
            if differ and (passes, nor_here) not in failing and not (not_as_asked | nor_here) & set(differ):
                found.append(Pair(trial, other, differ))
    return found


def _first(case: Case, trials: Sequence[Trial]) -> dict[tuple[Configuration, frozenset[str]], Trial]:
    """The first trial of each configuration, and of what was not in effect as it was asked for."""
    found: dict[tuple[Configuration, frozenset[str]], Trial] = {}
    for trial in trials:
        replaced = frozenset(trial.outcome.effective if trial.outcome else ())
        found.setdefault((whole(case, trial), replaced), trial)
    return found


def nearest(case: Case, verdict: Verdict) -> list[Pair]:
    """The pairs that differ least, one for each way to differ.

    Of equals those with the same model come first, then that of the failing deployment itself, then the one whose clean
    side ran most often.
    """
    runs = Counter(whole(case, t) for t in telling(verdict, OutcomeKind.CLEAN))

    models = {factor.name for factor in case.factors if factor.serves_another}

    def distance(pair: Pair) -> tuple[int, bool, bool, int, int, int]:
        as_it_is = whole(case, pair.fails) == case.baseline
        other = not models.isdisjoint(pair.factors)
        return len(pair.factors), other, not as_it_is, -runs[whole(case, pair.passes)], pair.passes.id, pair.fails.id

    found = sorted(pairs(case, verdict), key=distance)
    least = {pair.factors: pair for pair in reversed(found) if len(pair.factors) == len(found[0].factors)}
    return sorted(least.values(), key=distance)


def luck(case: Case, verdict: Verdict, pair: Pair) -> float:
    """The chance that the clean side of a pair was clean by luck alone, by how often its other side failed."""
    shown, of = launches(case, verdict, pair.fails.configuration)
    _, clean = launches(case, verdict, pair.passes.configuration)
    return float((1 - shown / of) ** clean) if of else 1.0


def launches(case: Case, verdict: Verdict, trial: Configuration) -> tuple[int, int]:
    """How often a configuration showed the failure, of how many launches that tell."""
    wanted = case.baseline.moved(trial)
    shown = sum(whole(case, t) == wanted for t in telling(verdict, OutcomeKind.REPRODUCED))
    return shown, shown + sum(whole(case, t) == wanted for t in telling(verdict, OutcomeKind.CLEAN))


def typed(case: Case, configuration: Configuration) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment and the command under a configuration, as far as they are what factors change.

    The program goes without its folder, which is nobody else's; a flag stays where it stood.
    """
    command, env = case.command, dict(case.env)
    for factor in case.factors:
        level = configuration.get(factor.name, factor.baseline)
        if level == factor.baseline and _names(command, env, factor):
            continue
        if factor.mechanism is Mechanism.FLAG:
            left = arguments.without(command, factor.target, _valued(factor))
            at = next((i for i, pair in enumerate(zip(command, left, strict=False)) if len(set(pair)) > 1), len(left))
            added = () if level == ABSENT else (factor.target,) if level == PRESENT else (factor.target, level)
            command = (*left[:at], *added, *left[at:])
        elif factor.mechanism is Mechanism.ENV:
            env.pop(factor.target, None)
            if level != UNSET:
                env[factor.target] = level
    return env, short(command)


def _names(command: Sequence[str], env: Mapping[str, str], factor: Factor) -> bool:
    """Whether a command says what a factor sets by itself; a level that it does not say is added when it is run."""
    return factor.target in env or any(token.partition("=")[0] == factor.target for token in command)


def short(command: Sequence[str]) -> tuple[str, ...]:
    """A command with its program by name alone."""
    return (arguments.program(command[0]), *command[1:]) if command else ()


def shell(env: Mapping[str, str], command: Sequence[str]) -> str:
    """As a person types it."""
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in env.items()), shlex.join(command)])


def changed(case: Case, configuration: Configuration) -> str:
    """What a configuration changes of the failing command, as a person types it."""
    moved = configuration.difference(case.baseline)
    known = {factor.name: factor for factor in case.factors}
    each = (words.on_command(known[n], level) if n in known else f"{n}={level}" for n, level in moved.items())
    return ", ".join(each) or "nothing"


def ran(case: Case, trial: Trial) -> str:
    """What a trial changed, as a person types it, and what was in effect where the engine replaced it."""
    if trial.without or trial.instruments:
        return words.ran(trial, case.baseline)
    instead = trial.outcome.effective if trial.outcome else {}
    text = changed(case, trial.configuration)
    return f"{text} (in effect: {Configuration(instead)})" if instead else text


def cause(case: Case, verdict: Verdict, one: Cause) -> str:
    """A cause as a person types it, in Markdown; where its levels have an order, by the ends of their row."""
    known = {factor.name: factor for factor in case.factors if not factor.ordered}
    if any(carrier.factor not in known for carrier in one):
        return code(words.cause(case, verdict, one))
    each = (" or ".join(code(words.on_command(known[c.factor], level)) for level in c.levels) for c in one)
    return " together with ".join(each)


def beyond(case: Case, configuration: Configuration) -> list[str]:
    """What a configuration changes that is on no command line: packages, patches, overrides, the workload."""
    on_it = (Mechanism.FLAG, Mechanism.ENV)
    changed = configuration.difference(case.baseline)
    varied = (f for f in case.factors if f.name in changed and f.mechanism not in on_it)
    return [words.on_command(f, changed[f.name]) for f in varied]


def parts(case: Case, verdict: Verdict) -> list[Part]:
    """Each flag and variable of the failing command, with the trials that speak about it."""
    if arguments.shell_script(case.command):
        return []
    by_target = {f.target: f for f in case.factors if f.mechanism in (Mechanism.FLAG, Mechanism.ENV)}
    minimal = verdict.minimal
    found, told = pairs(case, verdict), []
    for name, text in _written(*typed(case, case.baseline)):
        factor = by_target.get(name)
        if minimal is not None and minimal.complete and name in minimal.needed:
            known = "needed: taken off by itself, the failure does not show"
        elif minimal is not None and name in minimal.dropped:
            known = f"not needed: it fails without it ({words.trials((minimal.trial,))})" if minimal.trial else ""
        else:
            known = _of_factor(case, verdict, factor, found) if factor else ""
        told.append(Part(text, known or NEVER_MOVED))
    return told


def _of_factor(case: Case, verdict: Verdict, factor: Factor, found: Sequence[Pair]) -> str:
    name = factor.name
    failing = telling(verdict, OutcomeKind.REPRODUCED)
    fails = [t for t in failing if not _at_baseline(case, t, factor) and not _replaced(t, factor)]
    proofs = [p for p in found if p.factors == (name,) and _at_baseline(case, p.fails, factor)]
    if proofs:
        proof = min(proofs, key=lambda pair: luck(case, verdict, pair))
        other = _with(factor, whole(case, proof.passes)[name])
        what = f"{other}, clean (trial {proof.passes.id}, against trial {proof.fails.id})"
        chance = luck(case, verdict, proof)
        if chance >= LUCK:
            return f"unproven: {what}, which {words.percent(chance)} of such runs are by luck"
        by_another = [t for t in fails if any(_carries(case, cause, t, name) for cause in verdict.causes)]
        if not by_another:
            return f"needed: {what}"
        return f"one of several that make it fail: {what}; it fails {_too(case, factor, by_another)}, of another"
    if any(carrier.factor == name for cause in verdict.causes for carrier in cause):
        return "unproven, though it is part of the likeliest cause"
    if fails:
        return f"not needed: it fails {_too(case, factor, fails)}"
    return "unproven: no trial that tells has another value"


def _at_baseline(case: Case, trial: Trial, factor: Factor) -> bool:
    return whole(case, trial)[factor.name] == factor.baseline


def _carries(case: Case, cause: Cause, trial: Trial, without: str) -> bool:
    """Whether a cause in which that factor takes no part was there."""
    return all(c.factor != without for c in cause) and carried(case, cause, trial.configuration, "")


def _with(factor: Factor, level: str) -> str:
    return "without it" if level in (ABSENT, UNSET) else f"with {code(words.on_command(factor, level))}"


def _too(case: Case, factor: Factor, fails: Sequence[Trial]) -> str:
    other = _with(factor, whole(case, fails[0])[factor.name])
    return f"{other} too ({words.trials([t.id for t in fails][:3])})"


def _replaced(trial: Trial, factor: Factor) -> bool:
    return trial.outcome is not None and factor.name in trial.outcome.effective


def lines(env: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """A command with its variables, one of them or one flag with its values a line."""
    ends = arguments.program_ends(command)
    while ends < len(command) and arguments.is_value(command[ends]):
        ends += 1
    return [
        *(f"{name}={shlex.quote(value)}" for name, value in env.items()),
        shlex.join(command[:ends]),
        *(text for _, text in _flags(command)),
    ]


def _written(env: Mapping[str, str], command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The variables and flags of a command: the name of each, and how it is typed with its value."""
    yield from ((name, f"{name}={shlex.quote(value)}") for name, value in env.items())
    yield from _flags(command)


def _flags(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    at = arguments.program_ends(command)
    while at < len(command):
        token, at = command[at], at + 1
        if arguments.is_value(token):
            continue
        values = []
        while at < len(command) and arguments.is_value(command[at]):
            values.append(command[at])
            at += 1
        yield token.partition("=")[0], shlex.join([token, *values])


def _valued(factor: Factor) -> Callable[[str], bool]:
    """Whether a token behind the factor's flag is its value."""
    values = {level for level in factor.levels if level not in (ABSENT, PRESENT)}
    return lambda token: bool(values) and (factor.baseline != PRESENT or token in values)
