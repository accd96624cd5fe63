"""A calibration curve as an SVG: what was given on one axis, how often it was right on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from measure import Bin

SIDE, LEFT, TOP = 320, 56, 28
COLOURS = ("#1f6feb", "#b3541e")


def drawn(curves: Mapping[str, Sequence[Bin]]) -> str:
    """The curves by name, each with its intervals, beside the diagonal on which they should lie."""
    width, height = LEFT + SIDE + 24, TOP + SIDE + 84
    side = f"{SIDE * 0.2:.1f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="12"'
        ' role="img" aria-label="Calibration of the suspects of held-out cases">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<rect x="{_x(0.6):.1f}" y="{_y(0.8):.1f}" width="{side}" height="{side}" fill="#eef3e6"/>',
    ]
    for tick in range(0, 11, 2):
        share = tick / 10
        parts.append(f'<path d="M{_x(share):.1f} {_y(0)}V{_y(1)}M{_x(0)} {_y(share):.1f}H{_x(1)}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{_x(share):.1f}" y="{_y(0) + 16}" text-anchor="middle">{share:.0%}</text>')
        parts.append(f'<text x="{LEFT - 6}" y="{_y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    parts.append(f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" stroke="#888888" stroke-dasharray="4 4"/>')
    for index, (name, bins) in enumerate(curves.items()):
        colour, shift = COLOURS[index % len(COLOURS)], 3 * index - 1.5
        line = " ".join(f"{_x(b.stated) + shift:.1f},{_y(b.right):.1f}" for b in bins)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for b in bins:
            x = _x(b.stated) + shift
            parts.append(f'<path d="M{x:.1f} {_y(b.low):.1f}V{_y(b.high):.1f}" stroke="{colour}"/>')
            parts.append(f'<circle cx="{x:.1f}" cy="{_y(b.right):.1f}" r="3.5" fill="{colour}"/>')
        y = TOP + SIDE + 56 + 16 * index
        parts.append(f'<circle cx="{LEFT + 6}" cy="{y - 4}" r="3.5" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 16}" y="{y}">{name}, with 90 % intervals</text>')
    parts.append(f'<text x="{_x(0.5):.1f}" y="{TOP + SIDE + 34}" text-anchor="middle">given to a suspect</text>')
    parts.append(f'<text transform="translate(14 {_y(0.5):.1f}) rotate(-90)" text-anchor="middle">right</text></svg>\n')
    return "\n".join(parts)


def _x(share: float) -> float:
    return LEFT + SIDE * share


def _y(share: float) -> float:
    return TOP + SIDE * (1 - share)
