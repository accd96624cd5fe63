"""What is meant for others is shown first, with what was taken out of it, and kept only when a person says so."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ruleout.interfaces.cli.streams import tell_progress
from ruleout.investigation.sharing import Replaced
from ruleout.model import MissingError
from ruleout.report.words import count


def tell_replaced(found: Sequence[Replaced]) -> None:
    """What was replaced, by kind and number; never what it was."""
    if not found:
        tell_progress("Nothing in it was recognised as a secret; read it through all the same.")
        return
    tell_progress("Replaced in it:")
    for one in found:
        tell_progress(f"  {one.placeholder:<14} {one.kind:<10} {count(one.count, 'time')}")
    tell_progress("No list of patterns finds everything: read it through before you send it.")


def approved(what: str) -> bool:
    """Whether a person answers yes. Raises MissingError when nobody answers."""
    tell_progress(f"{what} [y/N]")
    try:
        answer = sys.stdin.readline() if sys.stdin is not None else ""
    except (OSError, ValueError):
        answer = ""
    if not answer:
        raise MissingError("nothing was written: nobody was there to approve it", "Read it, then add --yes.")
    return answer.strip().lower() in ("y", "yes")


def replacements_document(found: Sequence[Replaced]) -> list[dict[str, object]]:
    """The same for a JSON document."""
    return [{"kind": one.kind, "placeholder": one.placeholder, "count": one.count} for one in found]
