"""What can be known before a launch: `ruleout.audit/1`, as types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from ruleout.model.vocabulary import Component


class Severity(StrEnum):
    """`error`: it will fail, or its answers will be wrong; `warning`: it may; `note`: good to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that will fail, will silently be wrong, or is worth knowing.

    Attributes:
        id: names the rule; the same wherever the rule finds something.
        what: what will happen, and why.
        where: the evidence: `config.json: rope_scaling`, `model-00001.safetensors: lm_head.weight`, a flag.
        remedy: what to do; empty where nothing needs to be done.
        source: where the rule comes from: a file of an engine's release, a page's address.
        component: the part of the stack that it is about.
    """

    id: str
    severity: Severity
    what: str
    where: str
    remedy: str = ""
    source: str = ""
    component: Component = Component.OTHER


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that is to serve. None and 0: not known.

    Attributes:
        sm: compute capability without a dot (`120`), or AMD's `gfx…`.
        gpus: how many.
        memory: bytes of each.
    """

    sm: str | None = None
    gpus: int = 0
    memory: int = 0


_THOUSANDS = {
    "vllm": {**dict(zip("kmgt", (10**3, 10**6, 10**9, 10**12), strict=True)),
             **dict(zip("KMGT", (1 << 10, 1 << 20, 1 << 30, 1 << 40), strict=True))},
    "sglang": {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
               "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40},
}  # fmt: skip
_SUFFIXED = re.compile(r"(?P<number>\d{1,18})(?P<fraction>\.\d{1,18})?(?P<suffix>[A-Za-z]{0,2})")


def whole(text: str, engine: str) -> int | None:
    """A whole number as an engine's command line has it, `32k` or `32K` included; None where it would be refused.

    Source: `human_readable_int` of vLLM 0.32 (utils/argparse_utils.py) and of SGLang 0.5.23 (srt/utils/common.py).
    """
    found = _SUFFIXED.fullmatch(text.strip())
    if not found:
        return None
    if not found["suffix"]:
        return None if found["fraction"] else int(found["number"])
    times = _THOUSANDS.get(engine, {}).get(found["suffix"])
    if times is None or (found["fraction"] and times % 1000):
        return None
    return int(Fraction(f"{found['number']}{found['fraction'] or ''}") * times)


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch command as it was parsed.

    Attributes:
        engine: `sglang`, `vllm`, `transformers`, …; empty where no command was given.
        version: of the engine that is installed; None where nobody asked it.
        arguments: by the flag's name in snake_case, as it was spelt; a bare flag is `present`.
        env: variables that the command sets.
        command: whether there is one, and not only the name of an engine.
        model: what it serves: a folder that is here, or a name as it was spelt; None where it does not say.
    """

    engine: str = ""
    version: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: bool = False
    model: str | None = None

    def value(self, *names: str) -> str | None:
        """The value of the first of these flags that is given; None where none is."""
        return next((self.arguments[name] for name in names if name in self.arguments), None)

    def number(self, *names: str) -> int | None:
        """The same as a whole number, with the suffixes that the engine takes; None where it is none."""
        value = self.value(*names)
        return whole(value, self.engine) if value is not None else None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The model, as its folder describes it. `parameters` counts those that the headers of its tensors tell."""

    path: str
    model_type: str | None = None
    parameters: int | None = None
    quantization: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What the model takes on each rank, and what is left for the KV cache.

    Attributes:
        assumed: by name, what was not given.
        kv_tokens_between: the tokens at either end of what is measured and not computed; None where kv_tokens is.
    """

    weights_gib_per_rank: float
    kv_bytes_per_token: int
    kv_tokens: int | None = None
    assumed: Mapping[str, Any] = field(default_factory=dict)
    kv_tokens_between: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class TensorStatistics:
    """What the numbers of one tensor are like, as its bytes were read.

    Attributes:
        file: that holds it.
        count: of its elements; packed formats hold more values than elements.
        nan, inf, zeros: how many elements are so. Zeros of integers are counted only where a whole block is zero.
        largest, smallest: magnitudes of finite elements.
        rms: root mean square of a sample of them; None where the dtype has no numbers of its own.
        constant: whether all elements are the same.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    count: int
    nan: int
    inf: int
    zeros: int
    largest: float
    smallest: float
    rms: float | None
    constant: bool


class RopeOutcome(StrEnum):
    """What one reader makes of the positions that a configuration means."""

    SAME = "same"
    DIFFERENT = "different"
    NAN = "nan"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RopeReading:
    """How one library reads the rotary positions of a configuration.

    Attributes:
        outcome: against what the configuration means.
        why: what it does with which key, where it does not do the same; the error where it fails.
        attention_scaling: the factor on cosines and sines.
        frequencies: how many inverse frequencies there are; `first` and `last` of them, in radians a token.
        angle_error: the largest difference of an angle, in radians, by the position in tokens; empty where it is the
            same or cannot be told.
        parameters: what it works with, by the name in `rope_parameters`.
        layer_type: the kind of layer with the largest difference, where layers differ.
        interleaved: whether neighbours are turned together rather than halves; None where that is not known.
    """

    outcome: RopeOutcome
    why: str = ""
    attention_scaling: float | None = None
    frequencies: int | None = None
    first: float | None = None
    last: float | None = None
    angle_error: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    layer_type: str | None = None
    interleaved: bool | None = None


@dataclass(frozen=True, slots=True)
class Departure:
    """What a library makes of a configuration, against another one that the weights were made with. `why`: by key."""

    outcome: RopeOutcome
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Audit:
    """All that was found, the worst first.

    Attributes:
        rope: by the library and its release (`transformers-5.2`).
        against: by the same, where there is an original to compare with.
        tensors: empty unless they were read.
    """

    model: ModelFacts
    findings: tuple[AuditFinding, ...] = ()
    memory: MemoryNeed | None = None
    rope: Mapping[str, RopeReading] = field(default_factory=dict)
    against: Mapping[str, Departure] = field(default_factory=dict)
    tensors: tuple[TensorStatistics, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether an error was found."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)
