"""The stage, the rank and the final class of a failure that was found.

The log's own stages come first: what began last was going on. The stack knows better where it is inside of a stage
(a graph is captured while the last line still speaks of the KV cache); words around it are asked where neither tells.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ruleout.model import FailureClass, Stage
from ruleout.reading.classes import classify
from ruleout.reading.facts import FactsReader
from ruleout.reading.fields import FIELD_LINES, told_of_fields
from ruleout.reading.infer import EXCERPT
from ruleout.reading.spotted import Spotted, Weight
from ruleout.reading.timeline import SERVING
from ruleout.reading.where import of_frames, of_words, usual

F, S = FailureClass, Stage
_KILLED = re.compile(r"\bSIGKILL\b|[Ee]xit(?:ed with)? ?code:? ?-?(?:9|137)\b|exitcode[=: ]+-9\b|': -9\b|signal 9\b")
"""What a parent says of a child that was killed from outside."""
_SYMBOL = re.compile(r"undefined symbol")
_SOURCE = re.compile(r"\.(?:cu|cuh|hpp|cpp|cc|h)\b[:(]")
"""A file of a kernel or of the code that launches it: by then, arguments and configuration have been read."""
_REFUSES = re.compile(r"(?:^|\.)(?:ValueError|NotImplementedError|ValidationError)$")
"""Exceptions with which an engine refuses what it is given, before it runs anything."""
_COMMAND = re.compile(r"^\s*[$>#] ")
"""A typed command names settings of every stage, and speaks of none."""
_BEFORE = (S.INSTALL_IMPORT, S.ARG_PARSING, S.MODEL_CONFIG)
_RANK = re.compile(r"\b(?:TP|[Rr]ank[ =]?|RANK |Worker_TP|Worker-|VllmWorker-)(\d+)")
_ANY_RANK = re.compile(r"\b[A-Z]+(\d+)\b")


def rank_number(process: str) -> int | None:
    """The number of the rank that a prefix tells: its tensor-parallel one, or the innermost, if it tells several."""
    found = _RANK.findall(process) or _ANY_RANK.findall(process)[:1]
    return int(found[-1]) if found else None


def refined(chosen: Spotted, reader: FactsReader) -> Spotted:
    """The failure with the class that lines beside it give it."""
    candidates = reader.failures.candidates
    if chosen.class_ is F.OTHER and any(_KILLED.search(c.text) for c in candidates):
        chosen = replace(chosen, class_=F.HOST_OOM_KILL)
    below = [r.text for r in reader.head if 0 < r.line - chosen.line <= FIELD_LINES]
    if said := told_of_fields(chosen.message, below):
        chosen = replace(chosen, message=said, class_=classify(chosen.exception, said))
    if chosen.class_ is F.OTHER and reader.read <= EXCERPT:
        around = " ".join(record.text for record in reader.head if record.line != chosen.line)
        chosen = replace(chosen, class_=classify(chosen.exception, chosen.message, context=around))
    of_nan = chosen.class_ is F.DEVICE_SIDE_ASSERT and "probability tensor" in chosen.message
    if of_nan and any(other.class_ is F.NAN_INF for other in candidates):
        return replace(chosen, class_=F.NAN_INF)
    if chosen.class_ is F.IMPORT_ABI:
        earlier = [w for w in reader.warnings.found if w.line < chosen.line and _SYMBOL.search(w.text)]
        if earlier:
            line, text = earlier[0].line, earlier[0].text
            return replace(chosen, class_=F.MISSING_SYMBOL, line=line, start=line, text=text, message=text, frames=())
        if reader.read <= EXCERPT and any(_SYMBOL.search(record.text) for record in reader.head):
            return replace(chosen, class_=F.MISSING_SYMBOL)
    return chosen


def place(chosen: Spotted, reader: FactsReader) -> Stage:
    """The stage in which the failure happened."""
    if chosen.class_ is F.COMPILE_ERROR:
        return S.KERNEL_COMPILE
    # What a device reports has run on it, even if the log tells nothing of the stages in between.
    begun = S.UNKNOWN if chosen.asynchronous and chosen.stage in _BEFORE else chosen.stage
    told = f"{chosen.exception} {chosen.message} {chosen.text}"
    frames = of_frames(chosen.frames)
    if begun in SERVING:
        return frames if frames in SERVING else begun
    if begun is S.READY:
        return _ready(chosen, frames)
    words = None if chosen.asynchronous and frames else of_words(told)
    if reader.read > EXCERPT or begun is not S.UNKNOWN:
        return _of_log(chosen, begun, frames, words)
    return _settled(chosen, frames, words, _near(chosen, reader))


def _near(chosen: Spotted, reader: FactsReader) -> Stage | None:
    """The stage that the nearest line speaks of which speaks of any; of two as near, the one before the failure."""
    others = [r for r in reader.head if r.text.strip() and r.line != chosen.line and not _COMMAND.match(r.raw)]
    others.sort(key=lambda record: (abs(record.line - chosen.line), record.line))
    stages = [stage for record in others if (stage := of_words(record.text))]
    if _SOURCE.search(chosen.message) or chosen.asynchronous:
        stages = [stage for stage in stages if stage not in _BEFORE]
    return stages[0] if stages else None


def _ready(chosen: Spotted, frames: Stage | None) -> Stage:
    """A server that is ready fails with a request: with a prompt as long as nothing says that it generated."""
    if chosen.weight is not Weight.STRONG:
        return S.READY
    if frames in SERVING:
        return frames
    outside = chosen.class_ in (F.OTHER, F.HOST_OOM_KILL) and not chosen.frames
    return S.READY if outside else S.PREFILL


def _of_log(chosen: Spotted, begun: Stage, frames: Stage | None, words: Stage | None) -> Stage:
    """Stages that the log told, made more exact by the stack."""
    if begun in (S.UNKNOWN, *_BEFORE) and (chosen.class_ is F.MISSING_SYMBOL or _import(chosen)):
        return S.INSTALL_IMPORT
    if begun is S.UNKNOWN:
        return frames or words or usual(chosen.class_)
    if frames is None or frames is begun:
        return begun
    order = list(Stage)
    if frames is S.INSTALL_IMPORT and begun in (S.ARG_PARSING, S.MODEL_CONFIG) and chosen.class_ is not F.IMPORT_ABI:
        return begun  # the program's own outermost frame, of a run that had come further
    if begun is S.CUDA_GRAPH_CAPTURE and frames is S.PREFILL:
        return begun  # a `forward` is the model's own here, and no prompt's
    later = order.index(frames) >= order.index(begun)
    return frames if later or begun in (S.ARG_PARSING, S.MODEL_CONFIG) else begun


def _import(chosen: Spotted) -> bool:
    return chosen.exception.rpartition(".")[2] in ("ModuleNotFoundError", "ImportError")


def _settled(chosen: Spotted, frames: Stage | None, words: Stage | None, near: Stage | None) -> Stage:
    """The stage of a failure in an excerpt without any stage of its own."""
    if chosen.class_ in (F.MISSING_SYMBOL, F.UNKNOWN_MODEL_TYPE) or _import(chosen):
        return usual(chosen.class_)
    if words in _BEFORE and (_SOURCE.search(chosen.message) or chosen.asynchronous):
        words = None
    found = frames or words or near
    if found is None and chosen.class_ is F.IMPORT_ABI:  # no import failed: an object has not what the code expects
        return S.MODEL_CONFIG
    if found is None and chosen.class_ is F.INCOMPATIBLE_CONFIG_ASSERT and _SOURCE.search(chosen.text):
        return S.PREFILL
    refused = chosen.class_ in (F.UNSUPPORTED_ARCH, F.INCOMPATIBLE_CONFIG_ASSERT) and _REFUSES.search(chosen.exception)
    if refused and (found is None or (found is words and found in SERVING)):
        return S.MODEL_CONFIG
    return found or usual(chosen.class_)
