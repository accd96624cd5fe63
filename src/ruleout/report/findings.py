"""FINDINGS.md: the record that good engineers keep by hand, one line a fact, so that a diff shows what was learnt."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ruleout.model import Case, Confirmation, Factor, Minimal, Verdict, VerdictStatus
from ruleout.model.configuration import shown
from ruleout.report import evidence, words
from ruleout.report.markdown import Markdown
from ruleout.report.secretless import without_secrets

WORTH_A_LINE = 0.001
"""Hypotheses less likely than this are left to the JSON document."""
COLUMNS = ("trial", "changed against the baseline", "outcome", "stage", "minutes", "why it was made", "log")


def findings(case: Case, verdict: Verdict) -> str:
    """The record of an investigation as Markdown, without secrets. The same verdict gives the same text."""
    write = Markdown()
    for whole in (shlex.join(case.command), *(f"{name}={value}" for name, value in case.env.items())):
        write.redact(whole)  # which tells what its words are, wherever they stand alone
    # Before a shell's quotes are put around them: those hide what a secret stands in.
    case, verdict = without_secrets((case, verdict), write.redact)
    page = _Page(case, verdict, write)
    return write.whole("\n".join(page.lines()) + "\n")


class _Page:
    """One section is one method. What others said goes through `write`."""

    def __init__(self, case: Case, verdict: Verdict, write: Markdown) -> None:
        self.case, self.verdict, self.write = case, verdict, write

    def lines(self) -> Iterator[str]:
        """The lines of the document."""
        yield f"# {self.write.text(self.case.name)}"
        for title, section in (
            ("Question", self._question),
            ("Setting", self._setting),
            ("Answer", self._answer),
            ("Trials", self._trials),
            ("Ruled out", self._ruled_out),
            ("Looks ruled out, is not", self._looks_ruled_out),
            ("Hypotheses over time", self._hypotheses),
            ("Assumptions", self._assumptions),
            ("What is left", self._left),
        ):
            yield ""
            yield f"## {title}"
            yield ""
            yield from list(section()) or ["Nothing."]

    def _question(self) -> Iterator[str]:
        text, failure = self.write.text, self.verdict.failure
        if failure is None:
            yield f"- {text(self.verdict.why) or 'The baseline has not failed yet.'}"
            return
        yield f"What in the deployment causes this failure ({failure.class_}{failure.exposure.stage.inside})?"
        yield ""
        first = words.target_trial(self.verdict)
        line = next((e for e in failure.evidence if e.line), None)
        said = self.write.code(words.failure(failure))
        yield f"- {words.teller(line) or 'The log names no error; seen from outside'}: {said}"
        if line is not None and first is not None:
            yield f"- Found in: {text(words.address(first, line))}"
        if failure.client:
            yield f"- Client: {text(failure.client)}"
        if failure.asynchronous:
            yield f"- Reported late: {words.LATE}"
        yield from (f"- Seen before it was stopped: {text(seen)}" for seen in words.observations(first))
        yield from (f"- Watched: {text(seen)}" for seen in words.watched(self.verdict))

    def _setting(self) -> Iterator[str]:
        text, code = self.write.text, self.write.code
        yield f"- Engine: {text(self.case.engine)}"
        yield f"- Command: {code(shlex.join(self.case.command))}"
        for name, value in self.case.env.items():
            yield f"- Environment: {code(f'{name}={value}')}"
        for one in self.verdict.installations:
            yield f"- Installed ({text(one.python)}): {text(words.installed(one))} ({text(one.report)})"
        for factor in self.case.factors:
            proxy = " (proxy)" if factor.proxy else ""
            target = f" ({factor.mechanism} {text(factor.target)})" if factor.target else f" ({factor.mechanism})"
            levels = text(_levels(factor))
            yield f"- Factor {text(factor.name)}{target}{proxy}: {levels}; baseline {text(shown(factor.baseline))}"

    def _answer(self) -> Iterator[str]:
        case, verdict, text = self.case, self.verdict, self.write.text
        why = f": {text(verdict.why)}" if verdict.why else ""
        sure = f" ({words.percent(verdict.probability)})" if verdict.probability else ""
        yield f"**{verdict.status}**{sure}{why}"
        yield ""
        for number, cause in enumerate(verdict.causes, 1):
            label = "Cause" if len(verdict.causes) == 1 else f"Cause {number}"
            sure = "" if verdict.status is VerdictStatus.ISOLATED else "Likeliest "
            yield f"- {(sure + label).capitalize()}: {text(words.cause(case, verdict, cause))}"
        if not verdict.causes and verdict.status is not VerdictStatus.ELSEWHERE:
            for hypothesis in verdict.hypotheses[:1]:
                yield f"- Likeliest: {text(hypothesis.claim)} ({words.percent(hypothesis.probability)})"
        if verdict.status is VerdictStatus.ELSEWHERE:
            yield f"- {text(verdict.elsewhere.claim[:1].upper() + verdict.elsewhere.claim[1:])}."
        elif verdict.elsewhere.told and verdict.status is not VerdictStatus.ISOLATED:
            yield f"- The evidence speaks for {text(verdict.elsewhere.told)}."
            if verdict.elsewhere.advice:
                yield f"- What may help: {text(verdict.elsewhere.advice)}."
        yield from self._confirmed_by()
        if verdict.causes and verdict.manifest_rate < 0.95:
            rate = words.percent(verdict.manifest_rate)
            yield f"- It shows in about {rate} of the runs in which its cause is present."
        for told in evidence.chosen(case, verdict):
            yield f"- Chosen by the engine: {text(told)}"
        for limit in verdict.limits:
            yield f"- It works up to: {text(words.limit(case, limit, verdict))}"
        if verdict.shows:
            yield f"- When it shows: {text(verdict.shows)}"
        for workaround in words.ways_out(verdict):
            way_out = self.write.code(words.workaround(case, workaround.set))
            cost = words.cost(workaround, verdict)
            yield f"- Workaround: {way_out} ({text(words.clean_runs(workaround, verdict))}{cost})"
        if verdict.minimal is not None:
            yield from self._smallest(verdict.minimal)

    def _confirmed_by(self) -> Iterator[str]:
        found = self.verdict.confirmed_by if self.verdict.causes else Confirmation()
        sufficient = tuple(evidence.moving(self.case, self.verdict, found.sufficient))
        rest = "everything else" if self.verdict.status is VerdictStatus.ISOLATED else "other settings"
        for name, ids in (
            (f"Sufficient ({rest} changed, the cause alone fails)", sufficient),
            (f"Necessary ({'from there, ' if sufficient else ''}each factor of it changed, clean)", found.necessary),
            ("Complete (only the cause neutralised, clean)", found.complete),
            ("Baseline again", () if found.baseline_again is None else (found.baseline_again,)),
        ):
            if ids:
                yield f"- {name}: {words.trials(ids)}"

    def _smallest(self, found: Minimal) -> Iterator[str]:
        """The smallest command, and how far it was proven."""
        proven = "each flag of it is needed" if found.complete else "not every flag of it was taken off by itself"
        where = "" if found.trial is None else f", trial {found.trial}"
        yield f"- Smallest command that fails: {self.write.code(shlex.join(found.command))} ({proven}{where})"
        if found.dropped:
            yield f"- Not needed: {self.write.text(' '.join(found.dropped))}"

    def _trials(self) -> Iterator[str]:
        if not self.verdict.trials:
            return
        yield f"| {' | '.join(COLUMNS)} |"
        yield f"|{'---|' * len(COLUMNS)}"
        for trial in self.verdict.trials:
            cells = (
                str(trial.id),
                self.write.cell(words.ran(trial, self.case.baseline)),
                words.outcome(trial.outcome),
                words.reached(trial),
                "told" if words.hearsay(trial) else f"{trial.minutes:.2f}",
                self.write.cell(trial.purpose),
                self.write.cell(trial.log),
            )
            yield f"| {' | '.join(cells)} |"
        said = [(t.id, t.outcome.reason) for t in self.verdict.trials if t.outcome and t.outcome.by_person]
        if said:
            yield ""
            yield from (f"- Trial {number}: {self.write.text(reason)}" for number, reason in said)

    def _ruled_out(self) -> Iterator[str]:
        for out in self.verdict.ruled_out:
            yield f"- {self.write.text(out.factor)}: {words.trials(out.because)}"

    def _looks_ruled_out(self) -> Iterator[str]:
        case, verdict, text = self.case, self.verdict, self.write.text
        yield from (f"- Asked for, not in effect: {text(told)}" for told in words.replaced(case, verdict.trials))
        for masked in verdict.masked:
            changed = text(words.changes(masked.configuration, case.baseline))
            said = self.write.code(masked.failure) or "of which nothing is told"
            yield f"- Masked: {changed} failed otherwise ({said}, trial {masked.trial})"
        for open_ in verdict.not_ruled_out:
            left = text(evidence.left_of(verdict, open_))
            yield f"- {text(open_.factor)}: tried {text(', '.join(open_.tried))}; {left}"
        yield from (f"- Levels untried: {text(left)}" for left in evidence.untried(case, verdict))
        for label, names in evidence.constant(case, verdict):
            yield f"- {label.replace('Not varied', 'Never varied')}: {text(', '.join(names))}"

    def _hypotheses(self) -> Iterator[str]:
        text = self.write.text
        for pivot in self.verdict.pivots:
            told = f"from “{text(pivot.from_)}” to “{text(pivot.to)}” ({text(pivot.why)})"
            yield f"- After trial {pivot.after_trial}: {told}"
        listed = [one for one in self.verdict.hypotheses if one.probability >= WORTH_A_LINE]
        for hypothesis in listed:
            because = f"; {words.trials(hypothesis.because)}" if hypothesis.because else ""
            standing = hypothesis.status.replace("_", " ")
            yield f"- {standing}: {text(hypothesis.claim)} ({words.percent(hypothesis.probability)}{because})"
        if rest := words.rest(listed):
            yield f"- open: {words.OTHERS} ({words.percent(rest)})"

    def _assumptions(self) -> Iterator[str]:
        text = self.write.text
        for one in self.verdict.assumptions:
            yield f"- {one.status}: {text(one.text)} (by the {one.source}; test: {text(one.test)})"

    def _left(self) -> Iterator[str]:
        for step in self.verdict.next:
            change, why = words.step(self.case, step.change), self.write.text(step.why)
            yield f"- {self.write.text(change)}: {why} (about {words.minutes(step.minutes)})"


def _levels(factor: Factor) -> str:
    row = factor.ordered and len(factor.levels) > words.LONG
    return words.levels(factor) if row else ", ".join(map(shown, factor.levels))
