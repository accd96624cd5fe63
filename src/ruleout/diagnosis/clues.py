"""All clues, in no order that matters: each counts for itself."""

from __future__ import annotations

from ruleout.diagnosis.clue import Clue
from ruleout.diagnosis.clues_engine import ENGINE
from ruleout.diagnosis.clues_start import START

CLUES: tuple[Clue, ...] = (*START, *ENGINE)
