"""What an engine did with the settings of a trial: a level that it replaced was not tried, whatever the command says.

Engines replace what they cannot do and say so in their log. Such a trial is evidence about the setting in effect. A
level that leaves the choice to the engine (`auto`, an absent flag) is not replaced when the engine chooses.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruleout.diagnosis.story.factors import values
from ruleout.model import ABSENT, PRESENT, UNTOLD, Case, ChosenBy, Diagnosis, Factor, Mechanism, Setting
from ruleout.model.spelling import plain
from ruleout.reading.diagnose import Stream, read_facts

HEAD = 8 << 20
"""Bytes of a log in which settings are looked for: engines say them while they start."""
OPEN = frozenset({ABSENT, PRESENT, "auto", "default", "none", ""})
"""Levels that leave the choice to the engine, or that are no value."""
_MEASURED = re.compile(r"-?\d{4,}|-?\d*\.\d+")
"""Sizes and shares that an engine works out from the memory it finds: they differ from run to run."""


def read_settings(log: Path) -> Diagnosis | None:
    """What a trial's log tells of its settings; None where there is no log."""
    try:
        with log.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError:
        return None
    return read_facts([Stream(log.name, io.BytesIO(head))]) if head else None


def resolved(run: Diagnosis) -> dict[str, str]:
    """The settings in effect by which trials may be compared: no names, paths, ports, and nothing that was measured."""
    known = {setting.name for setting in run.settings if setting.resolved is not None}
    return {name: v.text for name, v in values(run).items() if name in known and not _measured(v.text)}


def replaced(case: Case, configuration: Mapping[str, str], settings: Sequence[Setting]) -> dict[str, str]:
    """The factors whose level the engine replaced by another, with what was in effect instead.

    Where that is one of the factor's levels, it is named as the case writes it; `UNTOLD` where the log says only that
    the level was refused. A log that does not say who chose a value, as a printed configuration, is believed only about
    another level of the factor: it may spell what was asked for in its own way.
    """
    chosen = {s.name: s.resolved or UNTOLD for s in settings if s.chosen_by is ChosenBy.ENGINE}
    printed = {s.name: s.resolved for s in settings if s.chosen_by is None and s.requested is None}
    found: dict[str, str] = {}
    for factor in case.factors:
        level = configuration.get(factor.name, factor.baseline)
        name = setting_name(factor)
        in_effect = chosen.get(name) or next((v for v in factor.levels if same(v, printed.get(name) or "")), None)
        if factor.mechanism is not Mechanism.FLAG or in_effect is None or level.lower() in OPEN:
            continue
        if not same(level, in_effect):
            found[factor.name] = next((known for known in factor.levels if same(known, in_effect)), in_effect)
    return found


def _measured(value: str) -> bool:
    return _MEASURED.fullmatch(value) is not None


def setting_name(factor: Factor) -> str:
    """The name under which logs speak of what a factor sets."""
    return factor.target.lstrip("-").replace("-", "_").lower()


def same(level: str, value: str) -> bool:
    """The same value, however it is spelt (`bf16`, `torch.bfloat16`; `FLASH_ATTN`, `flash-attn`)."""
    return _plain(level) == _plain(value)


def _plain(value: str) -> str:
    word = re.sub(r"[^a-z0-9.]", "", plain(value))
    return "fp8e4m3" if word == "fp8" else word
