"""What is worth varying about an engine: which flag, to which levels, on which hardware and for which models.

Levels change with every release, so those that the engine's own `--help` lists go before the shipped table's. A flag
that this release does not have would end a start with another failure, and is not offered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ruleout.engines.helping import Help
from ruleout.engines.levels.reading import entries, release_of
from ruleout.model import PRESENT, Component, arguments

ASSUMED = frozenset({"gpu"})
"""What holds while nobody knows better."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A setting that may be varied.

    Attributes:
        flag: as this release spells it.
        levels: those worth a trial besides the flag's absence; empty where it is worth none by itself.
        known: all levels that it takes; empty where that is not known.
        also: other spellings of the flag.
        said_by: who lists the levels.
        default: the level that it has without the flag; empty where that is not known, or the engine chooses.
        formerly: its name in older releases; empty: the same.
        asked: the installed engine's help has it.
        matters: it can make a difference on this hardware and for this model.
    """

    flag: str
    component: Component
    levels: tuple[str, ...]
    known: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    said_by: str = ""
    asked: bool = False
    matters: bool = True
    formerly: str = ""
    default: str = ""

    @property
    def bare(self) -> bool:
        """It has no value."""
        return self.known == (PRESENT,)


def offers(
    engine: str, version: str | None = None, holds: Collection[str] = ASSUMED, told: Help | None = None
) -> tuple[Offer, ...]:
    """The settings of an engine, in the order of its table; none for an engine that has none.

    Args:
        version: the release, for the shipped levels; None: the newest known.
        holds: which of the table's conditions hold.
        told: what the installed engine's help lists.
    """
    found = (_offer(entry, engine, version, holds, told) for entry in entries(engine))
    return tuple(offer for offer in found if offer is not None)


def _offer(
    entry: Mapping[str, Any], engine: str, version: str | None, holds: Collection[str], told: Help | None
) -> Offer | None:
    flag = str(entry.get("switched_off_by", entry["flag"]))
    if told is not None and flag not in told.flags and not arguments.variable(flag):
        flag = str(entry.get("formerly", ""))
        if flag not in told.flags:
            return None
    bare, said_by = bool(entry.get("bare")), engine
    if bare:
        known: tuple[str, ...] = (PRESENT,)
    elif told is not None and told.choices.get(flag):
        known, said_by = told.choices[flag], f"{engine} --help"
    else:
        release = release_of(dict(entry), version)
        known, said_by = tuple(entry["levels"][release]), f"{engine} {release}"
    matters = set(entry.get("needs", ())) <= set(holds)
    levels = tuple(level for level in _tried(entry, known, holds) if level in known) if matters else ()
    also, former = tuple(entry.get("also", ())), str(entry.get("formerly", ""))
    return Offer(
        flag,
        Component(entry["component"]),
        levels,
        known,
        also,
        said_by,
        asked=told is not None,
        matters=matters,
        formerly=former,
        default=str(entry.get("default", "")),
    )


def _tried(entry: Mapping[str, Any], known: tuple[str, ...], holds: Collection[str]) -> tuple[str, ...]:
    """The levels worth a trial where that holds; without a list of them, all."""
    if "try" not in entry:
        return known
    fitting = (levels for words, levels in entry["try"].items() if set(words.split()) <= set(holds))
    return tuple(next(fitting, ()))


def spelt_out(argv: tuple[str, ...], found: tuple[Offer, ...]) -> tuple[str, ...]:
    """The command with other spellings of flags (`-fa`, `--kv_cache_dtype`) as the catalogue writes them."""
    names = {spelling: offer.flag for offer in found for spelling in (*offer.also, _underscored(offer.flag))}
    spelt = []
    for word in argv:
        name, equals, value = word.partition("=")
        spelt.append(f"{names.get(name, name)}{equals}{value}" if word.startswith("-") else word)
    return tuple(spelt)


def _underscored(flag: str) -> str:
    return flag[:2] + flag[2:].replace("-", "_")
