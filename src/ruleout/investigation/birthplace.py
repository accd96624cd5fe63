"""Where a bad number was born, as far as anybody looked: in a trace that a person made, else in one of the trials."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from ruleout.investigation.folder import TRACES, Folder
from ruleout.investigation.tracing.step import FILE, is_trace
from ruleout.model import Trial
from ruleout.model.course import BirthPlace
from ruleout.model.traced import Birth
from ruleout.numerics.conclusion import concluded
from ruleout.numerics.starting import records_folder

SCHEMA = "ruleout.trace/1"


def birthplace(folder: Folder, trials: Sequence[Trial]) -> BirthPlace | None:
    """That of the last trace that names one; None where none does."""
    for path in sorted((folder.path / TRACES).glob("*/trace.json"), reverse=True):
        with suppress(OSError, ValueError, AttributeError):
            document = json.loads(path.read_text(encoding="utf-8"))
            born = document.get("born")
            if document.get("schema") == SCHEMA and born:
                module, class_, operation = (str(born.get(name) or "") for name in ("module", "class", "operation"))
                moment = _moment(str(born.get("phase")), born.get("step"), born.get("rank"))
                source = path.relative_to(folder.path).as_posix()
                return BirthPlace(module, class_, operation, moment, str(document.get("told") or ""), source)
    for trial in reversed(trials):
        if is_trace(trial.instruments):
            spool = folder.trial(trial.id)
            found: Birth | None = None
            with suppress(OSError, ValueError):
                found = concluded(records_folder(spool)).born
            if found is not None and trial.outcome is not None:
                told = next((seen.text for seen in trial.outcome.observed), "")
                moment = _moment(found.phase.value, found.step, found.rank)
                source = (spool / FILE).relative_to(folder.path).as_posix()
                return BirthPlace(found.module, found.class_, found.operation, moment, told, source)
    return None


def _moment(phase: str, step: object, rank: object) -> str:
    told = [phase] if phase not in ("", "unknown", "None") else []
    told += [f"{name} {value}" for name, value in (("step", step), ("rank", rank)) if value is not None]
    return ", ".join(told)
