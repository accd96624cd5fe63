"""What leaves the machine leaves without secrets and stays readable: the same secret, the same placeholder, everywhere.

`<token-1>` says what was there without saying it, so a maintainer can still see that two lines speak of one host. A
secret that its surroundings gave away once (`password=…`, `ssh alice@box`) is replaced wherever else its word occurs.

Left alone on purpose: identifiers of requests and devices (UUIDs; they mean nothing outside this log), hashes of models
and commits, versions with four numbers where they are plainly that (`==12.8.4.1`, `cudnn 9.10.2.21`, `libx.so.1.2.3`),
loopback and unspecified addresses, host names of well-known public sites, /root. Empty strings stay empty: that an
answer was empty is often the finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from ruleout.model.private import COMMON_NAMES, KINDS, PLACEHOLDER, RULES

SECRETS = ("key", "signature", "token", "password")
"""The kinds that open doors: nobody wants to see them anywhere, while paths and hosts are needed where they are."""
_PASSES = 6
"""After how many passes over a text its redaction is held to be complete; two are usual."""
_SHORTEST = {"token": 6, "password": 6, "key": 12, "user": 5, "host": 4}
"""Letters that a secret of a kind needs to be looked for without its surroundings."""

_PROMPT_KEY = re.compile(
    r"""(?:(?<![\w$])|(?<=\\[nrt]))
    (?P<named>(?P<q>\\{0,7}["'])(?:(?:\w{1,20}_)?prompt|content|input|input_text|instructions|question|completion|generated_text
        |output_text|reasoning_content|(?P<text>text))(?P=q)\s{0,4}:\s{0,4}(?:\[\s{0,4})?
      |(?:(?:\w{1,20}_)?prompt|input_text)\s{0,2}[:=]\s{0,2}(?:\[\s{0,4})?
      |(?<=[(,\s])(?P<repr>text)=)
    (?P<open>\\{0,7}["'])""",
    re.VERBOSE,
)
_TEXT_PART = re.compile(
    r"""type\\{0,7}["']\s{0,4}:\s{0,4}\\{0,7}["'](?:text|input_text|output_text)\\{0,7}["']\s{0,4},\s{0,4}$|out=\{\s{0,4}$"""
)
"""Before a key `text` that is a part of a message."""
_TEXT_OF_ANSWER = re.compile(
    r"""\\{0,7}["']\s{0,4},\s{0,4}\\{0,7}["'](?:output_ids|meta_info|logprobs|finish_reason|token_ids|prompt_token_ids)\b"""
)
"""Behind the value of a key `text` that is an engine's answer."""
_NEXT_IN_LIST = re.compile(r"""\\{0,7}["']\s{0,4},\s{0,4}\\{0,7}["']""")
_LONGEST_PEM = 16384
_PEM = re.compile(r"-----BEGIN (?P<label>[A-Z0-9 ]{1,40})-----")
_PEM_REST = re.compile(
    r"""(?:(?:\r?\n|\\[nr]){1,2}(?:(?:Proc-Type|DEK-Info)[^\n\\]{0,100}|[\w+/=]{1,80}(?=\r?\n|\\[nr]|["']|\Z)))*+"""
)
"""What follows when a block breaks off: lines of nothing but its letters."""
_WORDS = tuple(
    re.compile(rf"{PLACEHOLDER.pattern}|{word}") for word in (r"[\w.+/=~-]*[\w=]", r"[\w.-]*\w", r"[A-Za-z0-9_-]++")
)
"""Words as wide as a secret may be, then narrower ones inside them."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What was replaced by what, and how often.

    Attributes:
        original: the secret, for a preview by the person whose it is; it is in no `repr` and must not leave either.
    """

    kind: str
    placeholder: str
    count: int
    original: str = field(repr=False, compare=False, default="")


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text that may leave, and what is no longer in it, in the order in which it was met."""

    text: str
    replacements: tuple[Replacement, ...]


def redact(text: str) -> Redacted:
    """A text without tokens, keys, passwords, addresses, names of users and hosts, homes and prompts.

    Never raises; takes time linear in the text; redacting again changes nothing.
    """
    redactor = Redactor()
    return Redacted(redactor(text), redactor.replacements)


class Redactor:
    """Redacts several texts (a log, the command, the environment) with one numbering, so that they can be compared."""

    def __init__(self, kinds: Collection[str] = KINDS) -> None:
        """One that replaces what is of these kinds."""
        self._kinds = frozenset(kinds)
        self._placeholders: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._last = dict.fromkeys(KINDS, 0)
        self._words: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The redacted text."""
        for found in PLACEHOLDER.finditer(text):  # those of an earlier redaction keep their numbers
            kind, _, number = found[0][1:-1].partition("-")
            if found[0] not in self._counts:
                self._last[kind] = max(self._last[kind], int(number))
        for _ in range(_PASSES):
            before, text = text, self._pass(text)
            if text == before:
                break
        return text

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        """What was replaced so far."""
        return tuple(
            Replacement(kind, placeholder, self._counts[placeholder], original)
            for (kind, original), placeholder in self._placeholders.items()
        )

    def _pass(self, text: str) -> str:
        if "prompt" in self._kinds:
            text = _spans(text, _prompts(text), self._placeholder)
        if "key" in self._kinds:
            text = _spans(text, _pem(text), self._placeholder)
        lowered = text.lower()
        for rule in RULES:
            if rule.needs and not any(need in lowered for need in rule.needs):
                continue
            matches = (found for found in rule.pattern.finditer(text) if rule.check(found))
            spans = (span for found in matches for span in _groups(found) if span[2] in self._kinds)
            text = _spans(text, spans, self._placeholder)
        return self._elsewhere(text, 0) if self._words else text

    def _placeholder(self, kind: str, original: str) -> str:
        key = kind, original
        if key not in self._placeholders:
            self._last[kind] += 1
            placeholder = f"<{kind}-{self._last[kind]}>"
            self._placeholders[key], self._counts[placeholder] = placeholder, 0
            self._learn(kind, original, placeholder)
        self._counts[self._placeholders[key]] += 1
        return self._placeholders[key]

    def _learn(self, kind: str, original: str, placeholder: str) -> None:
        names = [original, original.partition(".")[0]] if kind == "host" else [original]
        for name in names:
            if len(name) >= _SHORTEST.get(kind, 1 << 30) and name.lower() not in COMMON_NAMES:
                self._words.setdefault(name, placeholder)

    def _elsewhere(self, text: str, width: int) -> str:
        def known(found: re.Match[str]) -> str:
            placeholder = self._words.get(found[0])
            if placeholder is None:
                return found[0] if found[0][0] == "<" else self._elsewhere(found[0], width + 1)
            self._counts[placeholder] += 1
            return placeholder

        return _WORDS[width].sub(known, text) if width < len(_WORDS) else text


Span = tuple[int, int, str]
"""From, to, kind."""


def _spans(text: str, spans: Iterable[Span], placeholder: Callable[[str, str], str]) -> str:
    parts: list[str] = []
    position = 0
    for begin, end, kind in spans:
        if begin < position or PLACEHOLDER.fullmatch(text, begin, end):
            continue
        parts += [text[position:begin], placeholder(kind, text[begin:end])]
        position = end
    return "".join((*parts, text[position:])) if parts else text


def _groups(found: re.Match[str]) -> Iterator[Span]:
    for kind in found.re.groupindex:
        if kind in KINDS and found.start(kind) >= 0:
            yield *found.span(kind), kind


def _pem(text: str) -> Iterator[Span]:
    position = 0
    while found := _PEM.search(text, position):
        close = f"-----END {found['label']}-----"
        end = text.find(close, found.end(), found.end() + _LONGEST_PEM)
        if end >= 0:
            position = end + len(close)
        else:
            rest = _PEM_REST.match(text, found.end())
            position = rest.end() if rest else found.end()
        yield found.start(), position, "key"


def _prompts(text: str) -> Iterator[Span]:
    """What people asked and what they were told: the strings of requests and of the lines that log them."""
    position = line = 0
    while found := _PROMPT_KEY.search(text, position):
        position = begin = found.end()
        if line < begin:
            line = text.find("\n", begin)
            line = len(text) if line < 0 else line
        end = _end_of_string(text, begin, line, found["open"])
        if found["text"] and not _is_told(text, found.start(), end):
            continue
        listed = found[0].rstrip("\\'\"").rstrip().endswith("[")
        while True:
            position = end
            if text[begin:end].strip():
                yield begin, end, "prompt"
            another = _NEXT_IN_LIST.match(text, end, line) if listed else None
            if another is None:
                break
            begin = another.end()
            end = _end_of_string(text, begin, line, found["open"])


def _is_told(text: str, begin: int, end: int) -> bool:
    """Whether a key `text` with a value up to `end` is a part of a message or an answer, not a line of our reports."""
    before = _TEXT_PART.search(text, max(0, begin - 60), begin)
    return before is not None or _TEXT_OF_ANSWER.match(text, end) is not None


def _end_of_string(text: str, begin: int, line: int, opened: str) -> int:
    """Where a string ends that was opened by a quote behind so many backslashes; the line's end if it never does."""
    quote, depth = opened[-1], len(opened) - 1
    end = text.find(quote, begin, line)
    while end >= 0:
        slashes = 0
        while end - slashes > begin and text[end - slashes - 1] == "\\":
            slashes += 1
        if slashes % 2 == 0 if depth == 0 else slashes <= depth:
            return end - min(slashes, depth)
        end = text.find(quote, end + 1, line)
    return line
