"""Logs of one story: which of them are ranks of one run, and which are runs of their own.

Logs in one folder are taken for one run, and logs that were named one by one for several, unless what they hold says
otherwise: ranks by their numbers and one launch, runs by launches that differ or follow each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ruleout.model import Stage
from ruleout.model.errors import UsageError
from ruleout.reading import readable
from ruleout.reading.diagnose import Part, Run, Stream, joined, read_part
from ruleout.reading.sources import expand, rank_of

_STRONG = re.compile(r"(?:rank|worker|node|proc)[_\-.]?\d", re.IGNORECASE)
"""Words that make a number the number of a rank; `tp8` and `0002` may be trials."""
_NUMBER = re.compile(r"\d+")
_STARTING = (Stage.INSTALL_IMPORT, Stage.ARG_PARSING, Stage.MODEL_CONFIG, Stage.DISTRIBUTED_INIT, Stage.WEIGHT_LOAD)
"""Stages that every rank of a run is past when its server is ready."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a story in the order in which they were given.

    Attributes:
        copies: logs that are copies of another one, each with the one that was read for both.
    """

    runs: tuple[Run, ...]
    copies: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Log:
    """A log, and where it was given: the folder it lies in, or none when it was named itself."""

    part: Part
    name: str
    folder: str | None


def read_runs(sources: Sequence[Path | Stream]) -> Runs:
    """Read logs, each once, and tell the runs among them.

    A file of a folder that turns out to be no log is passed over, as long as another one is.

    Raises OSError for a file that cannot be read, ValueError when there is no source, or none in a folder, UsageError
    for a file that is damaged or no text.
    """
    if not sources:
        raise ValueError("no log was given")
    logs: list[_Log] = []
    marks: dict[str, _Log] = {}
    copies: list[tuple[str, str]] = []
    refused: list[UsageError] = []
    for name, path in expand(sources):
        folder = None if path in sources else str(path.parent) if isinstance(path, Path) else None
        try:
            log = _Log(_read(path, name), name, folder)
        except UsageError as problem:
            if folder is None:
                raise
            refused.append(problem)
            continue
        first = marks.setdefault(log.part.launch.mark, log)
        if first is not log and _copy(log, first):
            copies.append((name, first.name))
        else:
            logs.append(log)
    if refused and not logs:
        raise refused[0]
    return Runs(tuple(joined([log.part for log in group]) for group in _grouped(logs)), tuple(copies))


def _read(path: Path | Stream, name: str) -> Part:
    if isinstance(path, Path):
        readable.check(path)
    part = read_part(path, name)
    source = part.facts.sources[0]
    if source.truncated and not source.bytes:
        raise readable.damaged(str(path) if isinstance(path, Path) else name)
    return part


def _copy(log: _Log, first: _Log) -> bool:
    """Of two logs that are the same in every byte, the later is a copy, unless ranks had the same few words to say."""
    alone = log.folder is None or log.part.launch.told
    return alone and bool(log.part.facts.sources[0].bytes) and not _ranks(log, first, strong=True)


def _grouped(logs: Sequence[_Log]) -> list[list[_Log]]:
    """The logs of each run: first those of one folder, then what belongs together across folders and names."""
    units: list[list[_Log]] = []
    for log in sorted(logs, key=lambda log: not log.part.launch.told):  # those with a launch first: others follow them
        there = [unit for unit in units if log.folder is not None and unit[0].folder == log.folder]
        several = sum(unit[0].part.launch.told for unit in there) > 1  # a folder of runs, not of ranks
        home = next((unit for unit in there if (_one(unit, [log]) if several else _fits(unit, log))), None)
        if home is None:
            units.append([log])
        else:
            home.append(log)
    order = {id(log): number for number, log in enumerate(logs)}
    groups: list[list[_Log]] = []
    for unit in sorted(units, key=lambda unit: min(order[id(log)] for log in unit)):
        home = next((group for group in groups if _one(group, unit)), None)
        if home is None:
            groups.append(list(unit))
        else:
            home += unit
    return [sorted(group, key=lambda log: order[id(log)]) for group in groups]


def _fits(unit: Sequence[_Log], log: _Log) -> bool:
    return not any(_apart(other, log) for other in unit)


def _apart(a: _Log, b: _Log) -> bool:
    """The two are logs of two runs."""
    if a.part.launch.unlike(b.part.launch) or _outlived(a, b) or _outlived(b, a):
        return True
    return a.part.launch.served and b.part.launch.served and not _ranks(a, b, strong=True)


def _outlived(well: _Log, failed: _Log) -> bool:
    """One was ready and nothing failed in it, the other failed while starting, which no rank of such a run can do."""
    facts, failure = failed.part.facts, failed.part.facts.failure
    if well.part.facts.failure or not well.part.launch.served or failure is None or failure.inferred:
        return False
    return facts.stage in _STARTING


def _one(group: Sequence[_Log], unit: Sequence[_Log]) -> bool:
    """Whether two groups of logs are one run."""
    if any(_apart(a, b) for a in group for b in unit):
        return False
    a, b = _leading(group), _leading(unit)
    if _ranks(a, b, strong=True):
        return True
    one, other = a.part.launch, b.part.launch
    if one.apart(other):
        return False
    if a.folder is not None and b.folder is not None and _ranks(a, b, strong=False):
        return True
    if not one.overlaps(other):
        return False
    alone = bool(one.ranks and other.ranks) and not one.ranks & other.ranks
    return alone or one.told != other.told or (one.told and other.told)


def _leading(logs: Sequence[_Log]) -> _Log:
    return max(logs, key=lambda log: log.part.launch.told)


def _ranks(a: _Log, b: _Log, *, strong: bool) -> bool:
    """Their names are those of two ranks: alike but for the number."""
    one, other = _told(a.name, strong), _told(b.name, strong)
    if one is None or other is None or one == other:
        return False
    return _NUMBER.sub("#", a.name) == _NUMBER.sub("#", b.name)


def _told(name: str, strong: bool) -> tuple[int, ...] | None:
    if rank_of(name) is None or (strong and not _STRONG.search(name)):
        return None
    return tuple(int(number) for number in _NUMBER.findall(name))
