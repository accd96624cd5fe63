"""A verdict in a screenful: the conclusion first, then by which trials, then, as carefully, what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ruleout.model import Case, Mode, NotRuledOut, Verdict, VerdictStatus
from ruleout.report import evidence, words

SEEN, MASKS, MANY = 3, 3, 4
"""How many observations, masking failures and hypotheses a screen takes; FINDINGS.md has all."""


def headline(case: Case, verdict: Verdict) -> str:
    """The conclusion in one line."""
    if verdict.status is VerdictStatus.ISOLATED:
        causes = [words.cause(case, verdict, cause) for cause in verdict.causes]
        told = f"{len(causes)} causes, each enough by itself" if causes[1:] else "".join(causes)
        return f"Isolated ({words.percent(verdict.probability)}): {told}"
    if verdict.status is VerdictStatus.ELSEWHERE:
        return f"Elsewhere ({words.percent(verdict.elsewhere.probability)}): {verdict.elsewhere.brief}"
    if verdict.status is VerdictStatus.NOT_REPRODUCED:
        return f"Not reproduced: {verdict.why}"
    if verdict.status is VerdictStatus.WORKAROUND:
        found = [words.workaround(case, way.set) for way in words.ways_out(verdict)[:1]]
        return ": ".join(["Workaround found", *found])
    name = {
        VerdictStatus.NARROWED: "Narrowed, not isolated",
        VerdictStatus.EXHAUSTED: "Budget spent, not isolated",
        VerdictStatus.INTERRUPTED: "Interrupted, not isolated",
    }[verdict.status]
    return f"{name}: {likeliest(verdict)}"


def likeliest(verdict: Verdict) -> str:
    """The leading hypothesis, as far as there is one."""
    if not verdict.hypotheses:
        return "nothing is known yet"
    best = verdict.hypotheses[0]
    return f"likeliest ({words.percent(best.probability)}) is {best.claim}"


def facts(case: Case, verdict: Verdict, prefix: str, *, whole: bool = True) -> Iterator[tuple[str, str]]:
    """What bears the conclusion and what is left open, each with its label; `prefix` stands before names of logs.

    Args:
        whole: the verdict holds all trials, not only those that are told of.
    """
    if verdict.why and verdict.status is not VerdictStatus.NOT_REPRODUCED:
        yield "Why not isolated", verdict.why
    if verdict.status is VerdictStatus.ISOLATED and verdict.causes[1:]:
        for number, cause in enumerate(verdict.causes, 1):
            yield f"Cause {number}", words.cause(case, verdict, cause)
    if verdict.causes and (proof := shown_by(case, verdict)):
        label = "Shown by" if verdict.status is VerdictStatus.ISOLATED else "Supported by"
        yield label, "; ".join(f"{text} ({words.some_trials(ids)})" for text, ids in proof)
    yield from (("Chosen by the engine", told) for told in evidence.chosen(case, verdict))
    yield from _outside(verdict)
    yield from _failure(verdict, prefix)
    yield from _ways_out(case, verdict)
    yield from _limits(case, verdict, whole)
    if verdict.status is VerdictStatus.NOT_REPRODUCED:
        yield "What to do", _MORE_LOAD if case.mode is Mode.SERVE else _SAME_COMMAND
    if verdict.status not in (VerdictStatus.ISOLATED, VerdictStatus.WORKAROUND):
        yield from _hypotheses(verdict)
        for step in verdict.next:
            yield "Would decide", f"{words.step(case, step.change)} (about {words.minutes(step.minutes)}): {step.why}"


_MORE_LOAD = "raise the load or the number of requests in `probes`, or check that `command` is the one that fails"
_SAME_COMMAND = "check that `command` is the one that fails, with its environment and on a machine where it does"


def shown_by(case: Case, verdict: Verdict) -> list[tuple[str, Sequence[int]]]:
    """By which trials a cause is shown, each kind in words; what another kind says already is left out."""
    found, several = verdict.confirmed_by, bool(verdict.causes[1:])
    still = "other settings changed, it still fails"
    if verdict.status is VerdictStatus.ISOLATED:
        still = f"{'each alone, ' if several else ''}everything else changed, it still fails"
    whole = all(len(cause) == 1 for cause in verdict.causes)
    least = ("these" if several else "it") if whole else f"one part of {'each' if several else 'it'}"
    necessary = () if found.necessary == found.complete else found.necessary
    apart = evidence.moving(case, verdict, found.sufficient)
    parts: list[tuple[str, Sequence[int]]] = [
        (still, apart),
        (f"{'from there ' if apart else ''}{'it' if whole else 'a part of it'} changed, clean", necessary),
        (f"nothing but {least} changed, clean", found.complete),
        ("the baseline again fails", () if found.baseline_again is None else (found.baseline_again,)),
    ]
    return [(text, ids) for text, ids in parts if ids]


def _outside(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """What else than a factor the evidence speaks for; not what a watched trial says in the same words."""
    found = verdict.elsewhere
    if verdict.status is VerdictStatus.ISOLATED or not found.told:
        return
    why = found.told.partition(": ")[2]
    if not (why and any(why in seen for seen in words.watched(verdict))):
        yield "Evidence speaks for", found.told
    if found.advice:
        yield "What may help", found.advice


def _hypotheses(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """The likeliest, and what all others come to: a reader adds up what is told."""
    likely = [h for h in verdict.hypotheses[:MANY] if h.probability >= words.LITTLE]
    if verdict.status is VerdictStatus.ELSEWHERE and not likely[1:]:
        return
    for one in likely:
        yield "Hypothesis", f"{words.percent(one.probability)} {one.claim}"
    if rest := words.rest(likely):
        yield "Hypothesis", f"{words.percent(rest)} {words.OTHERS}"


def _failure(verdict: Verdict, prefix: str) -> Iterator[tuple[str, str]]:
    failure, first = verdict.failure, words.target_trial(verdict)
    if failure is None:
        return
    line = next((e for e in failure.evidence if e.line), None)
    if line and first:
        label = "First error of the engine" if words.teller(line) == "Engine" else "The kernel says"
        yield label, f"{prefix}{words.address(first, line)}   {words.failure(failure)}"
    else:
        yield "No error in the log, but", words.failure(failure)
    if failure.client:
        yield "What a client sees", failure.client
    for seen in words.observations(first, prefix)[:SEEN]:
        yield "Seen before it was stopped", seen
    watched = words.watched(verdict, prefix)
    if failure.asynchronous and not watched:
        yield "Reported late", words.LATE
    yield from (("Watched", seen) for seen in watched)
    if verdict.shows:
        yield "When it shows", verdict.shows


def _ways_out(case: Case, verdict: Verdict) -> Iterator[tuple[str, str]]:
    for workaround in words.ways_out(verdict)[:3]:
        yield "Workaround", f"{words.workaround(case, workaround.set)}   ({words.clean_runs(workaround, verdict)})"
    for limit in verdict.limits:
        yield "It works up to", words.limit(case, limit, verdict)
    if verdict.causes and verdict.manifest_rate < 0.95:
        yield "Shows in", f"about {words.percent(verdict.manifest_rate)} of the runs in which the cause is present"
    if verdict.minimal is not None:
        needed = f"each of its {words.count(len(verdict.minimal.needed), 'flag')} is needed"
        proven = needed if verdict.minimal.complete else "not every flag was taken off by itself"
        yield "Smallest command", f"{' '.join(verdict.minimal.command)}   ({proven})"


def _limits(case: Case, verdict: Verdict, whole: bool) -> Iterator[tuple[str, str]]:
    """What is ruled out, and what only looks so."""
    for told in words.replaced(case, verdict.trials):
        yield "Asked for, not in effect", told
    if verdict.ruled_out:
        yield "Ruled out", ", ".join(f"{r.factor} ({words.some_trials(r.because)})" for r in verdict.ruled_out)
    if open_ := [left for left in verdict.not_ruled_out if left.factor not in verdict.never_varied]:
        yield "Not ruled out", ", ".join(f"{one.factor}{_untried(verdict, one)}" for one in open_)
    if whole and (left := list(evidence.untried(case, verdict))):
        yield "Levels untried", "; ".join(left)
    masks = evidence.masks(verdict)
    for failure, ids in masks[:MASKS]:
        yield "Masked, says nothing", f"{words.some_trials(ids)}: {failure or 'failed otherwise'}"
    if masks[MASKS:]:
        rest = sorted(number for _, ids in masks[MASKS:] for number in ids)
        yield "Masked, says nothing", f"{words.some_trials(rest)}: {words.count(len(masks) - MASKS, 'other failure')}"
    for label, names in evidence.constant(case, verdict):
        yield label, ", ".join(names)


def _untried(verdict: Verdict, left: NotRuledOut) -> str:
    return f" ({evidence.left_of(verdict, left)})" if left.untried else ""
