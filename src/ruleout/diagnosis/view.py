"""The facts of a run as texts to search, so that a clue, wherever it stands, leads back to a line.

Several places, because a word weighs by where it stands: in the failure itself, in the lines near it, in what was asked
of the engine or chosen by it, in what the run ran on. A library may warn long before the exception that it leads to;
such a warning counts as long as the run got no further in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ruleout.diagnosis.overcome import Overcome
from ruleout.model import Evidence
from ruleout.model.diagnosis import SURVIVED, ChosenBy, Diagnosis, Setting

_COMMAND = re.compile(r"^\s*[$>#] ")
_MODEL = re.compile(r"(?:modeling|modular|configuration)_\w+|\bmodels[./]\w+|\b[A-Z]\w+For(?:CausalLM|Conditional\w+)")
"""Names of models say `moe` or `mla` whatever failed."""
_BAR = re.compile(r"\b\d{1,3}%\|.*(?:it/s|s/it|\?s)")
"""A progress bar: it names what is being loaded or captured, whatever failed."""
_FIELD = re.compile(r'^\s*"\w+": ')
"""A field of a configuration, printed as JSON. Of a whole one, each field stands there whatever failed."""
_IDLE = re.compile(r"\b[\w-]+['\"]?\s*[=:]\s*['\"]?(?:None|False|null|false|none|off|disabled|)['\"]?(?=[,;)}\]]|\s*$)")
"""A setting that is off. A dump of all settings names what never ran."""
OFF = frozenset({"", "None", "False", "null", "false", "none", "off", "disabled"})
_SPECULATIVE = ("speculative_algorithm", "speculative_config")
_PAIR = re.compile(r"\b\w+['\"]?\s*[=:]\s*\S")
DUMPED = 4
"""So many fields nobody picks by hand."""
LONGEST = 2000
SHORTEST = 12
"""Letters of a command that no other line has by chance."""


class Place(StrEnum):
    """Where a clue is looked for."""

    FAILURE = "failure"
    NEAR = "near"
    WHOLE = "whole"  # near, with the names of models
    WARNED = "warned"  # far above the failure, in the stage in which it failed
    LINES = "lines"
    SETTINGS = "settings"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class View:
    """What there is to search, by place: texts with their addresses."""

    diagnosis: Diagnosis
    texts: dict[Place, tuple[Evidence, ...]]

    def find(self, pattern: re.Pattern[str], place: Place) -> tuple[Evidence, re.Match[str]] | None:
        """The first text of a place that holds the pattern."""
        for text in self.texts[place]:
            if found := pattern.search(text.text):
                return text, found
        return None


def view(diagnosis: Diagnosis, near: Iterable[Evidence] = (), lines: Iterable[Evidence] = ()) -> View:
    """The view of a run: its facts, the lines near its failure and the others that were kept."""
    failure = diagnosis.failure
    said: tuple[Evidence, ...] = ()
    if failure:
        parts = [failure.text, f"{failure.exception}: {failure.message}", *failure.frames]
        said = tuple(Evidence(failure.source, failure.line, part[:LONGEST]) for part in parts if part)
    names = [n for n in (diagnosis.environment.model_type, diagnosis.environment.model) if n and len(n) > 3]
    weightless = {(warning.source, warning.line) for warning in diagnosis.warnings if warning.weight == 0}
    kept = [e for e in near if not _is_command(e.text, diagnosis) and (e.source, e.line) not in weightless]
    overcome = Overcome(diagnosis)
    kept = _told([e for e in kept if not (_BAR.search(e.text) or overcome(e))])
    source = diagnosis.sources[0].name if diagnosis.sources else ""
    values = [(s, s.resolved if s.resolved is not None else s.requested) for s in diagnosis.settings]
    settings = [Evidence(s.source or source, s.line, f"{s.name}={value}") for s, value in values if _is_on(s, value)]
    if diagnosis.command:
        settings.append(Evidence(source, 0, diagnosis.command[:LONGEST]))
    ran = diagnosis.environment
    known = [("engine", diagnosis.engine.name), *((name, getattr(ran, name)) for name in ran.__slots__)]
    known.append(("speculation", "off" if _speculates_not(diagnosis) else ""))
    environment = [Evidence(source, 0, f"{name}={value}") for name, value in known if value]
    return View(
        diagnosis,
        {
            Place.FAILURE: tuple(_without(names, e) for e in said),
            Place.NEAR: tuple(_without(names, e) for e in (*said, *kept)),
            Place.WHOLE: (*said, *kept),
            Place.WARNED: tuple(e for e in _warned(diagnosis) if not overcome(e)),
            Place.LINES: tuple(lines) or tuple(kept),
            Place.SETTINGS: tuple(settings),
            Place.ENVIRONMENT: tuple(environment),
        },
    )


def _warned(diagnosis: Diagnosis) -> list[Evidence]:
    """Warnings of the log that failed, since its last stage began, without those that healthy runs print too."""
    failure = diagnosis.failure
    if failure is None or failure.inferred:
        return []
    lines = [s.line for s in diagnosis.stages if s.source == failure.source and s.line <= failure.line]
    began = max(lines, default=0)
    warned = [w for w in diagnosis.warnings if w.source == failure.source and began <= w.line < failure.line]
    return [
        Evidence(w.source, w.line, w.text) for w in warned if w.why != SURVIVED and (w.weight is None or w.weight > 0)
    ]


def _speculates_not(diagnosis: Diagnosis) -> bool:
    """The log names what would speculate, and that it is off."""
    values = [s.resolved or s.requested for s in diagnosis.settings if s.name in _SPECULATIVE]
    return bool(values) and all((value or "") in OFF for value in values) and "speculative" not in diagnosis.command


def _is_command(text: str, diagnosis: Diagnosis) -> bool:
    """What was typed is read as settings: as a line it would say the same again."""
    return bool(_COMMAND.match(text)) or (len(diagnosis.command) > SHORTEST and diagnosis.command in text)


def _is_on(setting: Setting, value: str | None) -> bool:
    """It is in effect, or somebody asked for it, be it to turn something off."""
    return (value or "") not in OFF or setting.chosen_by is ChosenBy.USER


def _told(lines: list[Evidence]) -> list[Evidence]:
    """The lines without a configuration that was printed whole."""
    rest = [line for line in lines if not _FIELD.match(line.text)]
    return rest if len(lines) - len(rest) >= DUMPED else lines


def _without(names: Iterable[str], line: Evidence) -> Evidence:
    """The line without the names of models: they are facts of their own."""
    text = _MODEL.sub("…", line.text)
    if len(_PAIR.findall(text)) >= DUMPED:
        text = _IDLE.sub("…", text)
    for name in names:
        text = text.replace(name, "…")
    return line if text == line.text else Evidence(line.source, line.line, text)
