"""A group of causes as a person would say it."""

from __future__ import annotations

from ruleout.model.configuration import shown
from ruleout.reasoning.beliefs import ELSEWHERE, OTHER_SHAPE, Group
from ruleout.reasoning.space import Space


def claim(space: Space, group: Group) -> str:
    """A group of causes in words."""
    if group == ELSEWHERE:
        return "elsewhere: no factor takes part"
    if group == OTHER_SHAPE:
        return "something else: no set of up to four causes of up to four factors each"
    parts = [" together with ".join(f"{space.names[f]}={shown(space.levels[f][0])}" for f in cause) for cause in group]
    return ", and by itself ".join(parts)
