"""What a text says was changed: flags, variables, versions and settings by name, each with where it stands.

In code every word after a flag is its value. In a sentence only what looks like one is: `--enforce-eager makes no
difference` gives no level.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleout.model import ABSENT, PRESENT, UNSET, arguments
from ruleout.reading.notes.words import is_error, said

OFF, ON = "off", "on"


@dataclass(frozen=True, slots=True)
class Change:
    """A change in a text, from `begin` to `end`; `sure` unless only words tell of it."""

    begin: int
    end: int
    name: str
    level: str
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """A whole command in a text, as it stands there."""

    begin: int
    end: int
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a text says of settings. `baseline`: where it says that nothing was changed, or -1."""

    changes: tuple[Change, ...] = ()
    commands: tuple[Command, ...] = ()
    baseline: int = -1
    baseline_ends: int = -1

    @property
    def begin(self) -> int:
        """Where the first of them stands; -1 where there is none."""
        places = [*(one.begin for one in self.changes), *(one.begin for one in self.commands)]
        return min(places, default=self.baseline)


_PROGRAM = re.compile(
    r"(?:^|[\s/])(?:python[\d.]*\s+-m\s+(?:vllm|sglang|lmdeploy|tensorrt_llm|torch\.distributed)\S*|(?:vllm|sglang"
    r"|lmdeploy)\s+serve\b"
    r"|transformers\s+(?:serve|chat)\b|trtllm-\w+\s|llama-(?:server|cli|bench)\s|torchrun\s|accelerate\s+launch\s"
    r"|docker\s+run\s"
    r"|mpirun\s|srun\s|python[\d.]*\s+(?:-\w+\s+)*\S+\.py\b|launch_server\b)"
)
"""What a command that starts an engine has in it."""
_START = re.compile(r"^\s*(?:\(\w[\w.-]*\)\s*)?(?:[$#%❯>]\s+|\w[\w.-]*@[\w.-]+[^$#]*[$#]\s+)?")
_CODE = re.compile(r"`+([^`]+)`+|(?<![\w=~/-])[~=]([^\s~=](?:[^~=\n]*[^\s~=])?)[~=](?![\w=~])")
_STRUCK = re.compile(r"~~.*?~~")
_VARIABLE = re.compile(
    r"(?<![\w$/-])([A-Z][A-Z0-9]*_[A-Z0-9_]+|OMP|NCCL)\s?=\s?(\"[^\"]*\"|'[^']*'|[^\s,;`|)]*[^\s,;`|).:])"
)
_SPOKEN_VARIABLE = re.compile(
    r"(?<![\w$/-])([A-Z][A-Z0-9]*_[A-Z0-9_]{2,})`?\s+(?:(?:set )?to|is|at|:)\s+`?([\w./-]*\w)`?|"
    r"\b(?:unset(?:ting)?|without)\s+`?([A-Z][A-Z0-9]*_[A-Z0-9_]{2,})\b"
)
_FLAG = re.compile(r"(?<![\w/-])(--[A-Za-z][\w.-]*|-[a-zA-Z]{1,5}(?=[ =]\S))(?:(=)(\"[^\"]*\"|'[^']*'|[^\s,;`|)]+))?")
_VALUE = re.compile(r"\s+(\"[^\"]*\"|'[^']*'|\{[^{}]*\}|[^\s,;`|()→]+)")
_LOOKS = re.compile(r"-?\d[\w.]*|\w*[_/.\\]\w[\w./\\-]*|\w*\d\w*|[A-Z][A-Z0-9_]{2,}|[\[{\"'].*|\w+:\w+")
"""A word that is a value wherever it stands."""
_KNOWN = frozenset(
    [
        "on",
        "off",
        "auto",
        "true",
        "false",
        "none",
        "eager",
        "sdpa",
        "triton",
        "flashinfer",
        "torch_native",
        "trtllm",
        "aiter",
        "cutlass",
        "marlin",
        "cutedsl",
        "half",
        "bfloat",
        "float",
        "pytorch",
        "xgrammar",
        "outlines",
        "ray",
        "mp",
        "external",
        "pull",
        "kv",
        "full",
        "piecewise",
        "spawn",
        "fork",
        "ring",
        "tree",
        "simple",
        "deepep",
        "naive",
        "ascend",
        "flashmla",
        "cudnn",
        "bf",
        "fp",
        "nvfp",
        "mxfp",
        "dummy",
        "safetensors",
    ]
)
_NO_VALUE = frozenset(
    [
        "and",
        "or",
        "nor",
        "but",
        "with",
        "without",
        "then",
        "also",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "it",
        "its",
        "of",
        "the",
        "this",
        "that",
        "to",
        "too",
        "was",
        "were",
        "are",
        "be",
        "both",
        "again",
        "still",
        "same",
        "only",
        "now",
        "alone",
        "here",
        "there",
        "when",
        "while",
        "which",
        "where",
        "plus",
        "instead",
        "makes",
        "made",
        "gives",
        "gave",
        "did",
        "does",
        "do",
        "had",
        "has",
        "have",
        "just",
        "not",
        "no",
        "yes",
        "so",
        "since",
        "because",
        "if",
        "under",
    ]
)
"""Words that are no value, whatever follows them."""
_NAMED = re.compile(r"(?<![\w/$.-])([a-z][a-z0-9]*(?:[_-][a-z0-9]+)*)=(\"[^\"]*\"|'[^']*'|[^\s,;:|()`]+)")
_PARALLEL = re.compile(r"(?<![\w-])(tp|pp|dp|ep)[ =_-]?(?:size[ =]?)?(\d{1,3})\b", re.IGNORECASE)
_PACKAGES = (
    r"transformers|vllm|sglang|pytorch|torch|flashinfer(?:-python)?|triton|cuda(?:[ -]toolkit)?"
    r"|(?:nvidia[ -])?driver|nccl"
    r"|deep[_-]?gemm|flash[_-]attn|xformers|cutlass|llama\.cpp|tensorrt[_-]llm|trt-?llm|lmdeploy|python"
    r"|sgl[_-]kernel|numpy"
    r"|aiter|rocm|huggingface[_-]hub|tokenizers|compressed[_-]tensors|cudnn|deep[_-]?ep|kernel|nvshmem|xgrammar"
)
_VERSION = re.compile(
    rf"(?<![\w/-])({_PACKAGES})`?\s*(?:==|=|@|:|version|to|at|-|v)?\s*`?v?(\d+(?:\.\d+)+[\w.+-]*\w|\d+\.\d+"
    rf"|\d{{3}}(?=\b)|nightly|main|master|b\d{{4,}})\b",
    re.IGNORECASE,
)
_SWITCHES = (
    r"cuda ?-?graphs?|prefix[ -]cach(?:e|ing)|radix(?:[ -](?:cache|attention))?|chunked[ -]prefill"
    r"|overlap(?:[ -]schedul\w+)?"
    r"|custom[ -]all-?reduce|torch[. ]?compile|inductor|spec(?:ulative)?(?:[ -]decod\w+)?|mtp|eagle|eager(?:[ -]mode)?"
    r"|deep[ -]?gemm|flash[ -]?attention|continuous[ -]batching|mmap|async(?:[ -]scheduling)?|p2p|ecc|mig"
    r"|expert[ -]parallel\w*"
    r"|dp[ -]attention|piecewise(?:[ -]cuda)?(?:[ -]graphs?)?|kv[ -]cache[ -]quant\w*|quantization|hybrid[ -]kv\w*"
    r"|lora|nvls"
)
_OFF = r"off|disabled?|turned off|switched off|removed|deactivated"
_ON = r"on|enabled?|turned on|switched on|activated"
_SWITCHED = re.compile(
    rf"\b(?:(?P<before>{_OFF}|disabling|no|without|w/o|turning off|(?P<yes>{_ON}|enabling|with"
    rf"|in))\s+(?:the\s+)?(?P<thing>{_SWITCHES})"
    rf"|(?P<subject>{_SWITCHES})\s*(?:=|:|is|are|was|were)?\s*(?:all\s+)?(?:(?P<off>{_OFF})|(?P<on>{_ON})))\b(?!-)",
    re.IGNORECASE,
)
_TYPED = re.compile(
    r"\b(?P<type>bf16|fp16|fp8(?:_e[45]m[23])?|int8|bfloat16|float16|fp32|auto)\s+(?P<what>kv(?:[ -]cache)?|weights?"
    r"|activations?)\b"
    r"|\b(?P<first>kv(?:[ -]cache)?)\s+(?:in\s+|to\s+|as\s+|=\s*|dtype\s+)?(?P<then>bf16|fp16|fp8(?:_e[45]m[23])?"
    r"|int8|bfloat16|float16)\b",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"\b(?:without|w/o|minus|removed?|removing|drop(?:ped|ping)?|omit(?:ted|ting)?|leaving out|took (?:off|out)"
    r"|no)\s*(?:the\s+|flag\s+)*[`~=]?\s*$",
    re.I,
)
_REMOVED = re.compile(
    r"^[`~=]?\s*(?:was |is |flag |got )*(?:removed|dropped|taken (?:off|out|away)|left out|omitted)\b", re.I
)
_AND = re.compile(r"^[`\s]*(?:,|and|&|/|\+|or|nor)+[`\s]*(?:and\s+)?$", re.I)
_BASELINE = re.compile(
    r"\b(?:baseline|unchanged|unmodified|vanilla|stock|control|nothing(?: (?:is |was )?changed)?|no (?:extra "
    r"|special )?(?:changes?|flags?|args|options)|none"
    r"|as (?:above|is|before|usual|deployed|given|reported|in prod\w*)|without (?:any )?changes?|(?:the )?(?:usual"
    r"|prod\w*) (?:command|config|setup|flags)(?: line)?|(?:the )?original(?: command| config\w*| setup)?"
    r"|default(?:s| \w+)?|plain|out of the box|just the command)\b"
    r"|^\s*[-–—]\s*$|^\s*\(none\)|^\s*base\b",
    re.IGNORECASE,
)


_SAID_OF = re.compile(r"\s+(?:->|=>|→|⇒|➜)|\s[:;]\s")
"""What stands between a command and what became of it."""
_DESCRIBED = re.compile(r"\s*\([^)]*-")


def changes_in(text: str, *, words: bool = True) -> Found:
    """All that a text says of settings.

    Args:
        words: versions and switches that are only spoken of (`CUDA graphs off`) count as well.
    """
    text = _STRUCK.sub(lambda found: " " * len(found[0]), text)
    text = _CODE.sub(lambda found: " " * len(found[0]) if is_error(found[1] or found[2]) else found[0], text)
    commands = tuple(_commands(text))
    rest = _blanked(text, commands)
    changes = list(_flags_and_variables(rest))
    rest = _blanked(rest, changes)
    named = [Change(f.start(), f.end(), f[1], _bare(f[2])) for f in _NAMED.finditer(_plain(rest))]
    changes += named
    rest = _blanked(_plain(rest), named)
    if words:
        changes += _spoken(rest)
    changes.sort(key=lambda change: change.begin)
    base = _BASELINE.search(text)
    if base and changes and _DESCRIBED.match(text, base.end()):
        changes = []  # "as in production (--tp 16 …)": they say what the baseline is
    if changes or commands:
        base = None
    begin, end = base.span() if base else (-1, -1)
    return Found(tuple(changes), commands, begin, end)


def command_of(text: str) -> tuple[str, ...]:
    """The words of a text that is a command which starts an engine; none for any other text."""
    text = _START.sub("", arguments.uncommented(text)).strip()
    if not _PROGRAM.search(f" {text}") or len(text) > 8000:
        return ()
    words = split(text)
    begin = next((i for i, word in enumerate(words) if not re.fullmatch(r"export|env|exec|nohup|time|sudo", word)), 0)
    words = words[begin:]
    return tuple(words) if words and re.match(r"[A-Za-z./~][\w./~=:-]*$", words[0]) else ()


def settings(argv: Sequence[str]) -> dict[str, str]:
    """The flags and variables of a command, by name; values of one flag that stand in a row are joined."""
    found: dict[str, str] = {}
    words = list(argv)
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        found[name] = value
    program = arguments.program_ends(words)
    found["(program)"] = " ".join(words[:program])
    for name, value in _options(words[program:]):
        found[name] = value
    return found


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """What one command has other than another. An ellipsis stands for the rest of the command."""
    changed = {name: level for name, level in after.items() if before.get(name) != level and name != "(program)"}
    whole = "..." not in after and "…" not in after.get("(rest)", "") and "..." not in after.get("(rest)", "")
    if whole:
        gone = (name for name in before if name not in after and name != "(program)")
        changed |= {name: ABSENT if name.startswith("-") else UNSET for name in gone if not name.startswith("(")}
    rest = changed.pop("(rest)", None)
    if rest is not None and whole:
        changed["model"] = rest
    return changed


def split(text: str) -> list[str]:
    """The words of a command, as a shell splits them where it can."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _commands(text: str) -> Iterator[Command]:
    quoted = [(found.start(), found.end(), found[1] or found[2]) for found in _CODE.finditer(text)]
    for begin, end, inside in quoted:
        if argv := command_of(inside):
            yield Command(begin, end, argv)
    if not quoted and " -" in text:
        end = len(_SAID_OF.split(text, 1)[0])
        if argv := command_of(text[:end]):
            yield Command(0, end, argv)


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values, and what is neither as `(rest)`."""
    rest = [word.rstrip(",;") for word in words]
    loose: list[str] = []
    while rest:
        word = rest.pop(0)
        if re.match(r"--?[A-Za-z]", word):
            name, equals, value = word.partition("=")
            values = [value] if equals else []
            while not equals and rest and arguments.is_value(rest[0]) and not re.match(r"[A-Z_]+=", rest[0]):
                values.append(rest.pop(0))
            yield name, " ".join(values) if values else PRESENT
        elif re.match(r"[A-Z][A-Z0-9_]*=", word):
            yield tuple(word.split("=", 1))  # type: ignore[misc]
        else:
            loose.append(word)
    if loose:
        yield "(rest)", " ".join(loose)


def _flags_and_variables(text: str) -> Iterator[Change]:
    spans = []
    for found in _CODE.finditer(text):
        inside = found[1] or found[2]
        if re.match(r"\s*(?:export\s+|env\s+)?(?:--?[A-Za-z]|[A-Z][A-Z0-9_]*=)", inside):
            spans.append(found.span())
            yield from _in_code(text, found, inside)
    text = _blanked(text, [Change(a, b, "", "") for a, b in spans])
    variables = [Change(f.start(), f.end(), f[1], _bare(f[2])) for f in _VARIABLE.finditer(text)]
    for found in _SPOKEN_VARIABLE.finditer(text):
        name = found[1] or found[3]
        variables.append(Change(found.start(), found.end(), name, found[2] if found[1] else UNSET))
    yield from variables
    removed = 0
    for found in _FLAG.finditer(_blanked(text, variables)):
        name, end = found[1].rstrip(".-"), found.end()
        level = _bare(found[3]) if found[2] else PRESENT
        if _is_removed(text, found.start(), end, removed):
            level, removed = ABSENT, end
        elif level == PRESENT and (value := _value(text, end)):
            level, end = _bare(value[0]), value[1]
        if name.startswith("--") or level not in (PRESENT, ABSENT):
            yield Change(found.start(), end, name, level)


def _in_code(text: str, code: re.Match[str], inside: str) -> Iterator[Change]:
    begin, end = code.span()
    options = [(name, value) for name, value in _options(split(inside.removeprefix("export ").removeprefix("env ")))]
    options = [(name, value) for name, value in options if name != "(rest)"]
    if _is_removed(text, begin, end, 0) or _listed_after_removed(text, begin):
        options = [(name, ABSENT if name.startswith("-") else UNSET) for name, _ in options]
    elif len(options) == 1 and options[0][1] == PRESENT:
        said_after = re.compile(r"\s*(?:=|(?:set )?to|:?)\s*`([^`\s-][^`\s]*)`|\s+(?:set )?to\s+([\w./]+\w)").match(
            text, end
        )
        if said_after and not command_of(said_after[1] or ""):
            options, end = [(options[0][0], said_after[1] or said_after[2])], said_after.end()
        elif (value := _value(text, end)) is not None and _LOOKS.fullmatch(value[0]):
            options, end = [(options[0][0], _bare(value[0]))], value[1]
    for name, level in options:
        yield Change(begin, end, name, level)


def _is_removed(text: str, begin: int, end: int, removed: int) -> bool:
    """Whether the flag there is said to have been taken off: before it, after it, or with the one before it."""
    if _WITHOUT.search(text[max(0, begin - 40) : begin]) or _REMOVED.match(text[end : end + 40]):
        return True
    return bool(removed) and _AND.match(text[removed:begin]) is not None


def _listed_after_removed(text: str, begin: int) -> bool:
    """`without `--a` and `--b``: the second is taken off as well."""
    return re.search(r"\b(?:without|w/o|minus)\s+(?:`[^`]*`\s*(?:,|and|&|/|or)*\s*)+`?$", text[:begin]) is not None


def _value(text: str, end: int) -> tuple[str, int] | None:
    """The value after a flag in a sentence, with where it ends; None where the next word is none."""
    found = _VALUE.match(text, end)
    if found is None:
        return None
    word = found[1].rstrip(":.!?")
    if not word or word.startswith("-") or any(True for _ in said(word)):
        return None
    if word in _NO_VALUE:
        return None
    after = text[found.start(1) + len(word) :]
    ends = not after.strip() or re.match(r"\s*(?:[:,;|)(→`]|->|=>|--|-\s|$)", after) is not None
    plain = word.lower().rstrip("0123456789")
    if (
        _LOOKS.fullmatch(word)
        or (plain in _KNOWN and (ends or word not in ("on", "off")))
        or (ends and word.isalnum() and len(word) > 2)
    ):
        return word, found.start(1) + len(word)
    return None


def _spoken(text: str) -> Iterator[Change]:
    """Versions, parallel sizes and switches in words."""
    for found in _VERSION.finditer(text):
        yield Change(found.start(), found.end(), re.sub(r"[ -]", "_", found[1].lower()), found[2], sure=False)
    for found in _PARALLEL.finditer(text):
        yield Change(found.start(), found.end(), found[1].lower(), found[2], sure=False)
    for found in _SWITCHED.finditer(text):
        thing = re.sub(r"\W+", "_", (found["thing"] or found["subject"]).lower())
        on = found["yes"] or found["on"]
        yield Change(found.start(), found.end(), thing, ON if on else OFF, sure=False)
    for found in _TYPED.finditer(text):
        what = re.sub(r"\W+", "_", (found["what"] or found["first"]).lower())
        yield Change(found.start(), found.end(), what, found["type"] or found["then"], sure=False)


def _plain(text: str) -> str:
    """The text with the marks of code blanked out, one for one."""
    return text.replace("`", " ")


def _blanked(text: str, parts: Sequence[Change | Command]) -> str:
    for part in parts:
        text = text[: part.begin] + " " * (part.end - part.begin) + text[part.end :]
    return text


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
