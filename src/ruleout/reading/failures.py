"""The first failure of a run, and what it brought about.

Only as many candidates are kept as a report could show, so a log of nothing but errors costs no more than a short one.
What a stopping server prints (cancelled tasks, dead engines, killed children) is no failure.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ruleout.model import FailureClass, Stage
from ruleout.reading.classes import classify
from ruleout.reading.faults import FATAL, Fault
from ruleout.reading.fields import told_of_fields
from ruleout.reading.oneliners import CONSEQUENCE, DIES, WRAPPER, late, raising, spot, weigh
from ruleout.reading.records import Record
from ruleout.reading.signature import normalise
from ruleout.reading.spotted import Spotted, Weight
from ruleout.reading.tracebacks import Block, Raised, Tracebacks

KEPT = {Weight.STRONG: 40, Weight.WEAK: 20, Weight.CONSEQUENCE: 20}
"""Candidates kept of each weight: the first ones."""
REPEATS = 5000
"""Repetitions of failures already kept (each thread's assertion, each request's error) after which no more is read."""

_STOPPING = re.compile(r"\[shutdown\]|^Shutting down|(?:[Rr]eceived|signal).{0,20}SIG(?:TERM|INT)|SIGTERM received")
_ORDINARY = re.compile(r"(?:^|\.)(?:CancelledError|KeyboardInterrupt|GeneratorExit)\b|(?:^|\.)SystemExit(?:: 0|:? *)$")
_STOPS = re.compile(r"^(?:KeyboardInterrupt|GeneratorExit|SystemExit(?:: 0)?$)")
_STOPPED = re.compile(
    rf"{WRAPPER.pattern}|^Killed|^Aborted|EOFError|ClosedResourceError|ClientDisconnect|ProcessLookupError"
)
_TRIED = re.compile(r"fall(?:ing|s)?[ -]?back|[Ii]gnor|[Cc]ontinu|[Rr]etry|[Ss]kip|[Dd]isabl")
_REFUSED = re.compile(
    r"[Ii]gnor(?:e|ing) import|Error in (?:preprocessing|applying|parsing|loading image)|[Ii]nvalid (?:request|prompt)"
    r"|[Bb]ad [Rr]equest"
)
"""Lines above the stack of a request that asked for what cannot be had."""
_TUNING = re.compile(r"(?:failure while|[Ff]ailed when) profiling|[Ss]kipping (?:tactic|kernel)")
"""An autotuner that leaves out what does not work here: flashinfer's and TensorRT-LLM's print the error of each tactic
that they skip, in healthy starts too (flashinfer/autotuner.py in https://github.com/flashinfer-ai/flashinfer)."""
_WORTH_READING = re.compile(f"Traceback|{_STOPPING.pattern}|{CONSEQUENCE.pattern}|{_TUNING.pattern}")
"""What even a line of no weight can say."""
_WARNS, _BELOW = re.compile(r"\b[A-Z]\w*Warning: *$"), 5
"""A warning whose words stand in the lines below it."""
_TOLERATED = 40
"""Lines after it that may belong to its message, as long as they bear no prefix of a logger."""
_TERMINATE = re.compile(
    r"terminate called (?:after throwing an instance of '([^']+)'|.*)|panicked at (?:'(.+)', )?\S+:\d+"
)
_WHAT = re.compile(r"^\s*(?:what\(\):\s*)?(.+)")
_COMPILER, _BUILD = re.compile(r"\berror: "), re.compile(r"ninja: build stopped")
"""A compiler's own word, and its driver's that it gave up."""
_ASSERT = re.compile(r"^\s+(assert .+)")


class Failures:
    """Collects candidates from the records of a log, in the order of its lines."""

    def __init__(self) -> None:
        self._tracebacks = Tracebacks()
        self._stages: dict[int, Stage] = {}
        self._requests: set[int] = set()
        self._dropped: set[int] = set()
        self._deadly: set[int] = set()
        self._pending: Record | None = None
        self._asserted: Record | None = None
        self._stopping = False
        self._fault: Fault | None = None
        self.interrupted = 0
        """The line of the last interrupt from the keyboard."""
        self._tuning = self._warned = -_TOLERATED
        self.candidates: list[Spotted] = []
        self._room = dict(KEPT)
        self._seen: dict[tuple[str, str], int] = {}
        self._repeats = 0
        self.dropped = False
        """The last line told of a failure of a kind for which there is no more room."""

    @property
    def busy(self) -> bool:
        """The next lines have to be read one by one."""
        return not self.full and (self._tracebacks.busy or self._pending is not None or self._fault is not None)

    @property
    def state(self) -> tuple[int, int, bool]:
        """Differs before and after a line that has changed anything, or `busy` does."""
        return len(self.candidates), self._repeats, self._stopping

    @property
    def full(self) -> bool:
        """Nothing that follows can change the answer."""
        return not self._room[Weight.STRONG] or self._repeats > REPEATS

    def line(self, record: Record, stage: Stage, before: Record | None = None) -> bool:
        """Read a line in that stage; `before` is the line above a traceback's header. True: it tells of a failure."""
        self.dropped = False
        if self.full:
            self._pending = None
            return False
        if self._pending:
            self._told(self._pending, record, stage)
            self._pending = None
            return True
        if self._fault:
            if self._fault.take(record.line, record.text):
                return True
            self._dumped()
        if record.harmless and not self._tracebacks.busy and not _WORTH_READING.search(record.text):
            return False
        if "Traceback (most" in record.text:
            self._header(record, stage, before)
        consumed = self._tracebacks.feed(record)
        self._harvest()
        if consumed:
            return True
        self._stopping = self._stopping or bool(_STOPPING.search(record.text))
        if self._is_tolerated(record):
            return False
        if asserted := _ASSERT.match(record.text):
            self._asserted = replace(record, text=asserted[1])
        if _TERMINATE.search(record.text) and not record.harmless:
            self._pending = record
            return True
        if _WARNS.search(record.text):
            self._warned = record.line
        if spotted := spot(record):
            if record.raw == record.text and 0 < record.line - self._warned <= _BELOW:
                spotted = replace(spotted, weight=max(spotted.weight, Weight.WEAK))
            self._add(self._with_source(spotted).at(stage))
            if FATAL in record.text:
                self._fault = Fault(record.line)
        return spotted is not None

    def _dumped(self) -> None:
        """Python's own dump of its stacks is over: the frames belong to the fault above it."""
        assert self._fault
        for index, known in enumerate(self.candidates):
            if known.line == self._fault.line and self._fault.frames:
                self.candidates[index] = replace(known, frames=tuple(reversed(self._fault.frames)))
        self._fault = None

    def _is_tolerated(self, record: Record) -> bool:
        """It belongs to what an autotuner tried and left out."""
        if _TUNING.search(record.text):
            self._tuning = record.line
            return True
        return record.raw == record.text and 0 < record.line - self._tuning < _TOLERATED

    def finish(self) -> None:
        """The log is over."""
        self._tracebacks.finish()
        self._harvest()
        if self._pending:
            self._told(self._pending, None, Stage.UNKNOWN)
        if self._fault:
            self._dumped()

    def _header(self, record: Record, stage: Stage, before: Record | None) -> None:
        self._stages[record.line] = stage
        if before and CONSEQUENCE.search(before.text) and "ASGI" in before.text:
            self._requests.add(record.line)
        if DIES.search(record.text) or (before and DIES.search(before.text)):
            self._deadly.add(record.line)
        tried = before and (_TRIED if before.level == "WARNING" else _REFUSED).search(before.text)
        if record.harmless or tried:
            self._dropped.add(record.line)

    def _with_source(self, spotted: Spotted) -> Spotted:
        """An assertion without a text has its source line for one, where that was printed right above."""
        above = self._asserted
        if spotted.message or not above or not 0 < spotted.line - above.line <= 3:
            return spotted
        return replace(spotted, message=above.text, class_=classify(spotted.exception, above.text))

    def _told(self, first: Record, second: Record | None, stage: Stage) -> None:
        """A C++ exception or a Rust panic: its type, and in the line below it, its message."""
        found = _TERMINATE.search(first.text)
        what = _WHAT.match(second.text) if second else None
        message = (found and found[2]) or (what[1].strip() if what else "") or first.text.strip()
        exception = (found and found[1]) or ("panic" if "panicked" in first.text else "")
        class_ = classify(exception, message[:1000])
        start = second.line if second and what else first.line
        text = (second.text if second and what else first.text).strip()
        self._add(
            Spotted(class_, exception, message[:1000], first.line, start, text[:1000], rank=first.source, stage=stage)
        )

    def _harvest(self) -> None:
        for block in self._tracebacks.done:
            stage = self._stages.pop(block.members[0].start, Stage.UNKNOWN)
            start = block.members[0].start
            dropped, request = start in self._dropped, start in self._requests
            self._dropped.discard(start)
            self._requests.discard(start)
            deadly = start in self._deadly
            self._deadly.discard(start)
            if block.members[-1].exception == "KeyboardInterrupt":
                self.interrupted = block.members[-1].line
            if not dropped and (spotted := decide(block)):
                if request and spotted.class_ is FailureClass.OTHER:
                    spotted = replace(spotted, weight=Weight.WEAK)
                self._add(replace(spotted, stage=stage, deadly=deadly))
            if not self._tracebacks.busy:
                self._stages.clear()
        self._tracebacks.done.clear()

    def _add(self, spotted: Spotted) -> None:
        told = f"{spotted.exception}: {spotted.message}" if spotted.exception else spotted.message
        if _ORDINARY.search(told) or (self._stopping and _STOPPED.search(told)):
            return
        told_by = self._seen.get((spotted.exception, spotted.message))
        if told_by is not None:  # a traceback that ended later may have begun earlier
            before = self.candidates[told_by]
            if spotted.frames and not before.frames:  # of a stack whose header was cut off, the whole one
                before = self.candidates[told_by] = replace(before, frames=spotted.frames)
            if spotted.start < before.start:
                decided = before if before.exception and before.line < spotted.line else spotted
                self.candidates[told_by] = replace(decided, start=spotted.start, stage=spotted.stage)
            self._repeats += spotted.weight is Weight.STRONG
        elif not self._room[spotted.weight]:
            self.dropped = True
        else:
            self._seen[spotted.exception, spotted.message] = len(self.candidates)
            self._room[spotted.weight] -= 1
            self.candidates.append(spotted)


def decide(block: Block) -> Spotted | None:
    """The member of a chain that tells most: the first one that is neither a lookup's miss nor a wrapper."""
    members = [member for member in block.members if member.exception]
    if any(_STOPS.search(f"{m.exception}: {m.message}".rstrip(": ")) for m in members):
        return None
    rated = [_rated(member, block) for member in members]
    if not rated:
        return _cut(block.members[-1], block)
    return min(rated, key=lambda spotted: spotted.weight)


def _rated(member: Raised, block: Block) -> Spotted:
    message = told_of_fields(member.message, member.more) or member.message
    if not message and member.exception.endswith("AssertionError"):
        message = member.asserted
    if not message and member.more:
        message = next((line for line in member.more if any(map(str.isalpha, line))), "")
    if message.endswith(":") and (told := next((line for line in member.more if _COMPILER.search(line)), "")):
        message = told
    class_ = classify(member.exception, message, "\n".join(member.more), member.context)
    return Spotted(
        class_,
        member.exception,
        message[:1000],
        member.start,
        member.line,
        member.text.strip()[:1000],
        Weight.WEAK if _ORDINARY.search(member.exception) else weigh(class_, member.exception, message),
        tuple(member.frames),
        block.source,
        asynchronous=late(class_, f"{member.exception} {message}"),
    )


def _cut(member: Raised, block: Block) -> Spotted:
    """A traceback that ends before its exception."""
    text = member.asserted or (member.frames[-1] if member.frames else "")
    exception, message = raising(text) or ("", text)
    class_ = classify(exception, message) if exception else FailureClass.OTHER
    weight, frames = Weight.WEAK, tuple(member.frames)
    return Spotted(class_, exception, message, member.start, member.start, text, weight, frames, block.source)


def first(candidates: list[Spotted]) -> tuple[Spotted | None, list[Spotted]]:
    """The failure and its consequences, in the order of their lines, each kind of consequence once."""
    possible = [c for c in candidates if c.weight is not Weight.CONSEQUENCE]
    if not possible:  # of an excerpt, perhaps only the line is left in which a process says that it dies
        possible = [c for c in candidates if DIES.search(c.text)]
    if not possible:
        return None, []
    chosen = min(possible, key=lambda c: (c.weight, c.start))
    rest, seen = [], {normalise(chosen.message)}
    for other in sorted(candidates, key=lambda c: c.start):
        if other is chosen:
            continue
        if _same(chosen, other):
            chosen = replace(
                chosen,
                class_=other.class_ if chosen.class_ is FailureClass.OTHER else chosen.class_,
                exception=chosen.exception or other.exception,
                message=chosen.message if chosen.asynchronous or not other.exception else other.message,
                frames=chosen.frames or other.frames,
            )
            seen.add(normalise(other.message))
        elif other.start >= chosen.start and normalise(other.message) not in seen:
            seen.add(normalise(other.message))
            rest.append(other)
        if chosen.class_ is FailureClass.COMPILE_ERROR is other.class_ and _BUILD.match(other.message):
            chosen = replace(chosen, line=other.line, text=other.text)
        if other.class_ is FailureClass.DEVICE_SIDE_ASSERT and chosen.message.startswith("Assertion failed"):
            chosen = replace(chosen, class_=other.class_, asynchronous=True)
    return chosen, [other for other in rest if other.line > chosen.line]


def _same(chosen: Spotted, other: Spotted) -> bool:
    """The other is the stack of what was told in a line before, or the host's report of what the device asserted."""
    if chosen.exception or not other.exception:
        return False
    if chosen.asynchronous and other.asynchronous:
        return chosen.class_ is other.class_
    near = 0 <= other.start - chosen.line <= 50
    return near and bool(other.message) and normalise(other.message)[:80] in normalise(chosen.text)
