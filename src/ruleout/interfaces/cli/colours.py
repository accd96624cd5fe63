"""The colour of each outcome, the same in every view."""

from __future__ import annotations

COLOURS = {"reproduced": "red", "clean": "green", "masked": "yellow", "unresolved": "magenta", "unfinished": "dim"}
