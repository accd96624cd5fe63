"""A case made from a command alone: the engine is recognised, and its factors come once its failure was seen.

Before, nothing is varied: which few of an engine's hundreds of settings are worth a trial, only the failure tells.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ruleout.engines import ENGINES, Recognised, recognise
from ruleout.engines.catalogue import offers, spelt_out
from ruleout.engines.configfile import configured
from ruleout.engines.helping import help_of
from ruleout.engines.scripts import as_words
from ruleout.engines.serving import Server
from ruleout.engines.unreached import unreached
from ruleout.investigation.auditing import installed_release
from ruleout.investigation.choosing import choose, released
from ruleout.investigation.givens import Choice
from ruleout.investigation.pasted import refuse
from ruleout.investigation.suspecting import diagnosis_of, with_observed
from ruleout.investigation.traits import traits
from ruleout.model import Case, EngineId, Mode, Observation, UsageError, arguments

_LONGEST = 60


def bare_case(command: Sequence[str]) -> Case:
    """The case of a command, without factors.

    Raises UsageError when there is no command or no program in it, when signs of it were replaced on its way here, and
    when it starts an engine where no trial reaches it.
    """
    if not command:
        raise UsageError("nothing to investigate", "Name a case file, or give a command behind `--`.")
    if not command[0].strip():
        raise UsageError("the command has no program: its first word is empty", "Name the program behind `--`.")
    command = _as_typed(command)
    refuse(command)
    if told := unreached(command):
        raise UsageError(*told)
    found = recognise(command)
    refuse(found.command)
    serves = found.engine != "command"
    launched = spelt_out(found.command, offers(found.engine)) if serves else found.command
    mode = Mode.SERVE if serves else Mode.JOB
    return Case(_name(found), found.engine, launched, env=found.env, mode=mode)


def _as_typed(command: Sequence[str]) -> tuple[str, ...]:
    """The command; of one that is one word in quotes, the words that a shell makes of it."""
    if len(command) > 1 or not re.search(r"[ \t]", command[0].strip()) or Path(command[0]).exists():
        return tuple(command)
    return as_words(("sh", "-c", command[0]))


def widened(
    case: Case, log: Path | None, observed: Sequence[Observation] = (), *, watched: bool = False, ask: bool = True
) -> tuple[Case, tuple[Choice, ...]]:
    """The case with the factors worth varying, and why each is.

    Args:
        log: of a failing run; None while there is none.
        observed: what was seen of that run besides; watched: every kernel was waited for in it.
        ask: run the installed engine's `--help`, where that was not done before.
    """
    found = replace(recognise(case.command), env=case.env)
    diagnosis = with_observed(diagnosis_of(log, watched=watched), observed) if log is not None else None
    version = diagnosis.engine.version if diagnosis and diagnosis.engine.name == found.engine else None
    version = version or installed_release(found, case.cwd)
    known = found.engine != "command" and not found.container
    told = help_of(found.engine, found.program, case.env, case.cwd, ask=ask) if known else None
    here = version is not None or told is not None or _is_here(found)
    filed = [word for flag, value in configured(found, case.cwd).items() for word in (flag, value) if word is not None]
    holds = traits(diagnosis, [*found.command, *filed], _folder(found), found.variables, here=here)
    catalogue = released(EngineId(found.engine, version), offers(found.engine, version, holds, told), found.given)
    choices = choose(found, diagnosis, catalogue)
    return replace(case, factors=tuple(choice.factor for choice in choices)), choices


def _is_here(found: Recognised) -> bool:
    """Whether the engine's program is on this machine, as far as its name tells: a Python is everywhere."""
    program = "" if found.container or "-m" in found.program else next(iter(found.program), "")
    return bool(program) and shutil.which(program) is not None


def _folder(found: Recognised) -> Path | None:
    """The model's folder, where it may be one."""
    engine = ENGINES[found.engine]
    model = engine.model(found.command) if isinstance(engine, Server) else None
    return Path(model).expanduser() if model else None


def _name(found: Recognised) -> str:
    """Engine and model, or the program: what names the investigation's folder."""
    engine = ENGINES[found.engine]
    if isinstance(engine, Server):
        words = [engine.name, arguments.program(engine.model(found.command) or "")]
    else:
        at = arguments.program_ends(found.command) - 1
        words = [Path(arguments.program(found.command[min(at, len(found.command) - 1)])).stem]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(word for word in words if word)).strip("-._")
    return plain[:_LONGEST] or "command"
