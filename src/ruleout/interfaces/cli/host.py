"""A host in words, for machines that are not this one: `sm=120,gpus=8,memory=96GiB`."""

from __future__ import annotations

import re
from typing import Any

import click

from ruleout.model.audit import Host
from ruleout.model.errors import UsageError

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}  # fmt: skip
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?i?B)", re.IGNORECASE)
_EXAMPLE = "Describe it as in --host sm=120,gpus=8,memory=96GiB."


class HostDescription(click.ParamType[Host]):
    """A host in words: `sm=120,gpus=8,memory=96GiB`."""

    name = "host"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Host:
        """The host."""
        return value if isinstance(value, Host) else described(str(value))


def described(text: str) -> Host:
    """A host from its description. Raises UsageError."""
    told: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in ("sm", "gpus", "memory") or not equals or key in told:
            raise UsageError(f"--host {text}: {part.strip()!r} is none of sm=, gpus=, memory=", _EXAMPLE)
        told[key] = _read(key, value)
        if told[key] is None:
            raise UsageError(f"--host {text}: {value!r} is no {_KINDS[key]}", _EXAMPLE)
    return Host(told.get("sm"), told.get("gpus", 1), told.get("memory", 0))


_KINDS = {"sm": "compute capability", "gpus": "number of GPUs", "memory": "size with its unit"}


def _read(key: str, value: str) -> Any:
    if key == "sm":
        plain = re.sub(r"^sm_?|\.|(?<=\d)a$", "", value.lower()) if "gfx" not in value.lower() else value.lower()
        return plain if re.fullmatch(r"\d{2,3}|gfx[0-9a-f]{3,4}", plain) else None
    if key == "gpus":
        return int(value) if value.isdecimal() and 0 < len(value) < 7 and int(value) else None
    size = _BYTES.fullmatch(value)
    return int(float(size[1]) * _UNITS[size[2].upper()]) or None if size and len(size[1]) < 20 else None
