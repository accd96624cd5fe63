"""What an audit needs to know of a launch: flags and variables from the command, the release from what is installed.

An audit runs by itself before a first trial, where the command names a folder that is here. What it finds makes parts
of the stack likelier, as a log does, and proves nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ruleout.audit import ModelFolder, audit
from ruleout.engines import ENGINES, Recognised, recognise
from ruleout.engines.serving import Server
from ruleout.engines.switches import parted
from ruleout.model import PRESENT, Case, Component, Evidence, Suspect
from ruleout.model.audit import Audit, AuditFinding, Host, Launch, Severity

WEIGHT = {Severity.ERROR: 0.3, Severity.WARNING: 0.05}
"""How probable a finding makes its component: an error once fails, but what fails here may still be another thing."""
MOST = 0.6
"""What all findings together may claim: the log has not spoken yet."""
_PACKAGES = {"transformers": "transformers", "vllm": "vllm", "sglang": "sglang"}
_DIST_INFO = re.compile(r"(?P<name>[\w.]+)-(?P<version>\d[\w.]*)(?:\+[\w.]+)?\.dist-info")


def launch_of(command: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | None = None) -> Launch:
    """What a command asks for. `engine` is `command` where it starts none that is known."""
    found = recognise(command)
    return Launch(
        found.engine, installed_release(found, cwd), _flags(found), {**(env or {}), **found.variables},
        command=True, model=_served(found, command, cwd),
    )  # fmt: skip


def _served(found: Recognised, command: Sequence[str], cwd: str | None) -> str | None:
    """The model that a command serves, as a path where it is one here; in a container, paths are other ones."""
    engine = ENGINES[found.engine]
    model = engine.model(command) if isinstance(engine, Server) and not found.container else None
    path = Path(cwd or "", model).expanduser() if model else None
    return str(path) if path is not None and path.is_dir() else model


def _flags(found: Recognised) -> dict[str, str]:
    """The flags by their names in snake_case; of one that is given twice, the last."""
    given = parted(found.engine, found.given)
    return {flag.lstrip("-").replace("-", "_"): values[0] if values else PRESENT for flag, values in given if flag}


def installed_release(found: Recognised, cwd: str | None = None) -> str | None:
    """The release of the engine that a command would start, by the metadata beside its program; nothing is run."""
    package = _PACKAGES.get(found.engine)
    if package is None or found.container or not found.program:
        return None
    program = shutil.which(str(Path(cwd or "", found.program[0]))) or shutil.which(found.program[0])
    if program is None:
        return None
    for folder in dict.fromkeys((Path(program).parent.parent, Path(program).resolve().parent.parent)):
        for site in sorted(folder.glob("lib*/python3*/site-packages")):
            for entry in site.glob(f"{package}*.dist-info"):
                told = _DIST_INFO.fullmatch(entry.name)
                if told and told["name"] == package:
                    return told["version"]
    return None


def model_folder(case: Case) -> Path | None:
    """The folder of the model that a case's command serves; None where it is none, or on another host."""
    engine = ENGINES.get(case.engine)
    model = engine.model(case.command) if isinstance(engine, Server) else None
    path = Path(case.cwd or "", model).expanduser() if model and case.host == "local" else None
    return path if path is not None and (path / "config.json").is_file() else None


def audited(case: Case, host: Host | None) -> Audit | None:
    """The audit of a case, before anything of it is launched; None where there is no folder to look into."""
    folder = model_folder(case)
    return None if folder is None else audit(ModelFolder(folder), launch_of(case.command, case.env, case.cwd), host)


def suspects(found: Audit | None) -> tuple[Suspect, ...]:
    """The parts of the stack that an audit makes likely, each once, the likeliest first."""
    by: dict[Component, list[AuditFinding]] = {}
    for finding in found.findings if found else ():
        if finding.severity in WEIGHT and finding.component is not Component.OTHER:
            by.setdefault(finding.component, []).append(finding)
    likely = {component: 1.0 - _none_of(told) for component, told in by.items()}
    scale = min(1.0, MOST / total) if (total := sum(likely.values())) else 1.0
    named = [_suspect(component, likely[component] * scale, told) for component, told in by.items()]
    return tuple(sorted(named, key=lambda suspect: -suspect.probability))


def _none_of(findings: Iterable[AuditFinding]) -> float:
    """The probability that none of them is the cause."""
    left = 1.0
    for finding in findings:
        left *= 1.0 - WEIGHT[finding.severity]
    return left


def _suspect(component: Component, probability: float, findings: Sequence[AuditFinding]) -> Suspect:
    evidence = tuple(Evidence(finding.where, 0, finding.what) for finding in findings)
    first = findings[0]
    return Suspect(component, first.what, probability, f"audit:{first.id}", evidence, {"note": first.remedy})
