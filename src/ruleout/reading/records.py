"""Engines put who, when and how bad before each line; by that prefix, lines of several processes can be told apart.

Tracebacks of many ranks interleave; the prefix's process and place (never its time) say which line continues which.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ruleout.reading.lines import clean, pieces

_LEVELS = "DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL"
_PART = re.compile(
    rf"""
    >[ ]?(?=\S)                                                                       # quoted in a mail or a thread
    | (?P<compose>[\w.\-]+[-_]\d+)[ ]+\|[ ]?                                            # vllm-1  | (docker compose)
    | \[pod/(?P<pod>[\w.\-]+(?:/[\w.\-]+)?)\][ ]?                                     # [pod/name/container] (kubectl)
    | pod/(?P<stern>[\w.\-]+/[\w.\-]+)[ ]                                               # pod/name/container
    | \[\d+,(?P<task>\d+)\]<std(?:out|err|diag)>:[ ]?                                  # [1,0]<stderr>: (mpirun)
    | [A-Z][a-z]{{2}}[ ][ \d]\d[ ]\d\d:\d\d:\d\d[ ]\S+[ ](?P<unit>[\w.@\-]+\[\d+\]):[ ]?  # journald
    | \((?P<process>[A-Za-z][\w.\-=, ]*\bpid=\d+[^)]*)\)[ ]?                            # (EngineCore pid=123)
    | \[(?P<rank>rank\d+)\]:[ ]?                                                      # [rank0]:
    | \[\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?P<ranks>(?:[ ][A-Z]+\d+)*)[^\]]{{0,40}}\][ ]?
    | \[(?P<glog>[EWIF])\d{{3,4}}[ ]\d\d:\d\d:\d\d[\d.]*[ ][^\]]*\][ ]?               # [E304 09:12:41.5 File.cpp:70]
    | (?P<elastic>[EWIF])\d{{4}}[ ]\d\d:\d\d:\d\d[\d.]*[ ]+\d+[ ][^\]]*\][ ]?       # E1129 16:50:37.12 788 api.py:9]
    | \d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[ ](?:(?:std(?:out|err)[ ][FP]|-|\|)[ ])?
    | \d\d:\d\d:\d\d(?:[.,]\d+)?[ ](?:-[ ])?
    | \d+\.\d\d\.\d{{3}}\.\d{{3}}[ ](?P<ggml>[EWID])[ ]                                    # 0.00.302.419 I (llama.cpp)
    | \[\d\d/\d\d/\d{{4}}-\d\d:\d\d:\d\d\][ ]
    | \[TRT(?:-LLM)?\][ ]
    | (?:\[_torch\])?\[(?P<mpi>RANK[ ]\d+)\][ ]?
    | \[(?P<trt>[EWIF])\][ ]
    | \[TensorRT-LLM\]\[(?P<cpp>{_LEVELS})\][ ]?
    | \[(?P<bracket>{_LEVELS})\][ ]?
    | (?P<vllm>{_LEVELS})[ ]\d\d-\d\d[ ]\d\d:\d\d:\d\d[ ]\[?(?P<place>[\w./]+:\d+)\][ ]?   # ERROR 11-29 16:25:30 [a:9]
    | \[(?P<address>\w+\.py:\d+)\][ ]?                                                # [core.py:9], cut off at the left
    | (?:[A-Za-z_][\w.]*[ ]-[ ])?(?P<dashed>{_LEVELS})[ ]-[ ]                         # vllm.engine - ERROR - x
    | (?P<logging>{_LEVELS})(?::[\w.]*:[ ]?|:[ ]+|[ ]+(?=\S))                         # INFO:     x, ERROR:root:x
    """,
    re.VERBOSE,
)
_MESSAGES = ("log", "msg", "message", "MESSAGE")
"""Where docker's, a structured logger's and journald's JSON keep the line."""
_ANSWER = frozenset({"object", "code", "type", "choices"})
"""Keys of what a server answers, which is no line of a log."""
_FRAMES = ("│", "┃", "║")
"""A terminal's frame around what was copied from it."""
_SOURCES = ("compose", "pod", "stern", "task", "unit", "process", "rank", "ranks", "mpi")
_WARNING = re.compile(r"\b[A-Z]?\w*Warning: |^\s*warnings\.warn\(|^[Ww]arning: ")
_INITIAL = {"D": "DEBUG", "E": "ERROR", "W": "WARNING", "I": "INFO", "F": "FATAL", "WARN": "WARNING"}


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a log.

    Attributes:
        text: without the logger's prefix, its indentation kept.
        raw: with it.
        source: the process or rank that printed it, empty when the line does not say.
        place: the logger's own address (`core.py:12`), which all lines of one message share.
        level: in capitals, empty when the line does not say.
    """

    line: int
    text: str
    raw: str
    source: str = ""
    place: str = ""
    level: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What the lines of one message of one process have in common."""
        return self.source, self.place

    @property
    def indent(self) -> int:
        """Characters of the prefix."""
        return len(self.raw) - len(self.text)

    @property
    def harmless(self) -> bool:
        """It says itself that it is not an error."""
        return self.level in ("DEBUG", "INFO", "NOTICE", "WARNING")


def record(line: int, data: bytes) -> Record:
    """The record of a line's bytes; of a progress bar, what was to be seen last."""
    raw = pieces(data)[-1].rstrip()
    if raw.startswith('{"'):
        raw = _wrapped(raw)
    elif raw[:1] in _FRAMES or raw[-1:] in _FRAMES:
        raw = raw.removeprefix(raw[:1] if raw[:1] in _FRAMES else "").removeprefix(" ").rstrip("│┃║ ")
    position, sources, place, level = 0, list[str](), "", ""
    while part := _PART.match(raw, position):
        position, kind = part.end(), part.lastgroup
        if kind is None or not (value := part[kind].strip()):
            continue
        if kind in _SOURCES:
            sources.append(value)
        elif kind == "address":
            place = value
        elif kind == "place":
            place, level = value, _INITIAL.get(part["vllm"], part["vllm"])
        else:
            level = _INITIAL.get(value, value)
    text = raw[position:]
    if not level and _WARNING.search(text):
        level = "WARNING"
    return Record(line, text, raw, " ".join(sources), place, level)


def _wrapped(raw: str) -> str:
    """The line inside of a line of JSON, such as docker's own files hold."""
    try:
        said = json.loads(raw)
        if _ANSWER & set(said):
            return raw
        line = next(str(said[name]) for name in _MESSAGES if name in said)
    except (ValueError, StopIteration, TypeError):
        return raw
    return clean(line.encode("utf-8", "replace")).decode("utf-8", "replace").rstrip()
