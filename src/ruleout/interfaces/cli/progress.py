"""What a person sees while trials run: on a terminal four lines that change, elsewhere a line for each trial."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from ruleout.engines import engine_named
from ruleout.interfaces.cli.colours import COLOURS
from ruleout.interfaces.cli.notes import note_lines
from ruleout.interfaces.cli.signals import hear_no_more
from ruleout.interfaces.cli.verdict import EXPLAINED, explanation, from_here, indented
from ruleout.investigation.folder import Folder
from ruleout.investigation.givens import Choice
from ruleout.investigation.listener import Plan
from ruleout.investigation.loop import DEFAULT_TRIALS
from ruleout.investigation.noted import Noted
from ruleout.investigation.run import LOG, stage_patterns
from ruleout.model import Budget, Case, Notes, OutcomeKind, Trial, Unused
from ruleout.model.audit import Audit, Severity
from ruleout.reading import StageFollower
from ruleout.reasoning import Assessment, top_claims
from ruleout.report import words
from ruleout.report.safe import Safe

BITS_PER_TRIAL = 0.7
CONFIRMING = 4


@dataclass
class _Running:
    """A trial that is under way."""

    changed: str
    follower: StageFollower
    doing: str = "starting"
    answered: int = 0
    began: float = field(default_factory=time.monotonic)

    def hear(self, event: Mapping[str, Any]) -> None:
        """The agent reports."""
        kind = event["kind"]
        if kind == "ready":
            self.doing = f"ready after {float(event.get('seconds') or 0):.0f} s, probing"
        elif kind == "probe":
            self.answered += 1
            self.doing = f"probing ({self.answered} answered)"
        elif kind in ("exit", "gathered"):
            self.doing = "ended, gathering evidence" if kind == "exit" else "gathering evidence"
        elif kind == "waiting":
            self.doing = f"waiting: {event.get('detail')}"
        elif kind == "stopped":
            self.doing = "stopped"

    @property
    def shown(self) -> str:
        """What it changes and where it is."""
        stage = self.follower.poll()
        since = _clock(self.began)
        return f"{self.changed}   {f'{stage} ▸ ' if stage else ''}{self.doing} · {since}"


def _clock(began: float) -> str:
    """The time since then in whole seconds: it begins at 0:00."""
    return words.minutes(int(time.monotonic() - began) / 60)


class Progress:
    """A listener that shows progress on stderr. Use as a context manager."""

    def __init__(self, case: Case, folder: Folder, budget: Budget, console: Console, *, explain: bool = False) -> None:
        self.case, self.folder, self.console, self.explain = case, folder, console, explain
        self.safe = Safe((" ".join(case.command), *(f"{name}={value}" for name, value in case.env.items())))
        self.most = budget.trials or DEFAULT_TRIALS
        self.budget_minutes = budget.minutes
        self.begun = time.monotonic()
        self.number = 0
        self.running: dict[int, _Running] = {}
        self.assessment: Assessment | None = None
        self.done: list[Trial] = []
        self.live = Live(get_renderable=self._render, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Progress:
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.console.is_terminal:
            self.live.stop()

    def started(self, number: int, plan: Plan, assessment: Assessment | None) -> None:
        """A trial is being launched."""
        if self.explain:
            changed = words.changes(plan.configuration, self.case.baseline)
            for text in (f"  #{number:<4}{changed}", *explanation(plan.purpose, plan.why)):
                self._tell(text, "dim")
        self.number, self.assessment = number, assessment
        patterns = stage_patterns(self.case, engine_named(self.case.engine))
        follower = StageFollower(self.folder.trial(number) / LOG, patterns)
        self.running[number] = _Running(words.changes(plan.configuration, self.case.baseline), follower)

    def event(self, number: int, event: Mapping[str, Any]) -> None:
        """The agent reports."""
        if (running := self.running.get(number)) is not None:
            running.hear(event)
        if event["kind"] == "waiting" and not self.console.is_terminal:
            self._tell(f"  #{number:<4}waiting: {event.get('detail')}")

    def finished(self, trial: Trial) -> None:
        """A trial was judged."""
        self.done.append(trial)
        self.running.pop(trial.id, None)
        self.console.print(self._trial_line(trial), soft_wrap=not self.console.is_terminal)

    def audited(self, found: Audit) -> None:
        """The model's folder and the command were looked at: what may fail is told, and tried all the same."""
        for finding in found.findings:
            if finding.severity is not Severity.NOTE:
                text = f"  audit    {finding.severity} {finding.id} ({finding.where}): {finding.what}"
                self._tell(text, "dim")

    def chosen(self, case: Case, choices: Sequence[Choice]) -> None:
        """The factors of a command were chosen."""
        self.case = case
        heading = "varied, the most suspected first" if choices else "nothing to vary: no setting is suspected"
        self.console.print(f"  {heading} ({from_here(self.folder.case)}):", style="dim", markup=False)
        for choice in choices:
            self._tell(f"    {words.factor(choice.factor)}   {choice.why}")

    def told(self, notes: Notes, taken: Sequence[Noted], left: Sequence[Unused]) -> None:
        """Notes were read."""
        for line in note_lines(self.case, taken, left):
            self._tell(f"  {line}", "dim")

    def _tell(self, text: str, style: str = "") -> None:
        """A line of the course: on a terminal in rows that are set in, elsewhere as it is."""
        for row in indented(text, self.console.width, EXPLAINED) if self.console.is_terminal else [text]:
            self.console.print(Text(row, style), soft_wrap=True)

    def interrupted(self) -> None:
        """A Ctrl-C ended the trial under way."""
        hear_no_more()

    def _trial_line(self, trial: Trial) -> Text:
        outcome = words.outcome(trial.outcome)
        line = Text.assemble(
            f"  #{trial.id:<4}",
            (f"{outcome:<11}", COLOURS[outcome]),
            f"{words.took(trial):>7}  ",
            words.ran(trial, self.case.baseline),
        )
        judged = trial.outcome
        if judged is not None and judged.kind in (OutcomeKind.OTHER, OutcomeKind.UNRESOLVED):
            line.append(f"  ({self.safe(judged.failure.message if judged.failure else judged.reason)})", "dim")
        line.truncate(self.console.width if self.console.is_terminal else 200, overflow="ellipsis")
        return line

    # -- the live display --------------------------------------------------------------------------------------

    def _render(self) -> RenderableType:
        spent = _clock(self.begun)
        title = f"{self.case.name} · trial {self.number} of at most {self.most} · {spent}{self._left()}"
        lines = [Text(title, "bold")]
        now = [running.shown for running in list(self.running.values())] or ["choosing the next trial"]
        lines += [Text(f"  {'' if index else 'now':<9}{text}") for index, text in enumerate(now)]
        if self.assessment is not None:
            for label, (claim, p) in zip(("leading", "", ""), top_claims(self.assessment), strict=False):
                lines.append(Text(f"  {label:<9}{words.percent(p):>8}  {claim}"))
        for line in lines:
            line.truncate(self.console.width, overflow="ellipsis")
        return Group(*lines)

    def _left(self) -> str:
        """A guess at the time that is left: what is not known yet, at what a trial tells and takes."""
        left = ""
        if self.budget_minutes is not None:
            spent = sum(t.minutes for t in self.done)
            left = f" · budget {words.minutes(max(0.0, self.budget_minutes - spent))}"
        if self.assessment is None or not self.done:
            return left
        p = self.assessment.beliefs.of_group
        bits = float(-(p * np.log2(np.maximum(p, 1e-300))).sum())
        trials = min(bits / BITS_PER_TRIAL + CONFIRMING, self.most - len(self.done))
        mean = sum(t.minutes for t in self.done) / len(self.done)
        return f"{left}, about {words.minutes(trials * mean)} left"
