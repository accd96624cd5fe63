"""What an investigation knows, rebuilt from its events: which trials were planned, how they ended, what led when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ruleout import __version__
from ruleout.model import (
    Configuration,
    Failure,
    Installation,
    Outcome,
    OutcomeKind,
    Pivot,
    Suspicion,
    Trial,
    UsageError,
    Verdict,
)
from ruleout.model.codec import from_json, to_json
from ruleout.model.course import Belief
from ruleout.store import DAMAGED, Store


def is_hearsay(trial: Trial) -> bool:
    """Whether a trial is known from notes only."""
    return trial.outcome is not None and trial.outcome.hearsay


def _why(problem: Exception) -> str:
    if isinstance(problem, KeyError):
        return f"{problem} is missing"
    return " ".join(str(problem).split())[:120]


PIVOT_FROM = 0.3
"""A hypothesis that led with less than this was no story yet, so losing the lead is no pivot."""


@dataclass
class _Planned:
    configuration: Configuration
    purpose: str
    token: str
    without: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    instruments: Configuration = field(default_factory=Configuration)


@dataclass
class Journal:
    """The state of an investigation and the only way to add to it: memory and store change together."""

    store: Store
    cwd: str | None = None
    verdict: Verdict | None = None
    suspicion: Suspicion | None = None
    bare: bool = False
    """It was begun with a command alone: the factors are chosen once the baseline has failed."""
    chosen: bool = False
    """They were chosen."""
    imported: bool = False
    """It came from an archive: its commands hold placeholders, and nobody here has read them."""
    installations: tuple[Installation, ...] = ()
    open: dict[int, _Planned] = field(default_factory=dict)
    _trials: dict[int, Trial] = field(default_factory=dict)
    _leaders: list[tuple[int, str, float]] = field(default_factory=list)
    _beliefs: list[Belief] = field(default_factory=list)
    times: int = 1
    """By what the requests of a probe are multiplied, so that a rare failure shows within one launch."""
    _since: int = 0
    _last: int = 0
    _tokens: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, store: Store) -> Journal:
        """The state after the events so far."""
        journal = cls(store)
        for event in store.events():
            try:
                journal._apply(event.kind, event.trial, event.body)
            except (ValueError, KeyError, TypeError) as problem:
                raise UsageError(
                    f"{store.path}: event {event.id} ({event.kind}) is not understood: {_why(problem)}",
                    f"If a ruleout newer than {__version__} wrote it, use that. {DAMAGED}",
                ) from None
        return journal

    @property
    def target(self) -> Failure | None:
        """The failure to explain: that of the first trial that showed it, so no crash can part the two."""
        shown = (t.outcome for t in self.evidence if t.outcome and t.outcome.kind is OutcomeKind.REPRODUCED)
        return next((outcome.failure for outcome in shown if outcome.failure), None)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The judged trials, in the order of their numbers."""
        return tuple(self._trials[n] for n in sorted(self._trials))

    @property
    def evidence(self) -> tuple[Trial, ...]:
        """The judged trials that speak about factors: of the command as it is, and with as many requests as now.

        What was only told of a configuration counts until it was seen here."""
        told = [t for t in self.trials if not (t.without or t.instruments) and t.id > self._since]
        seen = {t.configuration for t in told if not is_hearsay(t)}
        return tuple(t for t in told if not (is_hearsay(t) and t.configuration in seen))

    @property
    def made(self) -> int:
        """How many trials were made here, and judged."""
        return sum(not is_hearsay(t) for t in self._trials.values())

    @property
    def taken(self) -> frozenset[str]:
        """The marks of the trials that were judged: of a log that was given, its digest."""
        return frozenset(token for trial, token in self._tokens.items() if trial in self._trials)

    @property
    def begun_before(self) -> bool:
        """Whether anything was written down at all."""
        return self.cwd is not None

    @property
    def next_number(self) -> int:
        """The number of the next trial. Numbers are not used twice, not even after an abandoned trial."""
        return self._last + 1

    @property
    def leader(self) -> tuple[str, float] | None:
        """The last leading hypothesis, in words, with its probability."""
        return self._leaders[-1][1:] if self._leaders else None

    @property
    def leader_after(self) -> int | None:
        """The trial after which the leader was last noted."""
        return self._leaders[-1][0] if self._leaders else None

    @property
    def beliefs(self) -> tuple[Belief, ...]:
        """What was believed after each trial; of investigations before that was kept, the leading hypothesis alone."""
        return tuple(self._beliefs)

    @property
    def pivots(self) -> tuple[Pivot, ...]:
        """Where the leading hypothesis changed."""
        found = []
        for (_, before, p), (trial, after, _) in zip(self._leaders, self._leaders[1:], strict=False):
            if before != after and p >= PIVOT_FROM:
                outcome = self._trials[trial].outcome if trial in self._trials else None
                why = f"trial {trial} was {outcome.kind}" if outcome else ""
                found.append(Pivot(trial, before, after, why))
        return tuple(found)

    def add(self, kind: str, trial: int | None = None, **body: Any) -> None:
        """Add an event, first to the disk."""
        self.store.append(kind, trial, body)
        self._apply(kind, trial, body)

    def begun(self, case_text: str, cwd: str, bare: bool = False) -> None:
        """The investigation was started or gone on with, with this case, in this working folder."""
        self.add("case", text=case_text, cwd=cwd, **({"bare": True} if bare else {}))

    def chose(self, case_text: str, why: Mapping[str, str]) -> None:
        """The factors were chosen; earlier trials had all of them at their baseline."""
        self.add("chosen", text=case_text, why=dict(why))

    def in_effect(self, number: int, effective: Mapping[str, str]) -> None:
        """What an engine replaced in an earlier trial, of factors that were not known then."""
        self.add("effective", number, effective=dict(effective))

    def suspected(self, found: Suspicion) -> None:
        """What the baseline's log makes likely: once, so that the plan stays a function of the journal."""
        self.add("suspicion", suspicion=to_json(found))

    def planned(
        self,
        number: int,
        configuration: Configuration,
        purpose: str,
        token: str,
        without: tuple[str, ...] = (),
        why: tuple[str, ...] = (),
        instruments: Mapping[str, str] | None = None,
    ) -> None:
        """A trial is about to be launched: flags taken off its command, the reasons for it, what is put on it."""
        more: dict[str, Any] = {name: list(value) for name, value in (("without", without), ("why", why)) if value}
        more |= {"instruments": dict(instruments)} if instruments else {}
        self.add("planned", number, configuration=dict(configuration), purpose=purpose, token=token, **more)

    def finished(self, number: int, outcome: Outcome, minutes: float, log: str) -> Trial:
        """A trial was judged."""
        self.add("finished", number, outcome=to_json(outcome), minutes=minutes, log=log)
        return self._trials[number]

    def raised(self, times: int) -> None:
        """The requests of every launch are multiplied by that from now on."""
        self.add("raised", self._last, times=times)

    def installed(self, one: Installation) -> None:
        """An environment that trials ran in was looked at."""
        self.add("installed", installation=to_json(one))

    def marked(self, number: int, outcome: Outcome) -> Trial:
        """A person overruled how a trial was judged."""
        self.add("marked", number, outcome=to_json(outcome))
        return self._trials[number]

    def _apply(self, kind: str, trial: int | None, body: Mapping[str, Any]) -> None:
        """What an event changes. Kinds that are not known change nothing."""
        if kind == "case":
            self.cwd = self.cwd or body.get("cwd")
            self.bare = self.bare or bool(body.get("bare"))
        elif kind == "imported":
            self.imported = True
        elif kind == "chosen":
            self.chosen = True
        elif kind == "verdict":
            self.verdict = from_json(Verdict, body["verdict"])
        elif kind == "suspicion":
            self.suspicion = from_json(Suspicion, body["suspicion"])
        elif kind == "installed":
            self.installations = (*self.installations, from_json(Installation, body["installation"]))
        elif kind == "raised":
            self.times, self._since = body["times"], trial or 0
        elif kind == "leading" and trial is not None:
            leader = (body["claim"], body["probability"])
            self._leaders.append((trial, *leader))
            others = [(claim, p) for claim, p in body.get("others", ()) if claim != leader[0]]
            self._beliefs.append(Belief(trial, (leader, *others)))
        elif kind == "planned" and trial is not None:
            self.open[trial] = _Planned(
                Configuration(body["configuration"]),
                body["purpose"],
                body["token"],
                tuple(body.get("without", ())),
                tuple(body.get("why", ())),
                Configuration(body.get("instruments", {})),
            )
            self._last = max(self._last, trial)
            self._tokens[trial] = body["token"]
        elif kind == "abandoned" and trial is not None:
            self.open.pop(trial, None)
        elif kind == "finished" and trial is not None:
            plan = self.open.pop(trial)
            outcome = from_json(Outcome, body["outcome"])
            minutes = round(body["minutes"], 4)
            self._trials[trial] = Trial(
                trial,
                plan.configuration,
                plan.purpose,
                outcome,
                minutes,
                body["log"],
                plan.without,
                plan.why,
                plan.instruments,
            )
        elif kind == "effective" and trial is not None and (judged := self._trials[trial].outcome) is not None:
            self._trials[trial] = replace(self._trials[trial], outcome=replace(judged, effective=body["effective"]))
        elif kind == "marked" and trial is not None:
            self._trials[trial] = replace(self._trials[trial], outcome=from_json(Outcome, body["outcome"]))
