"""The smallest command that still fails: every flag that is left has been taken off once, and then it did not fail.

Delta debugging over the flags of the failing command (Zeller and Hildebrandt, doi:10.1109/32.988498): halves are taken
off first, then ever smaller parts, then single ones until none can go. A flag without which something else fails, or
without which it cannot be launched, is needed: the target has to show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ruleout.investigation.journal import Journal
from ruleout.model import ABSENT, Case, Mechanism, Mode, OutcomeKind, arguments

RAISE, MOST_TIMES = 4, 64
"""By what the requests of a launch are multiplied while the baseline does not fail, and to what at most."""
SEEN = 0.95
MOST_RUNS = 5

Fails = Callable[[frozenset[str]], int | None]
"""With these flags taken off, the number of a trial that showed the target; None when it did not show."""


class NoMoreTrials(Exception):  # noqa: N818 - an end, not an error
    """The budget is spent."""


@dataclass(frozen=True)
class Reduced:
    """What is left of the flags.

    `dropped` may go all at once, as trial `shown` has shown (None: nothing may). `complete`: no single one of the
    `needed` ones may go.
    """

    needed: tuple[str, ...]
    dropped: tuple[str, ...]
    shown: int | None
    complete: bool


def minimise(flags: Sequence[str], fails: Fails) -> Reduced:
    """Take off as many flags as possible. `fails` may raise NoMoreTrials, after which what is known is given."""
    gone: frozenset[str] = frozenset()
    shown, complete, size = None, False, max(1, len(flags))
    try:
        while not complete:
            before = gone
            for part in _parts([f for f in flags if f not in gone], size):
                trial = fails(gone | part)
                if trial is not None:
                    gone, shown = gone | part, trial
            complete = size == 1 and gone == before
            size = max(1, size // 2)
    except NoMoreTrials:
        pass
    return Reduced(tuple(f for f in flags if f not in gone), tuple(f for f in flags if f in gone), shown, complete)


def runs_to_see(rate: float) -> int:
    """How many runs show, with 95 %, a failure that shows at this rate; at most five."""
    if rate >= SEEN:
        return 1
    return min(MOST_RUNS, math.ceil(math.log(1 - SEEN) / math.log(1 - rate))) if rate > 0 else MOST_RUNS


def raise_load(case: Case, journal: Journal) -> bool:
    """Whether the requests of each launch were raised, since the baseline is clean with so many.

    One launch of many requests is cheaper than many launches. What was clean with fewer says nothing any more.
    """
    clean = any(t.outcome and t.outcome.kind is OutcomeKind.CLEAN for t in journal.evidence)
    if not clean or case.mode is not Mode.SERVE or journal.times >= MOST_TIMES:
        return False
    journal.raised(journal.times * RAISE)
    return True


def flags_of(case: Case) -> tuple[str, ...]:
    """The flags that the baseline passes: those of its command and those that factors set; none of a shell's script."""
    if arguments.shell_script(case.command):
        return ()
    after = case.command[arguments.program_ends(case.command) :]
    written = [token.partition("=")[0] for token in after if _is_flag(token)]
    varied = {f.target: f.baseline for f in case.factors if f.mechanism is Mechanism.FLAG}
    flags = [flag for flag in written if flag not in varied]
    return tuple(dict.fromkeys([*flags, *(flag for flag, level in varied.items() if level != ABSENT)]))


def without(case: Case, flags: frozenset[str]) -> Case:
    """The case with these flags taken off its command, and the factors that set them with them."""
    kept = [f for f in case.factors if f.mechanism is not Mechanism.FLAG or f.target not in flags]
    return replace(case, command=tuple(_kept(case.command, flags)), factors=tuple(kept))


def _kept(command: Sequence[str], flags: frozenset[str]) -> Iterator[str]:
    """A flag goes with all values that stand between it and the next flag."""
    begin, going = arguments.program_ends(command), False
    yield from command[:begin]
    for token in command[begin:]:
        if _is_flag(token):
            going = token.partition("=")[0] in flags
        if not going:
            yield token


def _is_flag(token: str) -> bool:
    return len(token) > 1 and not arguments.is_value(token)


def _parts(flags: Sequence[str], size: int) -> Iterator[frozenset[str]]:
    for start in range(0, len(flags), size):
        yield frozenset(flags[start : start + size])
