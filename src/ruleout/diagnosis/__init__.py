"""From facts to suspects: which part of the stack may be the cause, how likely, on which lines, what would refute it.

Nothing here is confirmed by reading: a suspect has a probability, and what none of them explains has one too.
"""
