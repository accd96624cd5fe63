"""A recipe is data: two environments made from one recipe differ in nothing that its digest does not cover."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class FixUp:
    """A change to what was installed, for a reason that only some machines or builds have.

    Attributes:
        why: what fails without it.
        path: of the file, from the environment's site-packages.
        text: what the file is to hold; None where lines of an installed file are switched off instead.
        lines: a regular expression; the lines that it matches from their beginning become comments.
    """

    name: str
    why: str
    path: str
    text: str | None = None
    lines: str | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """A command of the environment that has to exit 0. `says` is what it has to print, too."""

    argv: tuple[str, ...]
    says: str = ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an environment is made of.

    Attributes:
        steps: what pip is given to install, a group at a time.
        proofs: commands that show that it works; they change nothing, so they are no part of the digest.
    """

    engine: str
    version: str
    steps: tuple[tuple[str, ...], ...]
    fixups: tuple[FixUp, ...] = ()
    proofs: tuple[Proof, ...] = ()

    @property
    def name(self) -> str:
        """Also the name of its folder."""
        return f"{self.engine}-{self.version}"

    @property
    def digest(self) -> str:
        """Changes with everything that matters to what is installed."""
        made_of: list[object] = [self.name, self.steps]
        if self.fixups:
            made_of.append([astuple(fixup) for fixup in self.fixups])
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
