"""Log bytes become records, and records become stages, a first failure and its signature.

Read in this order: `lines` (bytes to whole lines), `triggers` (which lines are looked at), `records` (a line without
its logger's prefix), `tracebacks` and `oneliners` (what may be a failure), `classes` (what kind), `failures` (which was
first), `signature` (whether two are the same), `stages`, and `reading`, which joins them.
"""

from ruleout.reading.reading import LogFailure, Reading, read_log
from ruleout.reading.signature import signature, similar
from ruleout.reading.stages import StageFollower, StageMark

__all__ = ["LogFailure", "Reading", "StageFollower", "StageMark", "read_log", "signature", "similar"]
