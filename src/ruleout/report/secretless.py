"""A diagnosis is made to be shown to others, and the command that it quotes may hold a key: that much is left out.

Only what opens doors goes. Paths, hosts and users stay: a command without them could not be run again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from ruleout.model.configuration import Configuration
from ruleout.model.diagnosis import Diagnosis, Setting
from ruleout.model.redaction import SECRETS, Redactor
from ruleout.model.story import Story

T = TypeVar("T")
Redact = Callable[[str], str]
"""A `Redactor`, or what remembers what it said."""


def secretless(diagnosis: Diagnosis, story: Story | None) -> tuple[Diagnosis, Story | None]:
    """Both with a placeholder for each secret, the same one for the same secret."""
    redactor = Redactor(SECRETS)
    redactor(diagnosis.command)  # which tells most of them: its words are known wherever they stand alone
    return without_secrets(diagnosis, redactor), without_secrets(story, redactor)


def without_secrets(value: T, redactor: Redact) -> T:
    """A value of the model without what the redactor replaces, in whatever field it stands."""
    return cast(T, _plain(value, redactor))


def _plain(value: Any, redactor: Redact) -> Any:
    if type(value) is str:
        return redactor(value) if len(value) > 5 else value
    if isinstance(value, Setting):
        return replace(
            value,
            requested=_of(value.name, value.requested, redactor),
            resolved=_of(value.name, value.resolved, redactor),
        )
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _plain(getattr(value, f.name), redactor) for f in fields(value) if f.init})
    if isinstance(value, tuple):
        return tuple(_plain(item, redactor) for item in value)
    if isinstance(value, Configuration):
        return Configuration({name: _of(name, level, redactor) or "" for name, level in value.items()})
    if isinstance(value, dict):
        return {
            name: _of(str(name), v, redactor) if type(v) is str else _plain(v, redactor) for name, v in value.items()
        }
    return value


def _of(name: str, value: str | None, redactor: Redact) -> str | None:
    """A value, which its name may give away."""
    return redactor(f"{name}={value}").partition("=")[2] if value else value
