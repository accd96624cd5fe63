"""Trials that a person ran by hand: their logs are evidence, as far as each says what ran and how far it came.

The baseline is run once before they are judged, since only that shows what ruleout's own launches fail with. A log
without a failure is clean only if it came as far as the failure to explain; otherwise it tells nothing.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ruleout.investigation.settings import replaced, resolved, same, setting_name
from ruleout.model import (
    ABSENT,
    PRESENT,
    Case,
    ChosenBy,
    Configuration,
    Diagnosis,
    Evidence,
    Exposure,
    Factor,
    Failure,
    Mechanism,
    Outcome,
    OutcomeKind,
    Stage,
    UsageError,
    arguments,
)
from ruleout.reading import similar
from ruleout.reading.diagnose import read_facts

_ORDER = list(Stage)
_SERVING = (Stage.READY, Stage.PREFILL, Stage.DECODE, Stage.CONCURRENCY)


@dataclass(frozen=True)
class Given:
    """A log that was given, with the configuration it ran under; `read` and `named`: who told of which."""

    path: Path
    digest: str
    configuration: Configuration
    read: tuple[str, ...]
    named: tuple[str, ...]
    diagnosis: Diagnosis

    @property
    def told(self) -> str:
        """What it is taken to have run with, and what of that is only assumed."""
        assumed = sorted(set(self.configuration) - set(self.read) - set(self.named))
        rest = f"; as in the baseline, since the log does not tell: {', '.join(assumed)}" if assumed else ""
        levels = {name: self.configuration[name] for name in (*self.named, *self.read)}
        return f"{self.path}: {Configuration(levels) if levels else 'nothing that is varied is told'}{rest}"

    @property
    def purpose(self) -> str:
        """Where it comes from, as the trial's purpose."""
        return f"given: run by hand ({self.path.name})"

    @property
    def minutes(self) -> float:
        """What its stages took, as far as the log tells; 0 when it does not."""
        return sum(span.seconds or 0.0 for span in self.diagnosis.stages) / 60


def given(case: Case, text: str) -> Given:
    """A log named as `LOG` or `LOG:factor=level,factor=level`.

    A factor that is not named is read from the log; what the log does not tell counts as at the baseline.
    Raises UsageError for a log that cannot be read, an unknown factor, or a level that the factor does not have.
    """
    path, levels = _named(case, text)
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        diagnosis = read_facts([path])
    except OSError as problem:
        raise UsageError(f"--trial {path}: {problem.strerror or problem}", "Name a log that can be read.") from None
    read: dict[str, str] = {}
    for factor in case.factors:
        level = None if factor.name in levels else _read(factor, diagnosis)
        if level is not None:
            read[factor.name] = _known(factor, level, path)
    configuration = case.baseline.moved({**read, **levels})
    return Given(path, digest, configuration, tuple(read), tuple(levels), diagnosis)


def judged(case: Case, target: Failure, log: Given, source: str) -> Outcome:
    """What a given log says about the target. `source` is the name under which its lines are evidence."""
    diagnosis, reached = log.diagnosis, log.diagnosis.stage
    failure = _failure(diagnosis, source)
    if failure is None:
        far = _at(reached) >= _at(target.exposure.stage) and Stage.UNKNOWN not in (reached, target.exposure.stage)
        kind = OutcomeKind.CLEAN if far else OutcomeKind.UNRESOLVED
        short = "how far it came is not told" if reached is Stage.UNKNOWN else f"it ends at {reached}"
        reason = "no failure, and it came far enough" if far else f"no failure, but {short}"
    elif similar(failure, target) and _alike(reached, target.exposure.stage):
        kind, reason = OutcomeKind.REPRODUCED, "the same failure"
    else:
        kind, reason = OutcomeKind.OTHER, f"masked: another failure ({failure.class_}{reached.inside})"
    return Outcome(
        kind,
        reached,
        reason,
        failure,
        replaced(case, log.configuration, diagnosis.settings),
        resolved(diagnosis),
    )


def _named(case: Case, text: str) -> tuple[Path, dict[str, str]]:
    """The log and the levels that were named with it."""
    name, mark, after = text.rpartition(":")
    if not mark or "=" not in after or Path(text).exists():
        return Path(text), {}
    levels: dict[str, str] = {}
    for part in after.split(","):
        factor_name, _, level = part.partition("=")
        factor = next((f for f in case.factors if f.name == factor_name.strip()), None)
        if factor is None:
            known = ", ".join(f.name for f in case.factors)
            raise UsageError(f"--trial {text}: no factor {factor_name.strip()!r}", f"The case has {known}.")
        levels[factor.name] = _known(factor, level.strip(), Path(name))
    return Path(name), levels


def _known(factor: Factor, level: str, path: Path) -> str:
    known = next((one for one in factor.levels if one == level), None)
    known = known or next((one for one in factor.levels if same(one, level)), None)
    if known is None:
        raise UsageError(
            f"--trial {path}: it ran with {factor.name}={level}, which is not one of its levels",
            f"Add {level!r} to the levels of {factor.name}, or name the level: --trial {path}:{factor.name}=….",
        )
    return known


def _read(factor: Factor, diagnosis: Diagnosis) -> str | None:
    """The level that the log tells of; None when it does not."""
    if factor.mechanism is Mechanism.PYTHON:
        return _version(factor, diagnosis)
    if factor.mechanism is not Mechanism.FLAG:
        return None
    if diagnosis.command and (argv := _split(diagnosis.command)):
        return _on(argv, factor)
    said = next((s for s in diagnosis.settings if s.name == setting_name(factor)), None)
    if said is None:
        return None
    value = said.requested if said.requested is not None else said.resolved
    own = said.chosen_by is ChosenBy.USER or (said.requested is None and said.chosen_by is not ChosenBy.ENGINE)
    plain = {"True": PRESENT, "False": ABSENT, "None": ABSENT}.get(value or "", value)
    # A dump of all settings also has values that nobody asked for, in the engine's own words.
    return plain if own and any(same(level, plain or "") for level in factor.levels) else None


def _on(argv: Sequence[str], factor: Factor) -> str | None:
    """The level on a command line: the flag's value, bare, or absent where that is a level; else None."""
    value = arguments.value_of(argv, factor.target)
    if value is not None and PRESENT not in factor.levels:
        return value
    if factor.target in argv:
        return PRESENT
    return ABSENT if ABSENT in factor.levels else None


def _version(factor: Factor, diagnosis: Diagnosis) -> str | None:
    """The level that is the version of a package of the factor's name, in the words of the log."""
    ran = diagnosis.environment
    versions: Mapping[str, str | None] = {
        diagnosis.engine.name: diagnosis.engine.version,
        "transformers": ran.transformers,
        "torch": ran.torch,
    }
    version = versions.get(factor.name)
    return version if version in factor.levels else None


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _failure(diagnosis: Diagnosis, source: str) -> Failure | None:
    told = diagnosis.failure
    if told is None:
        return None
    return Failure(
        told.class_,
        Exposure(diagnosis.stage),
        told.message,
        told.signature,
        told.exception,
        told.asynchronous,
        evidence=(Evidence(source, told.line, told.text),),
        consequences=told.consequences,
    )


def _alike(here: Stage, there: Stage) -> bool:
    """Both while starting or both while serving. A log alone does not always tell one stage of these from the next."""
    return Stage.UNKNOWN in (here, there) or (here in _SERVING) == (there in _SERVING)


def _at(stage: Stage) -> int:
    return _ORDER.index(stage)
