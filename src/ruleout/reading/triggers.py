"""One alternation of google-re2 decides, at hundreds of megabytes a second, which few lines of a log become objects.

It may stop at too many lines, never at too few: what a line means is decided afterwards, on the line alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

import re2

FAILURES: tuple[str, ...] = (
    r"Traceback \(most recent call last\)",
    r"(?:Error|Exception|Interrupt|OutOfResources|Exceeded|Timeout|Exit):? ",
    r"(?:Error|Exception|OutOfResources):?\s*$",
    r"(?:Error|Exception)\(['\"]",
    r"[a-z](?:Failed|Unsupported|NotFound|Violation): |with exception |ernel only supports",
    r"error loading model|failed to (?:load|allocate|create|initialize) |not compatible with the current PyTorch",
    r"while profiling|when profiling|kipping (?:tactic|kernel)",
    r"\bXid |MMU Fault|HSA_STATUS_ERROR|hipError",
    r"Segfault encountered|\*\*\* SIG|[Cc]aught signal|[Ee]xit[ _]?code:? -9|[Ee]xit(?:ed with)? [Cc]ode:? +137",
    r"[Ee]rror: |[Ee]rror (?:in|while|during|from|when|at|running|executing) |Error Internal"
    r"|[Ee]rrors? (?:detected|occurred)",
    r"CRITICAL|FATAL|Fatal |fatal error",
    r"(?:CUDA|HIP|XPU|NPU|NCCL|cuBLAS|driver|runtime) (?:driver |runtime )?error|CUDA_ERROR_|cudaError"
    r"|CUBLAS_STATUS_|CUDA Exception",
    r"out of memory|illegal memory access|illegal instruction|device-side assert|misaligned address|launch failure"
    r"|Address$|access fault by GPU",
    r"no kernel image|kernel image is invalid|invalid device function|unsupported toolchain|shared memory"
    r"|launch argument",
    r"Assertion|GGML_ASSERT|Check failed|^Failed: |^\s+assert ",
    r"Segmentation fault|^Killed|\d Killed|Aborted|Bus error|Illegal instruction|Floating point exc|core dumped"
    r"|protection fault",
    r"segfault at|oom-kill|oom_reaper|OOMKilled|Killed process|NaN in the|NaN detected|[Nn]an.{0,12} (?:found"
    r"|detected)",
    r"terminate called|panicked at|[Ww]atchdog|collective operation|[Tt]imed? ?out|hang detected|[Dd]eadlock",
    r"command not found|: not found|No such file|Permission denied|No module named|can't open file",
    r"build stopped|[Bb]uild failed|ptxas|nvcc fatal|PassManager|LLVM ERROR|does not recognize this|unknown model arch",
    r"[Uu]nsupported (?:GPU )?[Aa]rch|execution plans|Failed to (?:run|launch|initialize)|too many resources",
    r"no device code|attempting to bind|ld: cannot find",
    r"500 Internal|\" 500|\b[Ss][Ii][Gg][Qq][Uu][Ii][Tt]\b|hit an exception|failed to start|encountered an? ",
    r"\[shutdown\]|Shutting down|SIGTERM|SIGINT",
    r"RULEOUT_COST_MINUTES=",
)
"""What a line must contain to be looked at for failures, the end of the run and its reported cost."""

_ANCHOR = re.compile(r"\^|\$|\\A|\\z|\\Z|\\b|\\B")


class Searching(Protocol):
    """A compiled pattern of `re` or of `re2`."""

    def search(self, text: bytes, pos: int = 0, /) -> re.Match[bytes] | None: ...


@lru_cache(maxsize=512)
def compiled(pattern: str, *, captures: bool = False) -> tuple[Searching, bool]:
    """A pattern for bytes, and whether RE2 takes it; else Python's `re` does. Raises ValueError when neither does.

    Kept from log to log: to compile all patterns takes longer than to read a small log with them.
    """
    try:
        found: Searching = re2.compile(pattern.encode(), _options(captures=captures))
    except re2.error:
        try:
            return re.compile(pattern.encode(), re.MULTILINE), False
        except re.error as error:
            raise ValueError(f"not a regular expression: {pattern!r} ({error})") from None
    return found, True


def _options(*, captures: bool) -> re2.Options:
    options = re2.Options()
    options.never_capture, options.log_errors, options.max_mem = not captures, False, 64 << 20
    return options


class Which:
    """Which of many patterns a text has, in one pass over it instead of one for each of them."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = re2.Set.SearchSet(_options(captures=False))
        self._others = []
        self._numbers = []
        for number, pattern in enumerate(patterns):
            found, takes = compiled(pattern)
            if takes:
                self._set.Add(pattern.encode())
                self._numbers.append(number)
            else:
                self._others.append((number, found))
        self._set.Compile()

    def of(self, text: bytes) -> list[int]:
        """The numbers of the patterns that the text has, ascending."""
        numbers = [self._numbers[index] for index in self._set.Match(text) or ()]
        return sorted(numbers + [number for number, pattern in self._others if pattern.search(text)])


class Trigger:
    """Where the next line is that needs a closer look."""

    def __init__(self, patterns: Mapping[str, bool], fixed: Iterable[str] = ()) -> None:
        """Args: patterns: those of the stages, and whether RE2 takes each; fixed: others, in RE2's syntax."""
        parts = [f"(?:{part})" for part in (*fixed, *(p for p, takes in patterns.items() if takes))]
        if any(_ANCHOR.search(p) for p in patterns):
            parts.append(r"\r")  # an anchor may hold at any piece of a progress bar
        self._scanners = [compiled(f"(?m:{'|'.join(parts)})")[0]] if parts else []
        self._scanners += [compiled(p)[0] for p, takes in patterns.items() if not takes]
        self._next: list[int] = [-1] * len(self._scanners)

    def start(self) -> None:
        """A new chunk is going to be searched."""
        self._next = [-1] * len(self._scanners)

    def next(self, chunk: bytes, position: int) -> int:
        """The offset of the next hit at or after `position`, the chunk's length when there is none."""
        for index, scanner in enumerate(self._scanners):
            if self._next[index] < position:
                found = scanner.search(chunk, position)
                self._next[index] = found.start() if found else len(chunk)
        return min(self._next, default=len(chunk))
