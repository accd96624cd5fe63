"""Settings that changed along with a cause: as long as one did in every clean trial, it may be the cause itself.

An engine resolves settings from others. A new backend that was clean may have been so because it made the engine choose
another KV type; to tell the two apart, that setting has to be pinned or made a factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ruleout.model import Case, Cause, OutcomeKind, Trial

Settings = Sequence[Mapping[str, str]]


def companions(case: Case, trials: Sequence[Trial], cause: Cause) -> tuple[str, ...]:
    """Names of the settings, other than factors, that differ from all failing trials in every clean one.

    Args:
        cause: its carriers with the levels that were seen to fail. Its clean trials are those without it.
    """
    own = {_plain(word) for factor in case.factors for word in (factor.name, factor.target)}

    def present(trial: Trial) -> bool:
        return all(trial.configuration.get(c.factor) in c.levels for c in cause)

    told = [t for t in trials if t.outcome is not None and t.outcome.resolved]
    failing = [t.outcome.resolved for t in told if t.outcome and t.outcome.kind is OutcomeKind.REPRODUCED]
    clean = [t.outcome.resolved for t in told if t.outcome and t.outcome.kind is OutcomeKind.CLEAN and not present(t)]
    if not failing or not clean:
        return ()
    names = sorted(set.intersection(*(set(settings) for settings in (*failing, *clean))))
    return tuple(name for name in names if _plain(name) not in own and _apart(name, failing, clean))


def _apart(name: str, failing: Settings, clean: Settings) -> bool:
    """The same wherever it fails, and never that where it is clean. What differs anyway goes along with nothing."""
    values = {settings[name] for settings in failing}
    return len(values) == 1 < len(failing) and values.isdisjoint(settings[name] for settings in clean)


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_").lower()
