"""The diagnosis of several runs is that of the target's representative, weighed by what the other runs say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.story import brief
from ruleout.diagnosis.story.comparing import Seen, differences, of_run, refused, shared, varied
from ruleout.diagnosis.story.judging import Judgement, judged, sound, target_of
from ruleout.diagnosis.story.levels import known_levels, untried
from ruleout.diagnosis.story.trying import next_steps
from ruleout.diagnosis.story.weighing import component_of, moves, weighed_by
from ruleout.diagnosis.weights import against
from ruleout.model import ChosenBy, Diagnosis, OutcomeKind, Suspect
from ruleout.model.story import Brief, Levels, MaskedRun, RunFailure, Shared, Story, StoryRun, Target
from ruleout.reading.diagnose import Run

LevelsOf = Callable[[str, str | None], Sequence[Levels]]


def no_levels(engine: str, version: str | None) -> Sequence[Levels]:
    """Of an engine of which nobody knows the levels."""
    return ()


@dataclass(frozen=True, slots=True)
class _Facts:
    """What has been found out before the suspects are weighed."""

    seen: tuple[Seen, ...]
    judgements: tuple[Judgement, ...]
    target: Target | None
    lead: int
    needed: float | None


def told(
    runs: Sequence[Run],
    goods: Sequence[Run] = (),
    levels: LevelsOf = no_levels,
    *,
    copies: Sequence[tuple[str, str]] = (),
    rules: bool = True,
) -> tuple[Diagnosis, Story]:
    """The diagnosis of the target failure, with what all runs say together.

    Args:
        runs: in the order in which they were given, at least one.
        goods: runs that are known to be good, beside those of `runs` that are.
        levels: gives the levels of an engine's settings in one of its releases, as far as they are known.
    """
    facts = _facts(runs)
    lead = runs[facts.lead]
    healthy = [(s.name, s.run) for s in facts.seen if s.says is OutcomeKind.CLEAN and sound(s.run)]
    given = [(_name(run), run.diagnosis) for run in goods]
    theirs = [*given, *(healthy if facts.target else [])]
    short = {_name(run) for run in goods if brief.too_short(run, facts.needed)}
    says = {name: OutcomeKind.UNRESOLVED if name in short else OutcomeKind.CLEAN for name, _ in given}
    seen = (*facts.seen, *(Seen.of(name, run, says[name], lead.diagnosis) for name, run in given))
    engine = lead.diagnosis.engine
    alike = [s.run for s in seen if s.run.engine.name == engine.name]
    known = known_levels(levels(engine.name, engine.version), alike)
    differing, ignored = varied(seen), refused(facts.seen)
    story = Story(
        facts.target,
        tuple(
            _run(s, j, of_run(s, differing) | ignored.get(s.name, {}), len(s.run.sources))
            for s, j in zip(facts.seen, facts.judgements, strict=True)
        ),
        differing,
        tuple(_masked(s, j) for s, j in zip(facts.seen, facts.judgements, strict=True) if s.says is OutcomeKind.OTHER),
        untried(seen, differing, known),
        shared(seen, known) if facts.target and len(seen) > 1 else (),
        differences(lead.diagnosis, theirs),
        tuple(name for name, _ in theirs),
        tuple(copies),
        tuple(Brief(_name(run), run.lasted or 0.0, facts.needed or 0.0) for run in goods if _name(run) in short),
    )
    moved = moves(story, known)

    def weigh(found: Sequence[Suspect]) -> list[Suspect]:
        return weighed_by(found, moved)

    bad = against(lead.diagnosis, [run for _, run in theirs]) if theirs else lead.diagnosis
    answer = diagnosed(bad, lead.near, lead.lines, rules=rules, after=weigh)
    story = replace(story, shared=_by_suspicion(story.shared, known, answer.suspects))
    others = [s for n, s in enumerate(facts.seen) if n != facts.lead]
    return (
        replace(
            answer,
            never_varied=tuple(item.name for item in story.shared),
            next=next_steps(answer, story.shared, known, [s.run for s in others]),
            sources=(*answer.sources, *(source for s in others for source in s.run.sources)),
        ),
        story,
    )


def _by_suspicion(
    shared: Sequence[Shared], known: Mapping[str, Levels], suspects: Sequence[Suspect]
) -> tuple[Shared, ...]:
    """What was never varied: what a failure speaks of, then what the likeliest suspects hang on, else as it was."""
    likely = {suspect.component: suspect.probability for suspect in suspects}

    def rank(item: Shared) -> tuple[bool, bool, bool, float]:
        component = component_of(item.name, known)
        chosen = item.chosen_by in (ChosenBy.ENGINE, ChosenBy.USER) and item.name in known
        return not item.spoken_of, item.good, not chosen, -likely.get(component, 0.0) if component else 0.0

    return tuple(sorted(shared, key=rank))


def _facts(runs: Sequence[Run]) -> _Facts:
    diagnoses, names = [run.diagnosis for run in runs], [_name(run) for run in runs]
    target, shown = target_of(diagnoses, names)
    needed = brief.needed(runs[number] for number in shown)
    judgements = []
    for number, run in enumerate(diagnoses):
        found = judged(run, target, shows=number in shown) if target else Judgement(*_quiet(run))
        if target and found.says is OutcomeKind.CLEAN and not run.failure and brief.too_short(runs[number], needed):
            found = Judgement(OutcomeKind.UNRESOLVED, brief.why(runs[number], needed))
        judgements.append(found)
    lead = shown[0] if shown else max(range(len(runs)), key=lambda n: (sound(diagnoses[n]), -n))
    seen = tuple(Seen.of(n, d, j.says, diagnoses[lead]) for n, d, j in zip(names, diagnoses, judgements, strict=True))
    return _Facts(seen, tuple(judgements), target, lead, needed)


def _quiet(run: Diagnosis) -> tuple[OutcomeKind, str]:
    return (OutcomeKind.CLEAN, "nothing failed") if sound(run) else (OutcomeKind.UNRESOLVED, run.reason)


def _name(run: Run) -> str:
    sources = run.diagnosis.sources
    return sources[0].name if sources else ""


def _run(seen: Seen, judgement: Judgement, own: Mapping[str, str], logs: int) -> StoryRun:
    failure = seen.run.failure
    run, short = seen.run, None
    if failure:
        short = RunFailure(failure.class_, failure.signature, failure.message, failure.line, failure.source)
    return StoryRun(seen.name, logs, run.outcome, run.stage, judgement.says, short, dict(own), judgement.why)


def _masked(seen: Seen, judgement: Judgement) -> MaskedRun:
    failure = seen.run.failure
    assert failure
    text = f"{failure.exception}: {failure.message}" if failure.exception else failure.message
    return MaskedRun(seen.name, text, failure.line, seen.run.stage, judgement.why)
