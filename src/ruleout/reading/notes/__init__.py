"""Notes of people about trials, and FINDINGS.md, become trials with the line that tells each.

Read in this order: `text` (bytes to lines), `layout` (lines to headings, tables, items and paragraphs), `changes` (what
a text says was changed), `words` and `outcomes` (what it says became of it), `claims` (which of both belong together),
`tables`, `fields`, `lists`, `sentences` and `sections` (where claims stand), `told` (what they add up to), `reader`,
which makes trials of them. `own` reads what ruleout itself has written.
"""

from ruleout.reading.notes.reader import read_notes

__all__ = ["read_notes"]
