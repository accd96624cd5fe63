"""The lines around an error, as a person would copy them: the whole of its traceback, and what was said just before.

The log is foreign: it may be a link, a gigabyte, or one line. What is read of it is bounded, and stays in its folder.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from ruleout.model.issue import Excerpt
from ruleout.reading.lines import chunks, pieces

BEFORE, AFTER = 12, 6
MOST = 120
"""Lines of an excerpt."""
FAR = 400
"""Lines before the error that are read, so that a secret that began above the excerpt is known for one."""
_BEGINS = "Traceback (most recent call last)"
_PACKAGES = re.compile(r"(?<=\")/[^\"\n]{1,300}/(?=(?:site|dist)-packages/)")
"""Where somebody's environment is, before the names of its packages' files."""
_ENDS = re.compile(r"(?:^|\] |: ?|\| )(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Assert\w*)\b")


def inside(folder: Path, name: str) -> Path | None:
    """A file of that folder; None where there is none, or where the name leads out of it."""
    path = (folder / name).resolve()
    return path if path.is_file() and path.is_relative_to(folder.resolve()) else None


def length(folder: Path, name: str) -> int:
    """How many lines a log of that folder has; 0 where there is none."""
    path = inside(folder, name)
    if path is None:
        return 0
    count, ended = 0, True
    with path.open("rb") as stream:
        for chunk in chunks(stream):
            count, ended = count + chunk.count(b"\n"), chunk.endswith(b"\n")
    return count if ended else count + 1


def excerpt(folder: Path, name: str, line: int, shared: Callable[[str], str]) -> Excerpt | None:
    """The lines around one of them. None where the file is not there, or not so long.

    Args:
        name: the file, relative to the folder.
        shared: makes several lines fit to leave, without joining any.
    """
    path = inside(folder, name)
    if path is None or line < 1:
        return None
    first = max(1, line - FAR)
    texts = shared("\n".join(_lines(path, first, line + MOST))).split("\n")
    at = line - first
    if at >= len(texts):
        return None
    begin, end = _bounds(texts, at)
    return Excerpt(name, first + begin, line, tuple(_PACKAGES.sub("…/", text) for text in texts[begin:end]))


def _lines(path: Path, first: int, last: int) -> Iterator[str]:
    """Lines of a file, each as it was last shown."""
    number = 1
    held: deque[bytes] = deque()
    with path.open("rb") as stream:
        for chunk in chunks(stream):
            count = chunk.count(b"\n")
            if number + count >= first:
                held.extend(chunk.split(b"\n")[:-1] if chunk.endswith(b"\n") else chunk.split(b"\n"))
                while number < first and held:
                    held.popleft()
                    number += 1
                for line in islice(held, max(0, last + 1 - number)):
                    yield pieces(line)[-1]
                number += len(held)
                held.clear()
            else:
                number += count
            if number > last:
                return


def _bounds(lines: list[str], at: int) -> tuple[int, int]:
    """From the beginning of the traceback that the line ends, or to the end of the one that it begins."""
    above = next((i for i in range(at, max(-1, at - MOST + AFTER), -1) if _BEGINS in lines[i]), at)
    above = above if _whole(lines, above, at) else at
    begin, end = max(0, above - BEFORE), at
    below = next((i for i in range(at, min(at + 3, len(lines))) if _BEGINS in lines[i]), None) if above == at else None
    if below is not None:
        end = next((i for i in range(below + 1, min(len(lines), begin + MOST)) if _ENDS.search(lines[i])), at)
    return begin, min(len(lines), end + 1 + AFTER, begin + MOST)


def _whole(lines: list[str], begin: int, at: int) -> bool:
    """Whether no exception ended between the beginning of a traceback and the line."""
    return not any(_ENDS.search(line) for line in lines[begin + 1 : at])
