"""The answer of a trace on a terminal: the sentence first, then what bears it and what limits it."""

from __future__ import annotations

from rich.text import Text

from ruleout.interfaces.cli.diagnosis import printable
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.verdict import indented, rows_of
from ruleout.model.traced import Found, Trace
from ruleout.report.trace import trace_facts

LABEL = 25
_SIGNS = {Found.FAILURE: ("✗", "yellow"), Found.NOTHING: ("✓", "green")}


def tell_trace(trace: Trace, folder: str) -> None:
    """Print the answer on stdout; `folder`: that of the trace, as a person names it from here."""
    console = answer_console()
    sign, style = _SIGNS.get(trace.found, ("✗", "red"))
    headline = trace.told[:1].upper() + trace.told[1:]
    told = indented(printable(f"{sign} {headline}", console.encoding), console.width, 2)
    rows = [Text(row, f"bold {style}") for row in told]
    for label, text in trace_facts(trace, folder):
        first, *rest = rows_of(printable(text, console.encoding), console.width - LABEL - 1)
        rows.append(Text.assemble((f"  {label:<{LABEL - 2}}", "dim"), first))
        rows += [Text(" " * LABEL + line) for line in rest]
    rows.append(Text(f"  {folder}/trace.json", "dim"))
    for row in rows:
        console.print(row, soft_wrap=True)
