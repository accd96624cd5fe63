"""The values that runs are compared by: settings in effect, versions, hardware. Names, paths and ports are none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, fields

from ruleout.model import ChosenBy, Component, Diagnosis, Environment
from ruleout.model.spelling import same

C = Component
UNSET = "not given"
"""The level of a setting that others asked for and that this run, whose command is known, did not."""
ENVIRONMENT: dict[str, Component | None] = {
    "engine": None, "engine_version": None, "gpu": C.KERNEL_ARCH_SUPPORT, "sm": C.KERNEL_ARCH_SUPPORT, "gpus": None,
    "cuda": C.INSTALL_ABI, "driver": C.INSTALL_ABI, "rocm": C.INSTALL_ABI, "python": C.INSTALL_ABI,
    "torch": C.INSTALL_ABI, "transformers": C.TRANSFORMERS_VERSION, "triton": C.INSTALL_ABI,
    "flashinfer": C.INSTALL_ABI, "nccl": C.NCCL, "model": None, "model_type": None,
    "quantization": C.QUANTIZATION, "dtype": None,
}  # fmt: skip
"""What a run ran on, and the part of the stack that it decides on, where it is one."""
_ENGINE_S = ("engine_version", "dtype", "quantization")
"""Those of them in which two engines differ by their own ways of saying it."""
_IDLE = re.compile(
    r"(?:^|_)(?:host|port|ports|path|dir|directory|file|url|addr|address|seed|name|names|key|log|logs|level|rank"
    r"|tokenizer|revision|template|parser|metrics|timeout|interval)(?:_|$)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LONGEST, _ALONE = 60, 3


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a run.

    Attributes:
        asked: the user asked for one, not necessarily for this.
        said: the engine said in a line of its own that it chose it; a printed configuration does not.
        printed: it stands in a printed configuration, and who chose it is not told; what the engine measured is none.
    """

    text: str
    requested: str | None
    chosen_by: ChosenBy | None
    line: int
    source: str
    said: bool = False
    printed: bool = False

    @property
    def asked(self) -> bool:
        return self.requested is not None

    @property
    def overruled(self) -> bool:
        """Something else was asked for than is in effect."""
        return self.requested is not None and not same(self.requested, self.text)

    @property
    def number(self) -> bool:
        return bool(_NUMBER.fullmatch(self.text))


def beside(run: Diagnosis, lead: Diagnosis) -> dict[str, Value]:
    """The values of a run that can be held against another's: of another engine, only what it ran on."""
    found = values(run)
    if not run.engine.name or not lead.engine.name or run.engine.name == lead.engine.name:
        return found
    return {name: value for name, value in found.items() if name in ENVIRONMENT and name not in _ENGINE_S}


def values(run: Diagnosis) -> dict[str, Value]:
    """The values of a run by their names."""
    together = Counter((s.source, s.line) for s in run.settings if s.resolved is not None)
    configured = {(s.source, s.line) for s in run.settings if s.resolved and not _NUMBER.fullmatch(s.resolved)}
    found: dict[str, Value] = {}
    for setting in run.settings:
        text = setting.resolved if setting.resolved is not None else setting.requested
        if text is None or _idle(setting.name, text):
            continue
        said = setting.chosen_by is ChosenBy.ENGINE and together[setting.source, setting.line] <= _ALONE
        found[setting.name] = Value(
            text,
            setting.requested,
            setting.chosen_by,
            setting.line,
            setting.source,
            said and not text.isdecimal(),
            setting.chosen_by is None and (setting.source, setting.line) in configured,
        )
    source = run.sources[0].name if run.sources else ""
    for name, told in _ran_on(run).items():
        found.setdefault(name, Value(told, None, None, 0, source))
    return found


def _ran_on(run: Diagnosis) -> dict[str, str]:
    known = {f.name: getattr(run.environment, f.name) for f in fields(Environment) if f.name in ENVIRONMENT}
    told = {name: str(value) for name, value in known.items() if value is not None}
    if model := told.get("model"):
        told["model"] = model.rstrip("/").rpartition("/")[2]
    if run.engine.name:
        told["engine"] = run.engine.name
    if run.engine.version:
        told["engine_version"] = run.engine.version
    return told


def _idle(name: str, text: str) -> bool:
    """A name, a path, a port or a structure: runs differ in those, and no failure hangs on it."""
    return bool(_IDLE.search(name)) or name == "m" or "/" in text or len(text) > _LONGEST or text[:1] in ("{", "(", "<")
