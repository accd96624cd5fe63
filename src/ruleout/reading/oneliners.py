"""Failures that are told in a line without a traceback: by the device, the shell, the kernel, C++, Rust, a parser.

A line that says of itself that it is a warning, or information, is none of them.
"""

from __future__ import annotations

import re

from ruleout.model import FailureClass
from ruleout.reading.classes import classify, telling
from ruleout.reading.records import Record
from ruleout.reading.spotted import Spotted, Weight

CONSEQUENCE = re.compile(
    r'" 500 Internal|" 500$|\b[Ss][Ii][Gg][Qq][Uu][Ii][Tt]\b|Exception in ASGI application|EngineCore failed to start'
    r"|hit an exception|encountered a fatal error"
)
"""Lines that follow a failure and are none by themselves."""
WRAPPER = re.compile(
    r"EngineDeadError|initialization failed|Worker failed with error|ChildFailedError"
    r"|encountered an issue|ExceptionGroup|Executor worker returned error|Executor loop crashed"
    r"|hard-killing all|BrokenProcessPool|BrokenPipeError|ConnectionResetError"
    r"|[Ss]ee (?:root cause|stack trace)|ProcessRaisedException|background process|died unexpectedly"
    r"|ProcessExitedException|CalledProcessError"
)
"""Exceptions that say that another one was raised elsewhere."""

_DEVICE = re.compile(r"Assertion `(.+)` failed|block: \[\d+,\d+,\d+\].*Assertion [`'](.*)['`] failed")
_EXCEPTION = re.compile(
    r"^[-*>E ]{0,4}((?:[A-Za-z_]\w*\.)*(?=[A-Z])\w*(?:Error|Exception|Exit|Interrupt|OutOfResources"
    r"|Exceeded|Timeout|Failed|Unsupported|NotFound|Violation))(?::\s+(.*)|:?$)"
)
_CALLED = re.compile(r"^[-*> ]{0,4}((?:[A-Za-z_]\w*\.)*(?=[A-Z])\w*(?:Error|Exception))\(['\"](.+?)['\"],?\)")
_BUILTIN = re.compile(r"^(?:StopIteration|KeyError|IndexError|AttributeError|StopAsyncIteration|LookupError)$")
_MODEL = re.compile(r"error loading model: (.+)|^[a-z_]\w*: .{0,60}(failed to (?:load|allocate|create|initialize) .+)")
TRIED = re.compile(r"fall(?:ing|s)?[ -]?back|[Ii]gnor|[Cc]ontinu|[Rr]etry|[Ss]kip|[Uu]sing (?:the )?default")
"""What was done instead."""
DIES = re.compile(r"hit an exception|fatal error|failed to start|(?:[Ee]rror|[Ee]xception) in [\w ]*\bloop\b")
"""A process's word that it ends with the exception below."""
_RAISE = re.compile(r"^\s*raise ((?:\w+\.)*(?=[A-Z])\w*(?:Error|Exception))\(\s*[rfb]{0,2}(['\"])(.+?)(?:\2|$)")
_DOING = re.compile(r"^(?:Unhandled |Fatal )?[Ee]rror (?:in|while|during|from|when|at|\w+ing) [^:]{1,120}: (.+)")
_WITH = re.compile(r"\bwith exception ((?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception))(?:\([^()]*\))?: (.+)")
"""What became of one request, in a line of its own."""
_PARSER = re.compile(r"^[\w.\-]+(?: [\w.\-]+){0,3}: error: (.+)")
_SHELL = re.compile(
    r"^(?:[\w./\-]*sh|[\w./\-]+\.sh): (?:line \d+: |\d+: )?(.+: (?:command not found|not found"
    r"|No such file or directory|Permission denied|Is a directory|cannot execute.*))$"
    r"|^(?:[\w./\-]*python[\d.]*): (No module named .+|can't open file .+)$"
    r"|(exec: .*(?:not found|no such file).*)$|^env: (.+: No such file or directory)$"
)
_SIGNAL = re.compile(
    r"^(?:.*: line \d+:\s+\d+ )?(Segmentation fault|Killed|Aborted|Bus error|Illegal instruction"
    r"|Floating point exception)(?:\s+\(core dumped\)|\s{2,}.*)?$"
)
_KERNEL = re.compile(r"(Out of memory: Killed process.*|oom-kill:.*|^.*(?:general protection fault|segfault at).*)")
_BIND = re.compile(r"(\[Errno -?\d+\] error while attempting to bind on address .+)")
"""asyncio's word for an address that is taken, which uvicorn prints after its startup and then ends."""
_FATAL = re.compile(r"^Fatal Python error: (.+)|^(?:\[TM\])?\[FATAL\] (.+)")
_CHECK = re.compile(
    r"(Check failed: .+|^Failed: \w+ error .+|GGML_ASSERT\(.+|Assertion fail(?:ed)?: .+"
    r"|^[\w./\-]+(?::\d+)*: .*Assertion `.+' failed.*)"
)
_ASYNC = re.compile(r"(?:CUDA|HIP|ROCm|hip|cuda)(?: runtime| driver|\w*Error| error)")
LATE = (
    FailureClass.DEVICE_SIDE_ASSERT,
    FailureClass.ILLEGAL_MEMORY_ACCESS,
    FailureClass.ILLEGAL_INSTRUCTION,
    FailureClass.KERNEL_LAUNCH_ERROR,
)


def late(class_: FailureClass, text: str) -> bool:
    """Whether such an error is reported later than it happens, by whatever call comes next."""
    if class_ is FailureClass.NCCL_TIMEOUT_HANG:
        return "atchdog" in text
    if class_ is FailureClass.KERNEL_LAUNCH_ERROR:
        return "unspecified launch failure" in text
    return class_ in LATE and bool(_ASYNC.search(text))


def weigh(class_: FailureClass, exception: str, message: str) -> Weight:
    """How much an exception deserves to be called the failure."""
    if WRAPPER.search(f"{exception}: {message}") and telling(message) is None:
        return Weight.WEAK
    bare = class_ is FailureClass.OTHER and _BUILTIN.match(exception.rpartition(".")[2])
    return Weight.WEAK if bare else Weight.STRONG


def raising(source: str) -> tuple[str, str] | None:
    """The exception that a source line raises, and the message that it gives it."""
    found = _RAISE.match(source)
    return (found[1], found[3]) if found else None


def spot(record: Record) -> Spotted | None:
    """The failure that a line tells of, if it does."""
    text = record.text[:2000].strip()[:1000]
    if CONSEQUENCE.search(text) and telling(text) is None:
        return _spotted(record, FailureClass.OTHER, "", text, Weight.CONSEQUENCE)
    if record.harmless:
        return None
    if device := _DEVICE.search(text):
        said = f"Assertion `{(device[1] or device[2] or '').strip()}` failed."
        return _spotted(record, FailureClass.DEVICE_SIDE_ASSERT, "", said, asynchronous=True)
    if raised := _EXCEPTION.match(text) or _CALLED.match(text):
        exception, message = raised[1], (raised[2] or "").strip()
        class_ = classify(exception, message)
        return _spotted(record, class_, exception, message, weigh(class_, exception, message))
    if told := _WITH.search(text):
        return _spotted(record, classify(told[1], told[2]), told[1], told[2], Weight.WEAK)
    class_or_none = telling(text)
    for pattern in (_MODEL, _DOING, _BIND, _KERNEL, _FATAL, _PARSER, _SHELL, _SIGNAL, _CHECK):
        if (found := pattern.search(text)) and not (pattern is _MODEL and TRIED.search(text)):
            message = next(group for group in found.groups() if group)
            return _spotted(
                record, class_or_none or classify("", message), "", message, weigh(FailureClass.NONE, "", message)
            )
    if class_or_none:
        return _spotted(record, class_or_none, "", text)
    if WRAPPER.search(text):
        return _spotted(record, FailureClass.OTHER, "", text, Weight.WEAK)
    if record.level in ("CRITICAL", "FATAL"):
        return _spotted(record, classify("", text), "", text, Weight.WEAK)
    return None


def _spotted(
    record: Record,
    class_: FailureClass,
    exception: str,
    message: str,
    weight: Weight = Weight.STRONG,
    asynchronous: bool = False,
) -> Spotted:
    return Spotted(
        class_,
        exception,
        message[:1000],
        record.line,
        record.line,
        record.text.strip()[:1000],
        weight,
        rank=record.source,
        asynchronous=asynchronous or late(class_, f"{exception} {message}"),
        logged=bool(record.level) and record.raw != record.text,
    )
