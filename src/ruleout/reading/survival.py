"""What a server survived: an exception is no crash when the same run goes on to serve after it.

Signs of life count within one life of the server only (a container that starts anew has not survived), and not where
a process that dies of it has said so. An error of the device leaves its process beyond help, so there only a log that
ends alive can tell otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ruleout.model import FailureClass
from ruleout.reading.oneliners import LATE
from ruleout.reading.spotted import Spotted, Weight

_ALIVE = re.compile(
    rb"Application startup complete|fired up and ready|server is listening|(?:Decode|Prefill) batch[.,]"
    rb"|\"POST /\S+ HTTP/[\d.]+\" 200|slot +release:|throughput: (?!0+(?:\.0+)? )\d"
)
"""What only a server prints that serves. A health check may be answered by a process whose engine is dead."""
_EARLY = b"HTTP "
"""Before "server is listening": llama.cpp's, which listens before it loads its model."""
_DEADLY = re.compile(
    r"\b[Ss][Ii][Gg](?:[Qq][Uu][Ii][Tt]|KILL|SEGV|ABRT)\b|hit an exception|fatal error|failed to start|EngineDead"
    r"|died unexpectedly|^Killed|^Aborted|Segmentation fault|core dumped|Fatal Python error|exitcode|hard-killing"
    r"|initialization failed|(?:[Ee]rror|[Ee]xception) in [\w ]*\bloop\b"
    r"|terminate called|Out of memory: Killed|oom-kill"
)
_INSTEAD = re.compile(
    r"\((?:[\w.]*\.)?(\w+(?:Error|Exception): [^()]{1,200})\).{0,80}(?:fall(?:ing|s)? back|[Ii]gnor|[Ss]kip|[Uu]sing )"
)
"""A line that quotes an exception and says what is done instead."""
_FATAL_CLASSES = (*LATE, FailureClass.NCCL_TIMEOUT_HANG, FailureClass.HOST_OOM_KILL, FailureClass.HANG)


def handled(candidates: Sequence[Spotted], lines: Iterable[str]) -> list[Spotted]:
    """Those of the candidates that a line quotes which says what was done instead."""
    quoted = {found[1] for line in lines if (found := _INSTEAD.search(line[:2000]))}
    return [c for c in candidates if f"{c.exception.rpartition('.')[2]}: {c.message}" in quoted]


class Lives:
    """Where a log shows its server alive, and where it started anew."""

    def __init__(self) -> None:
        self._alive: list[int] = []
        self._starts: list[int] = []

    def look(self, data: bytes, last: int) -> None:
        """Keep the last sign of life in the bytes above a line, or of a chunk, whose last line has that number."""
        found = (hit for hit in _ALIVE.finditer(data) if not data.startswith(_EARLY, max(0, hit.start() - len(_EARLY))))
        ends = [hit.end() for hit in found]
        if ends:
            self.alive(last - data.count(b"\n", ends[-1], len(data) - data.endswith(b"\n")))

    def alive(self, line: int) -> None:
        """The server serves, or is ready to."""
        if not self._alive or line > self._alive[-1]:
            self._alive.append(line)

    @property
    def last(self) -> int:
        """The line of the last sign of life or of the last start, 0 when there is none."""
        return max((*self._alive[-1:], *self._starts[-1:]), default=0)

    def began(self, line: int) -> None:
        """The server starts anew."""
        self._starts.append(line)

    def survived(self, candidates: Sequence[Spotted]) -> list[Spotted]:
        """Those of the candidates after which the run went on; none where nothing else can be what it died of."""
        deadly = [c for c in candidates if c.deadly or _DEADLY.search(c.text) or _DEADLY.search(c.message)]
        found = [
            c
            for c in candidates
            if c not in deadly and c.weight is not Weight.CONSEQUENCE and self._over(c, candidates)
        ]
        kept = [c for c in candidates if c not in found]
        died = [c for c in kept if c in deadly]
        if died and all(c.weight is not Weight.STRONG for c in kept):
            last = max(c.start for c in died)
            cause = [c for c in found if c.start <= last]
            return [c for c in found if c is not cause[-1]] if cause else found
        return found

    def _over(self, candidate: Spotted, candidates: Sequence[Spotted]) -> bool:
        anew = next((line for line in self._starts if line > candidate.line), None)
        end = min(
            (c.start for c in candidates if c.start > candidate.line and (c.deadly or _DEADLY.search(c.text))),
            default=None,
        )
        after = candidate.line
        if candidate.class_ in _FATAL_CLASSES:
            after = max(c.line for c in candidates)
        return any(
            line > after and (anew is None or line < anew) and (end is None or line < end) for line in self._alive
        )
