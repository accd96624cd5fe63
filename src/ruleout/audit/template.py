"""A chat template is a program that comes with the model: it is parsed here, in a sandbox, and never run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ruleout.audit.folder import Unreadable, quoted
from ruleout.audit.subject import Subject, unreadable
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

LONGEST = 1 << 20
"""Bytes that a template may have; the longest published ones have some tens of thousands."""
_SOURCE = "https://huggingface.co/docs/transformers/chat_templating"
_FILE = "chat_template.jinja"


class _Generation(Extension):
    """`{% generation %}`, which transformers adds to mark what the assistant says."""

    tags = {"generation"}  # noqa: RUF012 - as the base class has it

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The block as it is."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def template(subject: Subject) -> Iterator[AuditFinding]:
    """What is to be known of the chat template."""
    if not subject.config:
        return
    found = 0
    try:
        for where, text in _templates(subject):
            found += 1
            yield from _parsed(where, text)
    except Unreadable as problem:
        yield unreadable(problem, Severity.ERROR, Component.TOKENIZER_TEMPLATE)
        return
    if not found and subject.launch.value("chat_template") is None:
        what = "the folder has no chat template: chat completions are refused, or use a template of another model"
        remedy = "Fetch it, or name one: --chat-template."
        yield _finding("chat-template-missing", Severity.NOTE, what, _FILE, remedy)


def _templates(subject: Subject) -> Iterator[tuple[str, Any]]:
    """The templates, with where they stand. Raises Unreadable."""
    folder = subject.folder
    if folder.has(_FILE):
        yield _FILE, folder.text(_FILE, LONGEST)
    for name in ("tokenizer_config.json", "chat_template.json"):
        told = folder.mapping(name).get("chat_template") if folder.has(name) else None
        if isinstance(told, list):
            for one in told:
                if isinstance(one, dict):
                    yield f"{name}: chat_template {quoted(one.get('name'))}", one.get("template")
        elif told is not None:
            yield f"{name}: chat_template", told


def _parsed(where: str, text: Any) -> Iterator[AuditFinding]:
    remedy = "Fetch the published file again, or name another: --chat-template."
    if not isinstance(text, str) or len(text) > LONGEST:
        what = f"a chat template has to be text of less than {LONGEST >> 20} MiB, not {quoted(text)}"
        yield _finding("chat-template-unreadable", Severity.ERROR, what, where, remedy)
        return
    if not text.strip():
        what = "the chat template is empty: a chat becomes a prompt without a word of it"
        yield _finding("chat-template-empty", Severity.WARNING, what, where, remedy)
        return
    try:
        ImmutableSandboxedEnvironment(extensions=[_Generation, loopcontrols]).parse(text)
    except TemplateSyntaxError as problem:
        what = f"the chat template has a mistake in line {problem.lineno}: {quoted(problem.message)}"
        yield _finding("chat-template-syntax", Severity.ERROR, what, where, remedy)
    except (RecursionError, ValueError, OverflowError):
        what = "the chat template cannot be parsed: it is nested too deeply"
        yield _finding("chat-template-syntax", Severity.ERROR, what, where, remedy)


def _finding(id_: str, severity: Severity, what: str, where: str, remedy: str) -> AuditFinding:
    return AuditFinding(id_, severity, what, where, remedy, _SOURCE, Component.TOKENIZER_TEMPLATE)
