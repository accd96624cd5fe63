"""What a bug report needs and the verdict has not, from the folder of the investigation. Nothing is run for it.

An investigation may come from elsewhere: its files are taken for data, and no program that it names is started.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace

from ruleout.diagnosis.catalogue import catalogue
from ruleout.engines.installed import own_script
from ruleout.investigation.auditing import model_folder
from ruleout.investigation.excerpting import excerpt, inside
from ruleout.investigation.folder import Folder
from ruleout.investigation.sharing import Sharer
from ruleout.investigation.suspecting import diagnosis_of
from ruleout.model import Case, Diagnosis, OutcomeKind, Trial, UsageError, Verdict
from ruleout.model.codec import from_json, to_json
from ruleout.model.diagnosis import Environment
from ruleout.model.issue import Excerpt, IssueMaterial, KnownFailure, OwnReport, Sent

LONGEST_REPORT = 256 << 10
"""Bytes of an environment's report that are read."""
LONGEST_CONFIG = 12_000
"""Bytes of a model's configuration that is quoted."""
_COMMAND = re.compile(r"(?m)^\$ (.+)$")


def material(folder: Folder, case: Case, verdict: Verdict, sharer: Sharer, here: str | None = None) -> IssueMaterial:
    """The material for a bug report, with secrets replaced wherever only their surroundings tell them.

    Args:
        here: the working folder of the trials, if they were made on this machine: the model is looked for from there.

    Raises UsageError when nothing failed.
    """
    if verdict.failure is None:
        raise UsageError(
            f"{case.name}: it has not failed, so there is nothing to report", "`ruleout findings` tells what was tried."
        )
    failing = _failing(verdict)
    path = inside(folder.path, failing.log) if failing is not None else None
    read = None if path is None else diagnosis_of(path)
    config = _config(replace(case, cwd=case.cwd or here)) if here else ""
    return IssueMaterial(
        case,
        from_json(Verdict, sharer.value(to_json(verdict))),
        _excerpt(folder, failing, verdict, sharer),
        _sent(folder, failing, verdict),
        tuple(_reports(folder, case, verdict, sharer)),
        tuple(_known(read)) if read else (),
        _model(config, read),
        sharer.text(config),
        _engine(case, verdict, read),
    )


def _engine(case: Case, verdict: Verdict, read: Diagnosis | None) -> str:
    """What failed, by name and version; of a command that is only a command, the log may tell."""
    name = case.engine if case.engine != "command" else read.engine.name if read else ""
    told = read.engine.version if read and read.engine.name == name else ""
    version = next((one.facts[name] for one in verdict.installations if one.facts.get(name)), told)
    return f"{name} {version or ''}".strip()


def _failing(verdict: Verdict) -> Trial | None:
    """The first trial that showed the failure."""
    shown = (t for t in verdict.trials if t.outcome and t.outcome.kind is OutcomeKind.REPRODUCED)
    return next((t for t in shown if not t.instruments and not t.without), None)


def _excerpt(folder: Folder, failing: Trial | None, verdict: Verdict, sharer: Sharer) -> Excerpt | None:
    if failing is None or verdict.failure is None:
        return None
    line = next((e for e in verdict.failure.evidence if e.line), None)
    if line is None:
        return None
    beside = failing.log.rpartition("/")[0]
    return excerpt(folder.path, f"{beside}/{line.source}", line.line, sharer.text)


def _sent(folder: Folder, failing: Trial | None, verdict: Verdict) -> Sent | None:
    """The request that failed, as the agent was told to send it."""
    if failing is None or verdict.failure is None or not verdict.failure.exposure.step:
        return None
    path = inside(folder.path, f"trials/{failing.id:04d}/trial.json")
    with contextlib.suppress(OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        probes = json.loads(path.read_text(encoding="utf-8"))["probes"] if path else []
        one = next(p for p in probes if p["step"] == verdict.failure.exposure.step)
        body = one["body"] or next(iter(one.get("bodies", ())), "") or ""
        return Sent(str(one["name"]), str(one["method"]), str(one["path"]), str(body), int(one.get("concurrency", 1)))
    return None


def _reports(folder: Folder, case: Case, verdict: Verdict, sharer: Sharer) -> Iterator[OwnReport]:
    """The reports that were kept of the environments: each begins with its command behind `$ `."""
    for one in verdict.installations:
        path = inside(folder.path, one.report)
        if path is None:
            continue
        with path.open("rb") as file:
            text = sharer.text(file.read(LONGEST_REPORT).decode("utf-8", "replace"))
        parts = _COMMAND.split(text)
        if len(parts) > 1:
            yield from (OwnReport(name, own) for name, own in zip(parts[1::2], parts[2::2], strict=True))
        elif own := "\n\n".join(text.split("\n\n")[2:]).strip():
            yield OwnReport(own_script(case.engine), own)


def _known(read: Diagnosis) -> Iterator[KnownFailure]:
    """The rules that hold for the failing run, best first."""
    rules = {rule.id: rule for rule in catalogue()}
    for suspect in read.suspects:
        if suspect.rule in rules:
            yield KnownFailure(suspect.rule, suspect.claim, rules[suspect.rule].references)


def _model(config: str, read: Diagnosis | None) -> str:
    """What was served, by its kind and format too."""
    found = read.environment if read else Environment()
    document = json.loads(config) if config else {}
    kind = found.model_type or (document.get("model_type") if isinstance(document, dict) else None)
    about = (("model type", kind), ("quantization", found.quantization))
    told = ", ".join(f"{name} {value}" for name, value in about if value)
    return f"{found.model} ({told})" if found.model and told else found.model or told


def _config(case: Case) -> str:
    """The configuration of a model that is in a folder here, if it is short."""
    path = model_folder(case)
    with contextlib.suppress(OSError, UnicodeDecodeError, ValueError):
        if path and (path / "config.json").stat().st_size <= LONGEST_CONFIG:
            return json.dumps(json.loads((path / "config.json").read_text(encoding="utf-8")), indent=1)
    return ""
