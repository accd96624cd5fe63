"""A verdict in a screenful: the conclusion first, then by which trials, then, as carefully, what is not known."""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.model import Case, NotRuledOut, Verdict, VerdictStatus
from ruleout.report import words

SEEN = 3
"""How many observations a screen takes; FINDINGS.md has all."""


def headline(case: Case, verdict: Verdict) -> str:
    """The conclusion in one line."""
    causes = ", and by itself ".join(words.cause(case, verdict, c) for c in verdict.causes)
    if verdict.status is VerdictStatus.ISOLATED:
        return f"Isolated ({words.percent(verdict.probability)}): {causes}"
    if verdict.status is VerdictStatus.ELSEWHERE:
        return f"Elsewhere ({words.percent(verdict.elsewhere.probability)}): {verdict.elsewhere.claim}"
    if verdict.status is VerdictStatus.NOT_REPRODUCED:
        return f"Not reproduced: {verdict.why}"
    if verdict.status is VerdictStatus.WORKAROUND:
        return "Workaround found"
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


def _open(factor: NotRuledOut) -> str:
    return f"{factor.factor} (untried: {', '.join(factor.untried)})" if factor.untried else factor.factor


def facts(case: Case, verdict: Verdict, prefix: str) -> Iterator[tuple[str, str]]:
    """What bears the conclusion and what is left open, each with its label; `prefix` stands before names of logs."""
    if verdict.why and verdict.status is not VerdictStatus.NOT_REPRODUCED:
        yield "Why not isolated", verdict.why
    found = verdict.confirmed_by
    parts = [
        (found.sufficient, "alone, everything else moved, it still fails"),
        (found.necessary, "each part of it moved from there, clean"),
        (found.complete, "nothing but it changed, clean"),
        ((found.baseline_again,) if found.baseline_again else (), "the baseline again fails"),
    ]
    proof = [f"{text} ({words.some_trials(ids)})" for ids, text in parts if ids]
    if proof and verdict.causes:
        yield "Shown by", "; ".join(proof)
    failure = verdict.failure
    if verdict.elsewhere.told and verdict.status not in (VerdictStatus.ISOLATED, VerdictStatus.ELSEWHERE):
        yield "Evidence speaks for", verdict.elsewhere.told
    if failure is not None:
        first = words.target_trial(verdict)
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
        yield from (("Watched", seen) for seen in words.watched(verdict, prefix))
    if verdict.shows:
        yield "When it shows", verdict.shows
    for workaround in verdict.workarounds[:3]:
        yield "Workaround", f"{words.workaround(case, workaround.set)}   ({words.clean_runs(workaround, verdict)})"
    for limit in verdict.limits:
        yield "It works up to", words.limit(case, limit)
    if verdict.causes and verdict.manifest_rate < 0.95:
        yield "Shows in", f"about {words.percent(verdict.manifest_rate)} of the runs in which the cause is present"
    if verdict.minimal is not None:
        needed = f"each of its {words.count(len(verdict.minimal.needed), 'flag')} is needed"
        proven = needed if verdict.minimal.complete else "not every flag was taken off by itself"
        yield "Smallest command", f"{' '.join(verdict.minimal.command)}   ({proven})"
    for told in words.replaced(case, verdict.trials):
        yield "Asked for, not in effect", told
    if verdict.ruled_out:
        yield "Ruled out", ", ".join(f"{r.factor} ({words.some_trials(r.because)})" for r in verdict.ruled_out)
    if verdict.not_ruled_out:
        yield "Not ruled out", ", ".join(_open(n) for n in verdict.not_ruled_out)
    if verdict.masked:
        says = "says" if len(verdict.masked) == 1 else "say"
        yield "Masked", f"{words.some_trials([m.trial for m in verdict.masked])}: failed otherwise, {says} nothing"
    if verdict.never_varied:
        yield "Not varied", ", ".join(verdict.never_varied)
    if verdict.status is VerdictStatus.NOT_REPRODUCED:
        yield "What to do", "raise the load or the number of requests in `probes`, or check that `command` is the one"
    if verdict.status not in (VerdictStatus.ISOLATED, VerdictStatus.WORKAROUND):
        for other in [h for h in verdict.hypotheses[:4] if h.probability >= 0.005]:
            yield "Hypothesis", f"{words.percent(other.probability)} {other.claim}"
        for step in verdict.next:
            yield "Would decide", f"{words.step(case, step.change)} (about {words.minutes(step.minutes)}): {step.why}"
