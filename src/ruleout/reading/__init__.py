"""Log bytes become records, and records become stages, settings, an environment, a first failure and its signature.

Read in this order: `lines` (bytes to whole lines), `triggers` (which lines are looked at), `records` (a line without
its logger's prefix), `tracebacks` and `oneliners` (what may be a failure), `classes` (what kind), `failures` (which was
first), `signature` (whether two are the same), `stages`, and `reading`, which joins them for a trial: it asks only for
the stages that the trial's engine names and for the failure.

`diagnose.read_facts` reads everything that a log of unknown origin says: `formats` (one file per engine's log), `book`
(what was said of settings and environment), `timeline`, `facts` (the pass over the bytes), `where` and `placing` (in
which stage it failed), `infer` (failures that no line reports), `outcome`, `merging` (several logs of one run).
"""

from ruleout.reading.reading import LogFailure, Reading, read_log
from ruleout.reading.signature import signature, similar
from ruleout.reading.stages import StageFollower, StageMark

__all__ = ["LogFailure", "Reading", "StageFollower", "StageMark", "read_log", "signature", "similar"]
