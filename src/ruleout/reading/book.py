"""What a log has said so far about settings and environment, each with the line that said it first.

A setting may be said several times: asked for on the command line, chosen by a hook, printed in a dump. Requested and
resolved stay two things; of several resolved values the last one said by the engine itself (`Setting … to …`) wins over
a dump of the configuration, because dumps are printed before the hooks run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ruleout.model.diagnosis import Choices, ChosenBy, Setting
from ruleout.model.spelling import same

MOST = 1000
"""Settings kept; a log that names more is not a log of settings."""
_EMPTY = ("None", "auto", "False", "0", "1", "[]", "{}", "", "default")
"""Values of a dump that nobody has chosen, when nobody asked for them."""


@dataclass(slots=True)
class _Entry:
    requested: str | None = None
    resolved: str | None = None
    by_engine: bool = False
    asked_at: int = 0
    said_at: int = 0


@dataclass(slots=True)
class Book:
    """Facts of one log. `aliases` maps other spellings of a setting to the engine's own."""

    settings: dict[str, _Entry] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    engines: dict[str, int] = field(default_factory=dict)
    version: dict[str, str] = field(default_factory=dict)
    command: str = ""
    knows_requests: bool = False
    dumped: bool = False
    offers: dict[str, Choices] = field(default_factory=dict)
    guesses: list[tuple[str, str, int, bool]] = field(default_factory=list)

    def request(self, name: str, value: str, line: int) -> None:
        """The user asked for a value. The first mention counts."""
        entry = self._entry(name)
        if entry and entry.requested is None:
            entry.requested, entry.asked_at = value, line

    def resolve(self, name: str, value: str | None, line: int, *, by_engine: bool = False) -> None:
        """A value is in effect. None: the requested one is not, and which one is was not said."""
        entry = self._entry(name)
        if entry and (by_engine or not entry.by_engine) and (by_engine or entry.resolved is None):
            if entry.by_engine and value == entry.resolved:
                return
            entry.resolved, entry.said_at, entry.by_engine = value, line, by_engine

    def dump(self, values: Mapping[str, str], line: int, *, requested: bool = False) -> None:
        """A printed configuration."""
        self.dumped = True
        for name, value in values.items():
            if requested:
                self.request(name, value, line)
            else:
                self.resolve(name, value, line)

    def guess(self, name: str, value: str, line: int, *, by_engine: bool = False) -> None:
        """A value that is in effect by the words of any engine; believed where no format knows the engine's own."""
        if len(self.guesses) < MOST:
            self.guesses.append((name, value, line, by_engine))

    def adopt(self) -> None:
        """Believe what was guessed, if the engine's own format has read no configuration."""
        if not self.dumped:
            for name, value, line, by_engine in self.guesses:
                self.resolve(name, value, line, by_engine=by_engine)

    def offer(self, what: str, value: str, levels: Sequence[str], line: int) -> None:
        """The log lists levels of what it calls so, of which one is or was to be `value`."""
        words = set(what.split("_"))
        named = [
            name
            for name, entry in self.settings.items()
            if value and value in (entry.requested, entry.resolved) and words & set(name.split("_"))
        ]
        name = max(named, key=lambda name: len(words & set(name.split("_"))), default=what)
        if len(levels) > 1 and len(self.offers) < MOST:
            self.offers.setdefault(name, Choices(name, tuple(levels), line))

    def ran_on(self, name: str, value: str) -> None:
        """A fact of the environment. The first mention counts."""
        if value and value not in ("None", "Could not collect", "N/A", "unknown"):
            self.environment.setdefault(name, value.strip()[:200])

    def recognised(self, engine: str, weight: int = 1) -> None:
        """A line that only this engine prints."""
        self.engines[engine] = self.engines.get(engine, 0) + weight

    @property
    def engine(self) -> str:
        """The engine that most lines speak for; on a tie, the one recognised first."""
        return max(self.engines, key=lambda name: self.engines[name]) if self.engines else ""

    def rename(self, aliases: Mapping[str, str]) -> None:
        """Join what was said of one setting under several names."""
        for other, name in aliases.items():
            if other != name and (entry := self.settings.pop(other, None)):
                if entry.requested is not None:
                    self.request(name, entry.requested, entry.asked_at)
                if entry.said_at:
                    self.resolve(name, entry.resolved, entry.said_at, by_engine=entry.by_engine)

    def all(self, source: str) -> tuple[Setting, ...]:
        """The settings, those that somebody chose first."""
        found = [self._setting(name, entry, source) for name, entry in self.settings.items()]
        order = {ChosenBy.ENGINE: 0, ChosenBy.USER: 1, None: 2, ChosenBy.DEFAULT: 3}
        return tuple(sorted(found, key=lambda setting: order[setting.chosen_by]))

    def _entry(self, name: str) -> _Entry | None:
        if name not in self.settings and len(self.settings) >= MOST:
            return None
        return self.settings.setdefault(name, _Entry())

    def _setting(self, name: str, entry: _Entry, source: str) -> Setting:
        return Setting(
            name,
            entry.requested,
            entry.resolved,
            self._chosen_by(entry),
            entry.said_at or entry.asked_at,
            source,
        )

    def _chosen_by(self, entry: _Entry) -> ChosenBy | None:
        asked, found = entry.requested, entry.resolved
        if asked is not None:
            if asked.startswith("{"):
                return ChosenBy.USER  # a structure is printed in another form than it is asked for
            kept = (not entry.by_engine if found is None else same(asked, found)) or not entry.said_at
            return ChosenBy.USER if kept else ChosenBy.ENGINE
        if entry.by_engine:
            return ChosenBy.ENGINE
        if self.knows_requests:
            return ChosenBy.DEFAULT if found in _EMPTY else ChosenBy.ENGINE
        return None
