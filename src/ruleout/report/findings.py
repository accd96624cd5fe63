"""FINDINGS.md: the record that good engineers keep by hand, one line a fact, so that a diff shows what was learnt."""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.model import Case, Confirmation, Factor, Minimal, Trial, Verdict, VerdictStatus
from ruleout.report import words

WORTH_A_LINE = 0.001
"""Hypotheses less likely than this are left to the JSON document."""


def findings(case: Case, verdict: Verdict) -> str:
    """The record of an investigation as Markdown. The same verdict gives the same text."""
    return "\n".join(_lines(case, verdict)) + "\n"


def _lines(case: Case, verdict: Verdict) -> Iterator[str]:
    yield f"# {case.name}"
    for title, section in (
        ("Question", _question),
        ("Setting", _setting),
        ("Answer", _answer),
        ("Trials", _trials),
        ("Ruled out", _ruled_out),
        ("Looks ruled out, is not", _looks_ruled_out),
        ("Hypotheses over time", _hypotheses),
        ("Assumptions", _assumptions),
        ("What is left", _left),
    ):
        yield ""
        yield f"## {title}"
        yield ""
        lines = list(section(case, verdict))
        yield from (" ".join(line.split()) for line in lines or ["Nothing."])  # one line a fact, whatever it quotes


def _question(case: Case, verdict: Verdict) -> Iterator[str]:
    failure = verdict.failure
    if failure is None:
        yield f"- {' '.join(verdict.why.split()) or 'The baseline has not failed yet.'}"
        return
    yield f"What in the deployment causes this failure ({failure.class_} in {failure.exposure.stage})?"
    yield ""
    first = words.target_trial(verdict)
    line = next((e for e in failure.evidence if e.line), None)
    yield f"- {words.teller(line) or 'The log names no error; seen from outside'}: `{_code(words.failure(failure))}`"
    if line is not None and first is not None:
        yield f"- Found in: {words.address(first, line)}"
    if failure.client:
        yield f"- Client: {failure.client}"
    yield from (f"- Seen before it was stopped: {seen}" for seen in words.observations(first))
    yield from (f"- Watched: {seen}" for seen in words.watched(verdict))
    if failure.asynchronous:
        yield "- Reported late: the stack below it is where it was noticed, not where it was born."


def _setting(case: Case, verdict: Verdict) -> Iterator[str]:
    yield f"- Engine: {case.engine}"
    yield f"- Command: `{_code(' '.join(case.command))}`"
    for name, value in case.env.items():
        yield f"- Environment: `{_code(f'{name}={value}')}`"
    for one in verdict.installations:
        yield f"- Installed ({one.python}): {words.installed(one)} ({one.report})"
    for factor in case.factors:
        proxy = " (proxy)" if factor.proxy else ""
        yield f"- Factor {factor.name}{proxy}: {_levels(factor)}; baseline {factor.baseline}"


def _levels(factor: Factor) -> str:
    row = factor.ordered and len(factor.levels) > words.LONG
    return words.levels(factor) if row else ", ".join(factor.levels)


def _answer(case: Case, verdict: Verdict) -> Iterator[str]:
    yield f"**{verdict.status}** ({words.percent(verdict.probability)})" + (f": {verdict.why}" if verdict.why else "")
    yield ""
    for number, cause in enumerate(verdict.causes, 1):
        label = "Cause" if len(verdict.causes) == 1 else f"Cause {number}"
        sure = "" if verdict.status is VerdictStatus.ISOLATED else "Likeliest "
        yield f"- {(sure + label).capitalize()}: {words.cause(case, verdict, cause)}"
    if verdict.status is VerdictStatus.ELSEWHERE:
        yield f"- {verdict.elsewhere.claim.capitalize()}."
    elif verdict.elsewhere.told and verdict.status is not VerdictStatus.ISOLATED:
        yield f"- The evidence speaks for {verdict.elsewhere.told}."
    if not verdict.causes:
        for hypothesis in verdict.hypotheses[:1]:
            yield f"- Likeliest: {hypothesis.claim} ({words.percent(hypothesis.probability)})"
    found = verdict.confirmed_by if verdict.causes else Confirmation()
    for name, ids in (
        ("Sufficient (the cause alone, everything else moved, fails)", found.sufficient),
        ("Necessary (from there, each factor of it moved, clean)", found.necessary),
        ("Complete (only the cause neutralised, clean)", found.complete),
        ("Baseline again", () if found.baseline_again is None else (found.baseline_again,)),
    ):
        if ids:
            yield f"- {name}: {words.trials(ids)}"
    if verdict.causes and verdict.manifest_rate < 0.95:
        yield f"- It shows in about {words.percent(verdict.manifest_rate)} of the runs in which its cause is present."
    for limit in verdict.limits:
        yield f"- It works up to: {words.limit(case, limit)}"
    if verdict.shows:
        yield f"- When it shows: {verdict.shows}"
    for workaround in verdict.workarounds:
        way_out = _code(words.workaround(case, workaround.set))
        yield f"- Workaround: `{way_out}` ({words.clean_runs(workaround, verdict)})"
    if verdict.minimal is not None:
        yield from _smallest(verdict.minimal)


def _smallest(found: Minimal) -> Iterator[str]:
    """The smallest command, and how far it was proven."""
    proven = "each flag of it is needed" if found.complete else "not every flag of it was taken off by itself"
    where = "" if found.trial is None else f", trial {found.trial}"
    yield f"- Smallest command that fails: `{_code(' '.join(found.command))}` ({proven}{where})"
    if found.dropped:
        yield f"- Not needed: {' '.join(found.dropped)}"


def _trials(case: Case, verdict: Verdict) -> Iterator[str]:
    if not verdict.trials:
        return
    yield "| trial | changed against the baseline | outcome | stage | minutes | why it was made | log |"
    yield "|---|---|---|---|---|---|---|"
    for trial in verdict.trials:
        cells = (
            str(trial.id),
            words.ran(trial, case.baseline),
            words.outcome(trial.outcome),
            _stage(trial),
            f"{trial.minutes:.2f}",
            trial.purpose,
            trial.log,
        )
        yield "| " + " | ".join(_cell(c) for c in cells) + " |"
    overruled = [(t.id, t.outcome.reason) for t in verdict.trials if t.outcome and t.outcome.by_person]
    if overruled:
        yield ""
        yield from (f"- Trial {number}: {reason}" for number, reason in overruled)


def _stage(trial: Trial) -> str:
    if trial.outcome is None:
        return ""
    failure = trial.outcome.failure
    return (failure.exposure.stage if failure else trial.outcome.reached).value


def _ruled_out(case: Case, verdict: Verdict) -> Iterator[str]:
    for out in verdict.ruled_out:
        yield f"- {out.factor}: {words.trials(out.because)}"


def _looks_ruled_out(case: Case, verdict: Verdict) -> Iterator[str]:
    yield from (f"- Asked for, not in effect: {told}" for told in words.replaced(case, verdict.trials))
    for masked in verdict.masked:
        changed = words.changes(masked.configuration, case.baseline)
        yield f"- Masked: {changed} failed otherwise (`{_code(masked.failure)}`, trial {masked.trial})"
    for open_ in verdict.not_ruled_out:
        untried = f"untried: {', '.join(open_.untried)}" if open_.untried else "may still take part"
        yield f"- {open_.factor}: tried {', '.join(open_.tried)}; {untried}"
    if verdict.never_varied:
        yield f"- Never varied: {', '.join(verdict.never_varied)}"


def _hypotheses(case: Case, verdict: Verdict) -> Iterator[str]:
    for pivot in verdict.pivots:
        yield f"- After trial {pivot.after_trial}: from “{pivot.from_}” to “{pivot.to}” ({pivot.why})"
    for hypothesis in verdict.hypotheses:
        if hypothesis.probability < WORTH_A_LINE:
            continue
        because = f" ({words.trials(hypothesis.because)})" if hypothesis.because else ""
        yield f"- {words.percent(hypothesis.probability)} {hypothesis.status}: {hypothesis.claim}{because}"


def _assumptions(case: Case, verdict: Verdict) -> Iterator[str]:
    for assumption in verdict.assumptions:
        yield f"- {assumption.status}: {assumption.text} (by the {assumption.source}; test: {assumption.test})"


def _left(case: Case, verdict: Verdict) -> Iterator[str]:
    for step in verdict.next:
        yield f"- {words.step(case, step.change)}: {step.why} (about {words.minutes(step.minutes)})"


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
