"""Notes of people about trials, and FINDINGS.md, become trials with the line that tells each.

Read in this order: `text` (bytes to lines), `layout`, `grids` and `nodes` (lines to a tree), `changes` and `commands`
(what a text set), `signs` and `outcomes` (what it says became of it), `relations` (what it builds on), `sentences`,
`prose`, `units` and `tables` (which of both belong together), `reading` (over the tree, with what is `opened`), and
`reader`, which makes trials of the claims. `words` and `terms` have the vocabulary; `own` reads what ruleout itself has
written.
"""

from ruleout.reading.notes.reader import read_notes

__all__ = ["read_notes"]
