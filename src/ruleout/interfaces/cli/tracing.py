"""The answer of a trace on a terminal: the sentence first, then what bears it and what limits it."""

from __future__ import annotations

import textwrap

from rich.text import Text

from ruleout.interfaces.cli.diagnosis import printable
from ruleout.interfaces.cli.output import answer_console
from ruleout.model.traced import Found, Trace
from ruleout.report.trace import trace_facts

LABEL = 25
_SIGNS = {Found.FAILURE: ("✗", "yellow"), Found.NOTHING: ("✓", "green")}


def tell_trace(trace: Trace, folder: str) -> None:
    """Print the answer on stdout; `folder`: that of the trace, as a person names it from here."""
    console = answer_console()
    sign, style = _SIGNS.get(trace.found, ("✗", "red"))
    headline = trace.told[:1].upper() + trace.told[1:]
    rows = [Text(printable(f"{sign} {headline}", console.encoding), f"bold {style}")]
    for label, text in trace_facts(trace, folder):
        room = max(24, console.width - LABEL - 1)
        first, *rest = textwrap.wrap(printable(text, console.encoding), room, break_on_hyphens=False) or [""]
        rows.append(Text.assemble((f"  {label:<{LABEL - 2}}", "dim"), first))
        rows += [Text(" " * LABEL + line) for line in rest]
    rows.append(Text(f"  {folder}/trace.json", "dim"))
    for row in rows:
        console.print(row, soft_wrap=True)
