"""An independent reading of what "confirmed" means: from the verdict and the trials alone, nothing of the reasoning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ruleout.model import Case, Cause, OutcomeKind, Trial, Verdict


def complaints(case: Case, verdict: Verdict) -> list[str]:
    """What an isolated verdict lacks, in words; empty when its trials really confirm it."""
    return list(_Checker(case, verdict).all())


class _Checker:
    def __init__(self, case: Case, verdict: Verdict) -> None:
        self.case, self.verdict, self.found = case, verdict, verdict.confirmed_by
        self.base = case.baseline
        self.trials = {trial.id: trial for trial in verdict.trials}
        self.in_causes = {carrier.factor for cause in verdict.causes for carrier in cause}

    def all(self) -> Iterator[str]:
        """Every complaint."""
        if not self.verdict.causes:
            yield "there is no cause"
            return
        if self.verdict.probability < 0.99:
            yield f"it is only {self.verdict.probability} sure"
        yield from self._outcomes()
        for cause in self.verdict.causes:
            yield from self._sufficient(cause)
            yield from self._necessary(cause)
        yield from self._complete()
        yield from self._baseline_again()
        yield from self._levels()

    def _outcomes(self) -> Iterator[str]:
        """The named trials ended as they must have."""
        for name, ids, kind in (
            ("sufficient", self.found.sufficient, OutcomeKind.REPRODUCED),
            ("necessary", self.found.necessary, OutcomeKind.CLEAN),
            ("complete", self.found.complete, OutcomeKind.CLEAN),
        ):
            if not ids:
                yield f"no trial is named as {name}"
            for number in ids:
                if not self._was(number, kind):
                    yield f"trial {number}, named as {name}, was not {kind}"
                if kind is OutcomeKind.CLEAN:
                    yield from self._luck(number)

    def _luck(self, number: int) -> Iterator[str]:
        """With the causes like this it never failed, and was clean often enough for the rate at which it shows."""
        same = [t for t in self.trials.values() if not self._differ(t.id, number) & self.in_causes]
        if any(self._was(t.id, OutcomeKind.REPRODUCED) for t in same):
            yield f"with the causes as in trial {number} it has also failed"
        clean = sum(self._was(t.id, OutcomeKind.CLEAN) for t in same)
        if self.verdict.manifest_rate < 0.95 and (1 - self.verdict.manifest_rate) ** clean > 0.015:
            yield f"{clean} clean runs with the causes as in trial {number} may be luck"

    def _sufficient(self, cause: Cause) -> Iterator[str]:
        """The cause at its baseline, all others neutralised, everything else moved between these trials."""
        moved: set[str] = set()
        for number in self._sufficient_ids(cause):
            moved |= self._changed(self.trials[number])
        if not self._sufficient_ids(cause):
            yield f"no trial shows {self._name(cause)} alone"
        for factor in self.case.factors:
            aside = factor.proxy or factor.name in self.in_causes or factor.name in moved
            if not aside and self._can_run(factor.name):
                yield f"{factor.name} was never moved while {self._name(cause)} alone failed"

    def _sufficient_ids(self, cause: Cause) -> list[int]:
        others = [other for other in self.verdict.causes if other != cause]
        return [
            number
            for number in self.found.sufficient
            if all(self._level(number, c.factor) == self.base[c.factor] for c in cause)
            and all(self._off(number, other) for other in others)
        ]

    def _necessary(self, cause: Cause) -> Iterator[str]:
        """From a sufficient trial, each factor of the cause moved by itself, clean."""
        for carrier in cause:
            pairs = [
                (i, j)
                for i in self._sufficient_ids(cause)
                for j in self.found.necessary
                if self._differ(i, j) == {carrier.factor} and self._level(j, carrier.factor) not in carrier.levels
            ]
            if not pairs:
                yield f"no trial differs from a sufficient one in {carrier.factor} only"

    def _complete(self) -> Iterator[str]:
        """The baseline with only the causes neutralised."""
        for number in self.found.complete:
            changed = self._changed(self.trials[number])
            if not changed <= self.in_causes:
                yield f"trial {number}, named as complete, changes more than the causes"
            if not all(self._off(number, cause) for cause in self.verdict.causes):
                yield f"trial {number}, named as complete, leaves a cause in place"

    def _baseline_again(self) -> Iterator[str]:
        again = self.found.baseline_again
        if again is None:
            yield "the baseline was not run again"
            return
        if self._changed(self.trials[again]) or not self._was(again, OutcomeKind.REPRODUCED):
            yield f"trial {again} is not the baseline failing again"
        if any(number > again for number in (*self.found.sufficient, *self.found.necessary, *self.found.complete)):
            yield f"trial {again} did not come after the trials that confirm"

    def _levels(self) -> Iterator[str]:
        """Levels are only claimed that a failing trial had."""
        failed = [t for t in self.trials.values() if self._was(t.id, OutcomeKind.REPRODUCED)]
        for cause in self.verdict.causes:
            for carrier in cause:
                if self.base[carrier.factor] not in carrier.levels:
                    yield f"the baseline's level of {carrier.factor} is not among those that carry"
                for level in carrier.levels:
                    if all(t.configuration[carrier.factor] != level for t in failed):
                        yield f"{carrier.factor}={level} is claimed and was never seen to fail"

    def _was(self, number: int, kind: OutcomeKind) -> bool:
        outcome = self.trials[number].outcome
        return outcome is not None and outcome.kind is kind

    def _can_run(self, factor: str) -> bool:
        """Some level but the baseline's was seen to run without another failure."""
        return any(
            t.configuration[factor] != self.base[factor] and t.outcome is not None and t.outcome.informative
            for t in self.trials.values()
        )

    def _level(self, number: int, factor: str) -> str:
        return self.trials[number].configuration[factor]

    def _off(self, number: int, cause: Cause) -> bool:
        return any(self._level(number, c.factor) not in c.levels for c in cause)

    def _changed(self, trial: Trial) -> set[str]:
        return {factor for factor, level in trial.configuration.items() if level != self.base[factor]}

    def _differ(self, i: int, j: int) -> set[str]:
        one: Mapping[str, str] = self.trials[i].configuration
        return {factor for factor, level in one.items() if level != self._level(j, factor)}

    @staticmethod
    def _name(cause: Cause) -> str:
        return " with ".join(carrier.factor for carrier in cause)
