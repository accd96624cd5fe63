"""Notes of any kind become trials: which command they are about, what each changed of it, and what became of it.

Nothing is guessed: a place that names no setting or no outcome is listed as not used, with the reason.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ruleout.model import Configuration, Notes, OutcomeKind, ToldTrial, Unused
from ruleout.reading.notes.claims import PREVIOUS, RUN, Claim
from ruleout.reading.notes.commands import difference, settings
from ruleout.reading.notes.found import Change
from ruleout.reading.notes.layout import Block, Code, Heading, Item, Paragraph, blocks
from ruleout.reading.notes.outcomes import Problem, judge, kinds, shortened
from ruleout.reading.notes.own import own_findings
from ruleout.reading.notes.sections import told_by
from ruleout.reading.notes.spoken import OFF, ON
from ruleout.reading.notes.tables import against
from ruleout.reading.notes.text import MOST, decoded, plain
from ruleout.reading.notes.told import Told

_INTRO = 1500
"""Characters before the first trial in which a complaint is looked for."""
_LIKE = re.compile(rf"\W*same (?:as|like)\s+(?:the\s+)?(?:{RUN}\s*)?#?(\d{{1,3}}|[A-Z])\b(?![.\d])", re.IGNORECASE)
"""An outcome that is told by that of another trial."""


def read_notes(data: bytes, source: str = "") -> Notes:
    """What a text tells of trials. Never raises; takes time linear in the text, of which the first part is read."""
    text = decoded(data)
    if (own := own_findings(text.splitlines(), source)) is not None:
        return own
    found = blocks([plain(line) for line in text.splitlines()[:MOST]])
    return _Reader(source, found, told_by(found)).notes()


class _Reader:
    def __init__(self, source: str, found: Sequence[Block], told: Told) -> None:
        self.source, self.blocks, self.told = source, found, told
        self.unused = list(told.unused)
        self.results: dict[str, str] = {}
        self.line, self.command = self._command()
        self.base = settings(self.command) if self.command else {}

    def notes(self) -> Notes:
        claims = [(claim, self._changes(claim)) for claim in self.told.claims]
        changes = _no_complaint(self._resolved(claims), self.line)
        problem = self._problem(changes)
        told = [(claim, trial) for claim, change in changes for trial in self._trials(claim, change, problem)]
        trials = list(_told_once(told))
        self.unused.sort(key=lambda one: one.line)
        first = next((t for t in trials if not t.changes and t.failure), None)
        problem_text = first.failure if first else next(iter(self.told.complaints), "")
        return Notes(
            self.source,
            shlex.join(self.command),
            self.line,
            shortened(problem_text),
            tuple(sorted(trials, key=lambda t: t.line)),
            tuple(self.unused),
        )

    # -- what was changed --------------------------------------------------------------------------------------

    def _command(self) -> tuple[int, tuple[str, ...]]:
        """The command as deployed: the first that is written down whole."""
        whole = ((n, argv) for n, argv in self.told.commands if "..." not in argv and "…" not in " ".join(argv))
        return next(whole, (0, ()))

    def _changes(self, claim: Claim) -> dict[str, str] | None:
        """What a claim changed against the command as deployed; None where that cannot be said."""
        changed: dict[str, str] = {}
        for command in claim.found.commands[:1]:
            changed |= difference(self.base, settings(command.argv)) if self.base else {}
        for change in claim.found.changes:
            changed[self._flag(change)] = change.level
        return changed

    def _flag(self, change: Change) -> str:
        """The name of what was changed: the command's own flag where words name it with a value (`tp 1`)."""
        flags = (f"--{change.name.replace('_', '-')}", f"-{change.name}")
        spoken = not change.sure and change.level not in (ON, OFF)
        return next((flag for flag in flags if spoken and flag in self.base), change.name)

    def _resolved(self, claims: Sequence[tuple[Claim, dict[str, str] | None]]) -> list[tuple[Claim, dict[str, str]]]:
        """Claims with all of their changes: of a row against the baseline's, of one that builds on another as well."""
        base_rows = {id(claim): row for rows in self.told.tables if (row := _baseline_row(rows)) for claim in rows}
        known: dict[str, dict[str, str]] = {}
        previous: dict[str, str] = {}
        resolved = []
        for claim, changed in claims:
            if changed is None:
                continue
            if claim.told and (row := base_rows.get(id(claim))) is not None:
                changed = {**against(row.told, claim.told), **changed}
            if claim.base and claim.base != PREVIOUS and _key(claim.base) not in known:
                self._pass(Unused(claim.line, shortened(claim.text), "builds on a trial that is not told"))
                continue
            base = previous if claim.base == PREVIOUS else known.get(_key(claim.base), {})
            if claim.base and base is not changed:
                changed = {**base, **changed}
            changed = {
                name: level
                for name, level in changed.items()
                if self.base.get(name) != level or not name.startswith("-")
            }
            if claim.label:
                known.setdefault(_key(claim.label), changed)
                self.results.setdefault(_key(claim.label), claim.result)
            previous = changed
            resolved.append((claim, changed))
        return resolved

    # -- what became of it -------------------------------------------------------------------------------------

    def _problem(self, claims: Sequence[tuple[Claim, Mapping[str, str]]]) -> Problem:
        """What the notes are about: the baseline's outcome, else what is complained of, else how they begin, else what
        most of what failed has in common."""
        baseline = [claim.result for claim, changed in claims if not changed]
        first = min((claim.line for claim, _ in claims), default=0)
        told = [*baseline, *self.told.complaints, *self._intro(first)]
        problem = Problem.of(told)
        if problem.kinds or baseline:
            return problem
        failed = [claim.result for claim, _ in claims if _failed(claim)]
        (kind, often), *_ = Counter(kind for text in failed for kind in kinds(text)).most_common(1) or [("", 0)]
        return Problem.of([text for text in failed if kind in kinds(text)]) if often > 0.5 * len(failed) else problem

    def _intro(self, first: int) -> Iterator[str]:
        size = 0
        for block in self.blocks:
            if isinstance(block, Heading):
                yield block.text
            elif isinstance(block, (Paragraph, Code)):
                if (block.lines and block.lines[0][0] >= first) or size > _INTRO:
                    return
                text = " ".join(text for _, text in block.lines)
                size += len(text)
                yield text
            elif isinstance(block, Item) and block.line >= first:
                return

    def _trials(self, claim: Claim, changed: Mapping[str, str], problem: Problem) -> Iterator[ToldTrial]:
        judged = judge(self._result(claim.result), problem)
        text = shortened(claim.text)
        if judged is None:
            self._pass(Unused(claim.line, text, "no outcome is told"))
            return
        if not judged.runs:
            self._pass(Unused(claim.line, text, "not tried"))
            return
        if claim.found.begin < 0 and not claim.told and not claim.base:
            self._pass(Unused(claim.line, text, "does not say which setting was changed"))
            return
        for kind, times in judged.runs:
            failure = judged.failure if kind is not OutcomeKind.CLEAN else ""
            yield ToldTrial(
                claim.line, text, Configuration(changed), kind, times, failure, claim.label, minutes=claim.minutes
            )

    def _result(self, text: str) -> str:
        """The words of an outcome; where they are `same as run 2`, that one's, or none if it is not known."""
        like = _LIKE.match(text)
        return text if like is None else self.results.get(_key(like[1]), "")

    def _pass(self, unused: Unused) -> None:
        if unused not in self.unused:
            self.unused.append(unused)


def _key(label: str) -> str:
    """What a trial is called by others: `run 2`, `#2` and `2` are one."""
    return re.sub(r"^\D+(?=\d)|^\w+ +", "", label.lower())


def _no_complaint(claims: Sequence[tuple[Claim, dict[str, str]]], command: int) -> list[tuple[Claim, dict[str, str]]]:
    """Claims without those that say on what the problem was met (`on vllm 0.15.0 it crashes`): what comes first, or
    before the command, and names a failure and versions only."""
    kept: list[tuple[Claim, dict[str, str]]] = []
    for claim, changed in claims:
        named = claim.found.changes and not any(change.sure for change in claim.found.changes) and not claim.told
        early = claim.line < command or (claim.prose and not kept and len(claims) > 1)
        if not (named and early and _failed(claim)):
            kept.append((claim, changed))
    return kept


def _failed(claim: Claim) -> bool:
    judged = judge(claim.result)
    return judged is not None and bool(judged.runs) and judged.runs[0][0] is not OutcomeKind.CLEAN


def _baseline_row(rows: Sequence[Claim]) -> Claim | None:
    """The row of the deployment as it is: the one called so, else the first that failed, else the first."""
    named = (
        row
        for row in rows
        if re.search(r"\b(?:base\w*|default|prod\w*|as deployed|original|control|current)\b", row.text, re.I)
    )
    failed = (
        row
        for row in rows
        if (judged := judge(row.result)) and judged.runs and judged.runs[0][0] is OutcomeKind.REPRODUCED
    )
    return next(named, None) or next(failed, None) or next(iter(rows), None)


def _told_once(told: Sequence[tuple[Claim, ToldTrial]]) -> Iterator[ToldTrial]:
    """Trials, less those of sentences that repeat what a list or a table tells."""
    listed = {(trial.changes, trial.outcome) for claim, trial in told if not claim.prose}
    known = any(not changes for changes, _ in listed)
    for claim, trial in told:
        repeats = (trial.changes, trial.outcome) in listed or (not trial.changes and known)
        if not (claim.prose and repeats):
            yield trial
