"""What is right: the factors of all causes, no level that does not carry, none missing of those seen, no false way out.

The peers name factors only, and are not asked for more. Whoever claims levels has to claim the right ones. On a linear
history the answer is the oldest revision that can be seen to fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.planted.bench import Answer
from benchmarks.planted.histories import first_bad
from benchmarks.planted.scenario import REPRODUCED, Conjunction, Launch, Scenario

UNANSWERED = ("undecided", "unsuited", "spent", "broken", "not_reproduced", "interrupted")


def wrong(scenario: Scenario, answer: Answer, launches: Sequence[Launch]) -> str:
    """Why an answer is wrong, empty when it is right. The trials are those that the deployment recorded."""
    if answer.status in UNANSWERED:
        return f"{answer.status}: {answer.note}" if answer.note else answer.status
    if scenario.elsewhere:
        return _elsewhere(answer)
    if answer.status == "elsewhere":
        return "said to be in no factor"
    said, true = groups(answer.causes), groups(scenario.causes)
    if said != true:
        return f"said {_words(said)}, is {_words(true)}"
    if scenario.ordered:
        claimed = min(answer.causes[0][scenario.ordered.name], key=scenario.ordered.levels.index)
        if claimed != first_bad(scenario):
            return f"first bad {claimed}, is {first_bad(scenario)}"
    if answer.levels and (fault := _levels(scenario, answer.causes, launches)):
        return fault
    for workaround in answer.workarounds if answer.levels else ():
        if not scenario.works({**scenario.baseline, **workaround}):
            return f"workaround {dict(workaround)} fails"
    return ""


def groups(causes: Sequence[Conjunction]) -> frozenset[frozenset[str]]:
    """The factors of each cause."""
    return frozenset(frozenset(cause) for cause in causes)


def _elsewhere(answer: Answer) -> str:
    """Of those that claim levels also the word is expected: no cause found is not yet no cause there."""
    if answer.causes:
        return f"said {_words(groups(answer.causes))}, is in no factor"
    return "" if answer.status in ("answered", "elsewhere") else f"{answer.status}, is in no factor"


def _levels(scenario: Scenario, said: Sequence[Conjunction], launches: Sequence[Launch]) -> str:
    claims = {frozenset(cause): cause for cause in said}
    seen = [launch.config for launch in launches if launch.outcome == REPRODUCED]
    for cause in scenario.causes:
        alone = [config for config in seen if scenario.present(config) == [cause]]
        for name, carrying in cause.items():
            claimed = claims[frozenset(cause)][name]
            if false := claimed - carrying:
                return f"{name}: {'|'.join(sorted(false))} does not carry"
            if missing := {config[name] for config in alone} - claimed:
                return f"{name}: {'|'.join(sorted(missing))} was seen to carry and is not named"
    return ""


def _words(causes: frozenset[frozenset[str]]) -> str:
    return " or ".join(sorted("+".join(sorted(cause)) for cause in causes)) or "nothing"
