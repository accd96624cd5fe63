"""Probabilities and times as people read them: one style in every sentence, whoever writes it.

A plan says why a trial is made, a screen how likely a cause is; a reader compares the two, and `47%` beside `47 %`,
or `7.1 min` beside `7:04`, looks like two different things.
"""

from __future__ import annotations


def percent(probability: float) -> str:
    """A probability for people: none is a certainty."""
    if probability >= 0.9995:
        return "> 99.9 %"
    if probability >= 0.99:
        return f"{100 * probability:.1f} %"
    if 0 < probability < 0.01:
        return "< 1 %"
    return f"{100 * probability:.0f} %"


def minutes(value: float) -> str:
    """Minutes as 0:48, 12:05 or 3:20:00; what took less than a second took time all the same."""
    seconds = round(value * 60)
    if not seconds and value > 0:
        return "< 0:01"
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
