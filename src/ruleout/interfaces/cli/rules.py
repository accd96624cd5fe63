"""`ruleout rules`: the catalogue of known failures, and whether rules do what their examples say."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.rules_new import new
from ruleout.model.errors import UsageError
from ruleout.model.figures import percent

if TYPE_CHECKING:
    from ruleout.diagnosis.rule import Rule

SCHEMA = "ruleout.rules/1"


@click.group()
def rules() -> None:
    """The catalogue of known failures that `diagnose` consults."""


rules.add_command(new)


@rules.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def list_(as_json: bool) -> int:
    """All rules, a line each."""
    from ruleout.diagnosis.catalogue import catalogue

    found = sorted(catalogue(), key=lambda rule: rule.id)
    if as_json:
        return _json([_document(rule) for rule in found])
    ids, components = (
        max(len(text) for text in texts) for texts in zip(*((r.id, r.component) for r in found), strict=True)
    )
    _say(f"{rule.id:<{ids}} {rule.component:<{components}} {rule.title}" for rule in found)
    return 0


@rules.command(short_help="One rule: what it claims, when, and what mends it.")
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def show(name: str, as_json: bool) -> int:
    """One rule: what it claims, when, what mends it, what would refute it, who has traced it."""
    from ruleout.diagnosis.catalogue import catalogue

    rule = next((rule for rule in catalogue() if rule.id == name), None)
    if rule is None:
        raise UsageError(f"{name}: no rule of that name", "See `ruleout rules list`.")
    if as_json:
        return _json([_document(rule)])
    engines = ", ".join(f"{engine} {rule.versions.get(engine, '')}".strip() for engine in rule.engines) or "any engine"
    about = f"{rule.id} · {rule.component} · {percent(rule.confidence)} · {engines}"
    rows = [rule.title, about, "", rule.claim, ""]
    rows += [f"{label:<10} {pattern}" for label, patterns in _when(rule) for pattern in patterns]
    changes = " ".join(f"{flag} {level}".strip() for flag, level in rule.fix.get("set", {}).items())
    rows += ["", *(f"mends      {text}" for text in (changes, rule.fix.get("note", "")) if text)]
    rows += [f"refuted if {rule.test}", *(f"behind it  {text}" for text in rule.behind), ""]
    _say([*rows, *rule.references])
    return 0


@rules.command(short_help="Try rules on their own examples.")
@click.argument("files", metavar="[FILE…]", nargs=-1, type=click.Path(path_type=Path))
def test(files: tuple[Path, ...]) -> int:
    """Try all rules, or those of YAML FILEs, on their examples. Exits 1 when one does not do what it should."""
    from ruleout.diagnosis.catalogue import read_files, shipped_files
    from ruleout.diagnosis.examples import wrong

    for path in files:
        if not path.is_file():
            raise UsageError(f"{path}: no such file", "Name a file of rules.")
    read = read_files(files or shipped_files())
    bad = wrong(read)
    for one in bad:
        first = one.example.strip().split("\n")[0]
        _say([f"✗ {one.rule.source}: {one.rule.id} should {one.should}: {first[:100]}"])
    count = sum(len(rule.matching) + len(rule.other) for rule in read)
    _say([f"{'✗' if bad else '✓'} {len(read)} rules, {count} examples, {len(bad)} wrong"])
    return 1 if bad else 0


def _when(rule: Rule) -> list[tuple[str, list[str]]]:
    when = rule.when
    return [
        ("class", list(when.class_)),
        ("stage", list(when.stage)),
        ("any line", list(when.any)),
        ("and line", list(when.lines)),
        ("no line", list(when.without)),
        ("setting", [f"{name} = {value}" for name, value in when.settings.items()]),
        ("host", [f"{name} = {value}" for name, value in when.environment.items()]),
    ]


def _document(rule: Rule) -> dict[str, Any]:
    plain = asdict(rule)
    plain["when"] = {key.rstrip("_"): value for key, value in plain["when"].items()}
    return plain


def _json(found: list[dict[str, Any]]) -> int:
    from ruleout.interfaces.cli.streams import tell_json

    tell_json({"schema": SCHEMA, "rules": found})
    return 0


def _say(rows: Any) -> None:
    console = answer_console()
    for row in rows:
        console.print(Text(row), soft_wrap=True)
