"""A failure that no line reports: the answers are wrong, the process was killed, a start went on for ever.

People paste what they think matters: a settings line, the last progress bar, a row of exclamation marks. Such an
excerpt has no failing line, and yet it tells what kind of failure its reader has. All of this is conclusion, not
reading, and is marked as `inferred`; a log that ran well to its end is never given a failure that way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ruleout.model import FailureClass, Stage
from ruleout.reading.records import Record

F, S = FailureClass, Stage
EXCERPT = 40
"""Lines up to which a text may be an excerpt that somebody pasted, rather than a log."""

_NAN_TEXT = re.compile(r"!{8,}")
_NAN = re.compile(r"\b(?:NaNs?|nan|NAN)\b(?!-)")
_REPEATED = re.compile(r"([^\s\w=\-#*.+_|/\\]|\w)\1{11,}|(\b\w{2,12}\b[ ,]?)\2{7,}")
_AGAIN = re.compile(r"(\b[^\W\d_]{2,12}\b[ ,]?)\1{7,}")
"""A word that follows itself, within other words."""
_WRONG = re.compile(
    r"(?i)\b(?:garbage|gibberish|garbled|nonsense|incoherent|wrong (?:output|answer|text|result)s?"
    r"|repeat(?:s|ing|ed)? (?:itself|tokens?|the same)|endless repetition|empty (?:content|response"
    r"|output)|corrupt(?:ed)? output|mojibake|degenerate)\b"
)
_ACCURACY = re.compile(
    r"(?i)\b(?:gsm8k|mmlu|gpqa|aime|humaneval|accuracy|score)\b.{0,80}(?:drop|degrad|lower|fell|0\.\d+"
    r"|\d+(?:\.\d+)? ?%)"
)
_LEAK = re.compile(r"(?i)memory leak|leak(?:s|ing) memory|\b(?:memory|RSS|VRAM)\b.{0,30}\b(?:grow|increas|climb|creep)")
_HUNG = re.compile(
    r"(?i)\b(?:hangs?|hung|stuck|freezes?|frozen|no (?:further )?output|never (?:returns|finishes)"
    r"|unresponsive|deadlocks?|0 tokens/s)\b"
)
_WAITING = re.compile(r"No available shared memory broadcast block found in \d+ second")
"""vLLM's readers of a queue say so every minute: https://github.com/vllm-project/vllm/issues/46611"""
_KILLED = re.compile(
    r"leaked (?:semaphore|shared_memory) objects? to clean up|\bSIGKILL\b"
    r"|exit(?:ed with)? code:? -?(?:9|137)\b|signal 9|exitcode[=: ]+-9"
)
_CONNECTING = re.compile(r"\bNCCL INFO\b")
_PROGRESS = re.compile(r"\b(\d{1,3})% ?(?:\||Completed)")
_COLLECTIVE = re.compile(
    r"(?i)custom_all_?reduce|nccl|nvlink|all_?reduce|all_?gather|broadcast|Registering \d+ cuda graph"
    r"|p2p|barrier"
)
_FP4_CACHE = re.compile(r"(?i)FP4.{0,12}KV ?Cache might")
_WORSE = re.compile(
    r"(?i)\b(?:may|might|can|could|will|may lead to|might lead to)\b.{0,40}"
    r"\b(?:degrad|less accurate|inaccurate|accuracy|wrong|incorrect)"
)
"""What an engine says of its own answers. Healthy starts say it too: it counts only where somebody picked the line."""
_MEMORY = re.compile(r"(?i)avail(?:able)?[ _]mem(?:ory)?[= :]+\d")


_FEW = 5
"""Lines that somebody picks by hand."""
_LISTED = re.compile(r"^[A-Za-z_][\w ,.\-]{0,40}: \S")
"""A line of a report, such as that of an environment."""
_KERNELS = re.compile(
    r"(?i)fp[48]_|_fp[48]|fp[48]_?(?:gemm|linear|einsum)|gemm|flash_?(?:attn|infer|mla)|cutlass|sm_?\d{2,3}"
)
"""Names that engines give to kernels of low precision or of attention: what wrong answers are put down to."""
_OF_A_LOG = re.compile(
    r'" [1-5]\d\d\b|ServerArgs\(|non-default args|\bthroughput\b|\bbatch[.,] |it/s|s/it|\d\d:\d\d:\d\d'
)
"""What a server prints as it runs: no word about answers."""
_COMMAND = re.compile(r"^\s*[$>#] ")
_HEALTHY = re.compile(
    r'" 200\b|[Ss]tartup complete|fired up and ready|server is (?:listening|ready)|Decode batch|throughput: [1-9]'
    r"|slot +release"
)
_BEGINNING = re.compile(r"server_args=|ServerArgs\(|API server version|non-default args|Initializing an? .{0,20}engine")
"""The first line of a log: who pastes from there on has not chosen the lines around a failure."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """A conclusion, and the record that speaks most for it."""

    class_: FailureClass
    stage: Stage
    record: Record
    why: str


def infer(records: Sequence[Record], stage: Stage, *, excerpt: bool) -> Inferred | None:
    """What the records tell of a failure that none of them reports.

    Args:
        records: of an excerpt, all; of a log, the first and the last ones.
        stage: the last stage begun.
        excerpt: somebody chose these lines, so they are about a failure.
    """
    texts = [record for record in records if record.text.strip()]
    if not texts:
        return None
    said = _described(texts, stage) if excerpt else None
    whole = any(_BEGINNING.search(record.text) for record in texts)
    if said is None and any(_HEALTHY.search(record.text[:2000]) for record in texts[-10:]):
        return _doubtful(texts)
    return (
        said
        or _stalled(texts[-10:], stage)
        or _ended(texts, stage, excerpt and not whole)
        or _doubtful(texts)
        or _chosen(texts, stage, excerpt)
        or (_picked(texts) if excerpt and not whole else None)
    )


def _find(pattern: re.Pattern[str], records: Sequence[Record]) -> Record | None:
    return next((record for record in records if pattern.search(record.text[:2000])), None)


def _described(records: Sequence[Record], stage: Stage) -> Inferred | None:
    """The wrong text itself, or somebody's word for it."""
    plain = [record for record in records if record.raw == record.text and not _FP4_CACHE.search(record.text)]
    if found := _find(_NAN_TEXT, plain):
        return Inferred(F.NAN_INF, S.DECODE, found, "token 0 over and over is what an argmax over NaN gives")
    if found := next((r for r in plain if _repeats(r.text.strip()[:400])), None):
        return Inferred(F.WRONG_OUTPUT, S.DECODE, found, "one token over and over")
    for pattern, class_, why in (
        (_NAN, F.NAN_INF, "NaN is spoken of"),
        (_LEAK, F.MEMORY_LEAK, "memory is said to grow"),
        (_WRONG, F.WRONG_OUTPUT, "the answers are said to be wrong"),
        (_ACCURACY, F.ACCURACY_LOSS, "a score is said to be too low"),
        (_HUNG, F.HANG, "it is said to stand still"),
    ):
        if found := _find(pattern, plain):
            return Inferred(class_, S.DECODE if stage is S.UNKNOWN else stage, found, why)
    return None


def _repeats(text: str) -> bool:
    return bool(_REPEATED.fullmatch(text) or _AGAIN.search(text))


def _stalled(records: Sequence[Record], stage: Stage) -> Inferred | None:
    """The last thing said is that a process waits for another one, or that ranks are being connected."""
    if found := _find(_WAITING, records):
        return Inferred(F.HANG, S.DECODE if stage is S.UNKNOWN else stage, found, "it ends waiting for a process")
    if _CONNECTING.search(records[-1].text) and stage in (S.UNKNOWN, S.ARG_PARSING, S.MODEL_CONFIG, S.DISTRIBUTED_INIT):
        why = "it ends while NCCL connects the ranks"
        return Inferred(F.NCCL_TIMEOUT_HANG, S.DISTRIBUTED_INIT, records[-1], why)
    return None


def _ended(records: Sequence[Record], stage: Stage, excerpt: bool) -> Inferred | None:
    """The start did not come to its end, and nothing says why."""
    if stage in (S.UNKNOWN, S.READY, S.PREFILL, S.DECODE, S.CONCURRENCY, S.SHUTDOWN):
        return None
    if found := _find(_KILLED, records):
        return Inferred(F.HOST_OOM_KILL, stage, found, "it ends without an error: it was killed from outside")
    if excerpt and stage is S.DISTRIBUTED_INIT:
        return Inferred(F.HANG, stage, records[-1], "it ends while ranks wait for each other, without an error")
    if not excerpt and (found := _unfinished(records[-3:])):
        return Inferred(F.HOST_OOM_KILL, stage, found, "it ends in the middle of work, without an error")
    if stage is S.CUDA_GRAPH_CAPTURE:
        if found := _find(_COLLECTIVE, records):
            return Inferred(F.HANG, stage, found, "it ends among collective operations, without an error")
        if excerpt:
            found = _find(_MEMORY, records) or records[-1]
            return Inferred(F.OOM, stage, found, "it ends in the capture, which takes memory, without an error")
    return None


def _unfinished(records: Sequence[Record]) -> Record | None:
    """A progress bar that does not come to its end."""
    bars = [(int(found[1]), record) for record in records if (found := _PROGRESS.search(record.text))]
    return bars[-1][1] if bars and bars[-1][0] < 100 else None


def _doubtful(records: Sequence[Record]) -> Inferred | None:
    if found := _find(_FP4_CACHE, records):
        return Inferred(F.WRONG_OUTPUT, S.DECODE, found, "nothing failed, and the engine doubts its own accuracy")
    return None


def _picked(records: Sequence[Record]) -> Inferred | None:
    """Of all lines, somebody picked one in which the engine doubts its own answers."""
    if len(records) <= _FEW and (found := _find(_WORSE, records)):
        return Inferred(F.WRONG_OUTPUT, S.DECODE, found, "nothing failed, and the engine doubts its own accuracy")
    return None


def _chosen(records: Sequence[Record], stage: Stage, excerpt: bool) -> Inferred | None:
    """Names of kernels and their settings, and nothing of a log: who picks those has wrong answers to ask about.

    A piece of a log, however short, is no such pick: it ends where it was cut, and tells nothing by that.
    """
    if not excerpt or stage not in (S.UNKNOWN, S.ARG_PARSING, S.MODEL_CONFIG):
        return None
    typed = [record for record in records if not _COMMAND.match(record.raw)]
    if not typed or len(typed) > _FEW or any(record.raw.strip() != record.text.strip() for record in typed):
        return None
    texts = [record.text for record in typed]
    listed = sum(bool(_LISTED.match(text)) for text in texts)
    if (
        any("Traceback" in text or _OF_A_LOG.search(text) for text in texts)
        or (len(texts) > 3 and 2 * listed > len(texts))
        or not any(map(_KERNELS.search, texts))
    ):
        return None
    return Inferred(F.WRONG_OUTPUT, S.DECODE, typed[0], "no error is shown, and somebody picked the names of kernels")
