"""Text of others as a report may hold it: without what is private, and without what acts instead of being read.

A page is sent and a screen is pasted, so both leave out all that leaves no machine: keys, addresses, names, prompts.
An engine's log prints what a client sent. Escapes move a terminal's cursor, marks of direction make a line read as
another one, and a line may be a megabyte long; all of that is content here, and none of it does anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ruleout.model import Case, Trial, Verdict
from ruleout.model.inert import inert
from ruleout.model.redaction import Redactor

LONGEST = 2000
"""Characters of a text that a report shows."""
LEARNT = 20_000
"""Characters of a text in which secrets are looked for beforehand."""
LEFT_OUT = "<left out: part of a secret>"


def readable(text: str, longest: int = LONGEST) -> str:
    """The text as characters that are only read, with a mark where it goes on."""
    return inert(f"{text[:longest]}…" if len(text) > longest else text)


class Safe:
    """Makes texts of one report safe: the same secret has the same placeholder in all of them."""

    def __init__(self, told: Iterable[str] = ()) -> None:
        """One that has learnt from what was told (a command line, an environment) which words are secret."""
        self._redact = Redactor()
        self._known: dict[str, str] = {}
        for text in told:
            self._redact(text[:LEARNT])

    @classmethod
    def of(cls, case: Case, verdict: Verdict, more: Iterable[str] = ()) -> Safe:
        """For reports of an investigation: its command and environment tell most secrets, failures some."""
        failures = (text for trial in verdict.trials for text in _failing(trial))
        environment = (f"{name}={value}" for name, value in case.env.items())
        return cls((" ".join(case.command), *environment, *dict.fromkeys(failures), *more))

    def __call__(self, text: str) -> str:
        """The text without what is private, inert."""
        if len(text) < 6 and text.isascii() and text.isprintable():
            return text
        if text not in self._known:
            self._known[text] = self._redact(readable(text))
        return self._known[text]

    def lines(self, text: str) -> str:
        """A text of many lines, of which only each by itself may not be too long."""
        return self._redact("\n".join(readable(line).replace("\n", " ") for line in text.split("\n")))

    def block(self, lines: Sequence[str]) -> list[str]:
        """Lines that belong together, each in its place: a key may go over several of them."""
        whole = self.lines("\n".join(lines)).split("\n")
        if len(whole) == len(lines):
            return whole
        return [line if line in whole else LEFT_OUT for line in map(self, lines)]


def _failing(trial: Trial) -> tuple[str, ...]:
    failure = trial.outcome.failure if trial.outcome else None
    return () if failure is None else (failure.message, failure.client, *(e.text for e in failure.evidence))
