"""A case as text to edit: what was chosen and why, and, behind `#`, what may be added.

Only what a bare command comes to is written: a case that a person wrote is kept as it was typed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ruleout.diagnosis.ladder import LADDERS, Step
from ruleout.engines.proxies import PROXIES
from ruleout.investigation.givens import Choice
from ruleout.model import Case, Factor, arguments

_WIDE = 1 << 20


def case_text(case: Case, choices: Sequence[Choice] = ()) -> str:
    """The case file of a case that was made from a command."""
    lines = ["# Made from a command by `ruleout investigate`; every key: docs/how-to/case-file.md."]
    lines += [_line("name", case.name), _line("engine", case.engine), _line("command", list(case.command))]
    lines += [_line("env", dict(case.env))] if case.env else []
    lines.append(_line("mode", case.mode.value))
    if compared := [probe.reference.source for probe in case.probes if probe.reference is not None]:
        lines.append(_line("probes", [{"kind": "compare", "reference": source} for source in compared]))
    why = {choice.factor.name: choice.why for choice in choices}
    lines.append("factors:" if case.factors else "# factors: none were found worth varying")
    for factor in case.factors:
        lines += [f"  # {why[factor.name]}"] if factor.name in why else []
        lines.append("  " + _line(factor.name, _factor(factor)))
    lines += _offered(case)
    return "\n".join(lines) + "\n"


def _offered(case: Case) -> list[str]:
    """What may be added to the case, commented out."""
    lines = []
    taken = {factor.name for factor in case.factors}
    if proxies := [proxy for proxy in PROXIES.get(case.engine, ()) if proxy.name not in taken]:
        lines.append(
            "# Factors that make trials cheaper and are never a cause; what they leave out cannot fail either:"
        )
        lines += [f"#  {_line(proxy.name, _factor(proxy))}" for proxy in proxies]
    if steps := [step for step in LADDERS.get(case.engine, ()) if not set(step.change) & {*case.command, *case.env}]:
        lines.append("# What makes the failure say more, as a flag or in `env:`; watching may change it:")
        lines += [f"#  {line}" for step in steps for line in _step(step)]
    return lines


def _step(step: Step) -> list[str]:
    return [arguments.told(step.change), f"    gives {step.gives}; costs {step.price}; changes: {step.effect}"]


def _factor(factor: Factor) -> Mapping[str, Any]:
    more = {name: True for name in ("ordered", "proxy") if getattr(factor, name)}
    return {
        factor.mechanism.value: factor.target,
        "levels": list(factor.levels),
        "baseline": factor.baseline,
        **more,
    }


def _line(key: str, value: object) -> str:
    """`key: value` on one line, quoted where YAML would take it for something else."""
    return yaml.safe_dump({key: value}, default_flow_style=True, sort_keys=False, width=_WIDE, allow_unicode=True)[1:-2]
