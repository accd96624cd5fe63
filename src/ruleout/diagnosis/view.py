"""The facts of a run as texts to search, so that a clue, wherever it stands, leads back to a line.

Four places, because a word weighs by where it stands: in the failure itself, in the lines near it, in what was asked of
the engine or chosen by it, in what the run ran on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ruleout.model import Evidence
from ruleout.model.diagnosis import ChosenBy, Diagnosis, Setting

_COMMAND = re.compile(r"^\s*[$>#] ")
_MODEL = re.compile(r"(?:modeling|modular|configuration)_\w+|\bmodels[./]\w+|\b[A-Z]\w+For(?:CausalLM|Conditional\w+)")
"""Names of models say `moe` or `mla` whatever failed."""
_BAR = re.compile(r"\b\d{1,3}%\|.*(?:it/s|s/it|\?s)")
"""A progress bar: it names what is being loaded or captured, whatever failed."""
_STEPPED_OVER = re.compile(r"Ignore import error when loading ")
"""SGLang imports all of its models at each start, and says which it steps over: healthy starts do so, too."""
_FIELD = re.compile(r'^\s*"\w+": ')
"""A field of a configuration, printed as JSON. Of a whole one, each field stands there whatever failed."""
_IDLE = re.compile(r"\b[\w-]+['\"]?\s*[=:]\s*['\"]?(?:None|False|null|false|none|off|disabled|)['\"]?(?=[,;)}\]]|\s*$)")
"""A setting that is off. A dump of all settings names what never ran."""
OFF = frozenset({"", "None", "False", "null", "false", "none", "off", "disabled"})
_PAIR = re.compile(r"\b\w+['\"]?\s*[=:]\s*\S")
DUMPED = 4
"""So many fields nobody picks by hand."""
LONGEST = 2000


class Place(StrEnum):
    """Where a clue is looked for."""

    FAILURE = "failure"
    NEAR = "near"
    WHOLE = "whole"  # near, with the names of models
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
    kept = [e for e in near if not _COMMAND.match(e.text) and (e.source, e.line) not in weightless]
    kept = _told([e for e in kept if not (_BAR.search(e.text) or _STEPPED_OVER.search(e.text))])
    source = diagnosis.sources[0].name if diagnosis.sources else ""
    values = [(s, s.resolved if s.resolved is not None else s.requested) for s in diagnosis.settings]
    settings = [Evidence(s.source or source, s.line, f"{s.name}={value}") for s, value in values if _is_on(s, value)]
    if diagnosis.command:
        settings.append(Evidence(source, 0, diagnosis.command[:LONGEST]))
    ran = diagnosis.environment
    known = [("engine", diagnosis.engine.name), *((name, getattr(ran, name)) for name in ran.__slots__)]
    environment = [Evidence(source, 0, f"{name}={value}") for name, value in known if value]
    return View(
        diagnosis,
        {
            Place.FAILURE: tuple(_without(names, e) for e in said),
            Place.NEAR: tuple(_without(names, e) for e in (*said, *kept)),
            Place.WHOLE: (*said, *kept),
            Place.LINES: tuple(lines) or tuple(kept),
            Place.SETTINGS: tuple(settings),
            Place.ENVIRONMENT: tuple(environment),
        },
    )


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
