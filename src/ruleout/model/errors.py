"""Every message a person sees is two lines: what is wrong and where; what to do about it."""

from __future__ import annotations


class RuleoutError(Exception):
    """A problem to be told in two lines, without a traceback.

    Args:
        what: what is wrong and where, without a full stop.
        remedy: what to do.
    """

    exit_status = 3

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what}\n  {self.remedy}"


class UsageError(RuleoutError):
    """The command line or a file that the person wrote is not right (exit 2)."""

    exit_status = 2


class MissingError(RuleoutError):
    """Something that is needed is not there: an engine, a free port, room on the disk (exit 4)."""

    exit_status = 4
