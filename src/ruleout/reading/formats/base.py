"""What a log format has to bring: how to recognise it, its stages, and which lines say a fact.

A format is data and small functions. All formats look at every log at once, because one log often holds several (a
transformers warning inside vLLM, a shell's `Killed` below SGLang): none of them may claim a line that it does not know.
Patterns are RE2's, without look-around, so that no line can make a reader slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ruleout.model import Stage
from ruleout.reading.book import Book
from ruleout.reading.pairs import pairs, plain

Taken = Mapping[str, str]
"""The named groups of a line that matched, without those that did not take part."""


@dataclass(frozen=True, slots=True)
class Says:
    """A line that says something: `take` is given its named groups, its whole text and its number."""

    pattern: str
    take: Callable[[Book, Taken, str, int], None]
    often: int = 40
    """How many lines are read before the pattern is given up: ranks and restarts repeat, they do not add."""


class LogFormat(Protocol):
    """How one engine's log is read."""

    @property
    def name(self) -> str:
        """The engine, in the contract's words; empty for the generic reader."""

    @property
    def tells(self) -> Sequence[str]:
        """Patterns of lines that this engine alone prints."""

    @property
    def stages(self) -> Sequence[tuple[Stage, str]]:
        """Patterns of the line with which a stage begins; of one line, the first that matches counts."""

    @property
    def says(self) -> Sequence[Says]:
        """Lines that state a fact."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names of settings, and the engine's own."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format given as tables."""

    name: str
    tells: Sequence[str] = ()
    stages: Sequence[tuple[Stage, str]] = ()
    says: Sequence[Says] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


def resolved(pattern: str, *, by_engine: bool = True, often: int = 40) -> Says:
    """Each named group is a setting's effective value."""

    def take(book: Book, groups: Taken, text: str, line: int) -> None:
        for name, value in groups.items():
            book.resolve(name, plain(value.rstrip(".,;")), line, by_engine=by_engine)

    return Says(pattern, take, often)


def fixed(pattern: str, **values: str | None) -> Says:
    """The line means that these settings have these values; None: the requested value is not in effect."""

    def take(book: Book, groups: Taken, text: str, line: int) -> None:
        for name, value in values.items():
            book.resolve(name, value, line, by_engine=True)

    return Says(pattern, take)


def environment(pattern: str) -> Says:
    """Each named group is a fact of the environment."""

    def take(book: Book, groups: Taken, text: str, line: int) -> None:
        for name, value in groups.items():
            book.ran_on(name, value.rstrip(".,;"))

    return Says(pattern, take)


def version(engine: str, pattern: str, *, listed: bool = False) -> Says:
    """The named group `version` is the engine's. In a list of packages it does not say that this engine runs."""

    def take(book: Book, groups: Taken, text: str, line: int) -> None:
        book.version.setdefault(engine, groups["version"].rstrip(".,;"))
        if not listed:
            book.recognised(engine)

    return Says(pattern, take)


def dumped(pattern: str, *, requested: bool = False, aliases: Mapping[str, str] | None = None) -> Says:
    """What follows the match is a printed configuration: what was asked for, or what is in effect."""
    names = aliases or {}

    def take(book: Book, groups: Taken, text: str, line: int) -> None:
        found = {names.get(name, name): value for name, value in pairs(groups["dump"])}
        book.knows_requests = book.knows_requests or requested
        book.dump(found, line, requested=requested)

    return Says(rf"{pattern}(?P<dump>.*)", take, 20)
