"""The same words for the same thing in every report."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ruleout.model import (
    PRESENT,
    UNTOLD,
    Carrier,
    Case,
    Cause,
    Configuration,
    Evidence,
    Factor,
    Failure,
    Hypothesis,
    Installation,
    Limit,
    Mechanism,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
    Verdict,
    Workaround,
    arguments,
    carried,
)
from ruleout.model.configuration import shown
from ruleout.model.figures import minutes as minutes
from ruleout.model.figures import percent as percent

MANY = 24
"""Numbers of trials that a screen takes in a row."""
LATE = "the stack in the log is where it was noticed, and need not be where it was born"
OPEN = "may still take part"
"""Of a factor whose levels were all tried, and that is not ruled out."""
OTHERS = "others together, each less likely"
"""Of the hypotheses that are not listed."""
LITTLE = 0.005
"""A probability that is not worth a row of a screen."""
LONG = 12
"""Levels of a factor that are listed one by one."""


def changes(configuration: Configuration, baseline: Configuration) -> str:
    """What a configuration changes against the baseline."""
    return str(configuration.difference(baseline))


def factor(varied: Factor) -> str:
    """A factor with its levels, the failing deployment's with a star."""
    return f"{varied.name}: {levels(varied)}{'  (proxy)' if varied.proxy else ''}"


def levels(varied: Factor) -> str:
    """The levels of a factor, the failing deployment's with a star; of a long row in order, its ends."""
    if varied.ordered and len(varied.levels) > LONG:
        first, *_, last = varied.levels
        ends = f"from {shown(first)} to {shown(last)}"
        return f"{shown(varied.baseline)}*, {count(len(varied.levels), 'level')} in order {ends}"
    return ", ".join(f"{shown(level)}{'*' if level == varied.baseline else ''}" for level in varied.levels)


def ran(trial: Trial, baseline: Configuration) -> str:
    """What a trial changed, and what was in effect where the engine replaced it."""
    changed = changes(trial.configuration, baseline)
    if trial.without:
        changed = f"without {' '.join(trial.without)}"
    if trial.instruments:
        changed = f"{changed}, watched with {typed(trial.instruments)}"
    instead = trial.outcome.effective if trial.outcome else {}
    return f"{changed} (in effect: {Configuration(instead)})" if instead else changed


def typed(change: Configuration) -> str:
    """Levels by flag or variable, as a person types them."""
    return arguments.told({name: "" if level == PRESENT else level for name, level in change.items()})


def step(case: Case, change: Configuration) -> str:
    """What a next step changes: levels of factors, or what is put on the command."""
    if any(name in change for name in (f.name for f in case.factors)) or not change:
        return changes(change.difference({}), case.baseline)
    return typed(change)


def replaced(case: Case, tried: Sequence[Trial]) -> Iterator[str]:
    """What was asked for and not in effect, as a person types it, and what was in effect instead, with the trials."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for trial in tried:
        for name, instead in (trial.outcome.effective if trial.outcome else {}).items():
            asked = trial.configuration.get(name, case.baseline.get(name, ""))
            found.setdefault((name, asked, instead), []).append(trial.id)
    for (name, asked, instead), ids in found.items():
        known = next((f for f in case.factors if f.name == name), None)
        typed = on_command(known, asked) if known else f"{name}={asked}"
        other = instead if instead != UNTOLD else "another, which the log does not name,"
        yield f"{typed}: {other} was in effect ({trials(ids)})"


def cause(case: Case, verdict: Verdict, one: Cause) -> str:
    """A cause, with the levels that were seen to carry it; those in a row of an order by its ends."""
    return " together with ".join(_row(case, verdict, one, carrier) or str(carrier) for carrier in one)


def _row(case: Case, verdict: Verdict, one: Cause, carrier: Carrier) -> str:
    """`release=13 to 19 (tried: 13, 14, 19)`; empty where the order says nothing, or a level in between was clean."""
    varied = next((f for f in case.factors if f.name == carrier.factor and f.ordered), None)
    if varied is None:
        return ""
    tried = [level for level in varied.levels if level in carrier.levels]
    row = varied.levels[varied.levels.index(tried[0]) : varied.levels.index(tried[-1]) + 1] if tried else ()
    clean = {
        trial.configuration.get(varied.name, varied.baseline)
        for trial in verdict.trials
        if trial.outcome is not None
        and trial.outcome.kind is OutcomeKind.CLEAN
        and not trial.without
        and carried(case, one, trial.configuration, varied.name)
    }
    if len(row) < 3 or clean & set(row):
        return ""
    known = f" (tried: {', '.join(shown(level) for level in tried)})" if len(tried) < len(row) else ""
    return f"{carrier.factor}={shown(row[0])} to {shown(row[-1])}{known}"


def trials(ids: tuple[int, ...] | list[int]) -> str:
    """`trial 3`, `trials 3, 5`."""
    return f"trial{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


def numbers(ids: Sequence[int]) -> str:
    """Numbers of trials for a screen: of very many the first, and how many more there are."""
    told = ", ".join(map(str, ids[:MANY]))
    return f"{told} and {len(ids) - MANY} more" if len(ids) > MANY else told


def some_trials(ids: Sequence[int]) -> str:
    """`trial 3`, `trials 3, 5`, `trials 3, 5, … and 70 more`."""
    return f"trial{'s' if len(ids) > 1 else ''} {numbers(ids)}"


def clean_runs(found: Workaround, done: Verdict) -> str:
    """How often a workaround was seen to be clean, and what else failed once the target could not show any more."""
    return f"clean in {found.clean} of {found.clean}, trial {found.trial}{_later(found.trial, done)}"


def ways_out(done: Verdict) -> list[Workaround]:
    """The workarounds; those after which something else fails come last: nobody can work with them as they are."""
    return sorted(done.workarounds, key=lambda found: bool(_later(found.trial, done)))


def _later(number: int, done: Verdict) -> str:
    """What else failed in a trial that was clean of the target."""
    later = next((t.outcome.failure for t in done.trials if t.id == number and t.outcome), None)
    return f"; another failure comes later: {failure(later)}" if later is not None else ""


def cost(found: Workaround, done: Verdict) -> str:
    """What a trial with a workaround took, beside the quickest clean one; empty where nothing was measured."""
    took = {t.id: t.minutes for t in done.trials if t.outcome and t.outcome.kind is OutcomeKind.CLEAN and t.minutes > 0}
    if found.trial not in took:
        return ""
    quickest = min(took, key=lambda number: (took[number], number))
    mine, least = minutes(took[found.trial]), minutes(took[quickest])
    return f"; took {mine}" + (f", the quickest clean trial {least} (trial {quickest})" if mine != least else "")


def count(number: int, thing: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def made(verdict: Verdict) -> str:
    """`11 trials`; what notes told is counted apart, and numbers that go further since trials were broken off."""
    all_, last = len(verdict.trials), max((trial.id for trial in verdict.trials), default=0)
    notes = sum(hearsay(trial) for trial in verdict.trials)
    told = count(all_ - notes, "trial") + (f" and {notes} told in notes" if notes else "")
    if last <= all_:
        return told
    others = "another was" if last - all_ == 1 else "others were"
    return f"{told} (numbered to {last}; {others} broken off)"


def hearsay(trial: Trial) -> bool:
    """Whether nobody here made it: notes tell of it."""
    return trial.outcome is not None and trial.outcome.hearsay


def took(trial: Trial) -> str:
    """What a trial took, or that it was told of; empty while it is not judged and nothing was measured."""
    if trial.outcome is None and not trial.minutes:
        return ""
    return "told" if hearsay(trial) else minutes(trial.minutes)


def reached(trial: Trial) -> str:
    """The stage in which it failed, else the furthest one; empty where none is known."""
    if trial.outcome is None:
        return ""
    failure = trial.outcome.failure
    stage = failure.exposure.stage if failure else trial.outcome.reached
    return "" if stage is Stage.UNKNOWN else stage.value


def rest(listed: Sequence[Hypothesis]) -> float:
    """What all others come to besides the listed ones; nothing where that is little, or none is listed."""
    others = 1 - sum(one.probability for one in listed)
    return others if listed and others >= 0.01 else 0.0


def target_trial(verdict: Verdict) -> Trial | None:
    """The first trial that showed the failure to explain: its log and its folder are where that is read."""
    kind = OutcomeKind.REPRODUCED
    return next((t for t in verdict.trials if t.outcome and t.outcome.kind is kind and not t.instruments), None)


def watched(verdict: Verdict, prefix: str = "") -> list[str]:
    """What instrumented trials showed, each with its number."""
    trials = (trial for trial in verdict.trials if trial.instruments)
    return [f"{seen} [trial {trial.id}]" for trial in trials for seen in observations(trial, prefix)[:1]]


def address(trial: Trial, line: Evidence) -> str:
    """Where a line of a trial stands, relative to the investigation's folder."""
    return f"{trial.log.rpartition('/')[0]}/{line.source}:{line.line}".lstrip("/")


def teller(line: Evidence | None) -> str:
    """Who tells of the failure: the engine in its log, or the kernel; empty when no line does."""
    return "" if line is None else "Kernel" if line.source.startswith("evidence/") else "Engine"


def observations(trial: Trial | None, prefix: str = "") -> list[str]:
    """What was seen of a trial besides its log, each with its address; `prefix` stands before names of files."""
    if trial is None or trial.outcome is None:
        return []
    told = []
    for seen in trial.outcome.observed:
        line = next((line for line in seen.evidence if line.line), None)
        told.append(seen.text if line is None else f"{seen.text} ({prefix}{address(trial, line)})")
    return told


def installed(one: Installation) -> str:
    """Versions and hardware in one line."""
    return ", ".join(f"{name} {value}" for name, value in one.facts.items())


def outcome(judged: Outcome | None) -> str:
    """An outcome in one word; a hidden target is called masked."""
    if judged is None:
        return "unfinished"
    return "masked" if judged.kind is OutcomeKind.OTHER else judged.kind.value


def failure(found: Failure) -> str:
    """A failure in one line."""
    text = f"{found.exception}: {found.message}" if found.exception else found.message
    return text if len(text) <= 300 else text[:297] + "..."


def on_command(factor: Factor, level: str) -> str:
    """What a person types for a level."""
    if factor.mechanism is Mechanism.FLAG:
        if level == "absent":
            return f"without {factor.target}"
        return factor.target if level == "present" else f"{factor.target} {shlex.quote(level)}"
    if factor.mechanism is Mechanism.ENV:
        return f"{factor.target} unset" if level == "unset" else f"{factor.target}={shlex.quote(level)}"
    return f"{factor.name}={shown(level)}"


def limit(case: Case, found: Limit, done: Verdict) -> str:
    """How far it works, as a person types it, and what was not tried before the next level that fails."""
    varied = case.factor(found.factor)
    between = f"; not tried in between: {', '.join(found.untried)}" if found.untried else ""
    works, fails = on_command(varied, found.works), on_command(varied, found.fails)
    clean = f"trial {found.trial}{_later(found.trial, done)}"
    return f"{works} is clean ({clean}), {fails} fails (trial {found.failed}){between}"


def workaround(case: Case, changed: Configuration) -> str:
    """A workaround as a person types it: flags in a row that can be copied, whatever else apart by commas."""
    known = {f.name: f for f in case.factors}
    parts = [on_command(known[f], level) if f in known else f"{f}={level}" for f, level in changed.items()]
    return (" " if all(part.startswith("-") for part in parts) else ", ").join(parts)


def total(done: Verdict) -> float:
    """The minutes of all trials."""
    return sum(t.minutes for t in done.trials)
