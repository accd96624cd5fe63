"""What a text says of settings: changes, whole commands, or that nothing was changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """A change in a text, from `begin` to `end`; `sure` unless only words tell of it."""

    begin: int
    end: int
    name: str
    level: str
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """A whole command in a text, as it stands there."""

    begin: int
    end: int
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a text says of settings. `baseline`: where it says that nothing was changed, or -1."""

    changes: tuple[Change, ...] = ()
    commands: tuple[Command, ...] = ()
    baseline: int = -1
    baseline_ends: int = -1

    @property
    def begin(self) -> int:
        """Where the first of them stands; -1 where there is none."""
        places = [*(one.begin for one in self.changes), *(one.begin for one in self.commands)]
        return min(places, default=self.baseline)
