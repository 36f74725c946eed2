"""Curves as SVG: lines over episodes generated, without a library for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Point = tuple[float, float]
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 420, 60, 210, 44, 56
_COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8d5a97")


def curves(series: Mapping[str, Sequence[Sequence[Point]]], *, title: str, x: str, y: str) -> str:
    """`series` are lines by name, one for each seed; y goes from 0 to 1."""
    most = max((at for lines in series.values() for line in lines for at, _ in line), default=1.0) or 1.0
    step = _round(most / 5)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="24" font-size="15">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="{_HEIGHT - 14}">{escape(x)}</text>',
        f'<text transform="translate(16 {_HEIGHT - _BOTTOM}) rotate(-90)">{escape(y)}</text>',
    ]
    for tenth in range(0, 11, 2):
        _, at = _place((0, tenth / 10), most)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{at + 4}" text-anchor="end">{tenth / 10:.1f}</text>')
    for number in range(int(most / step) + 1):
        at, low = _place((number * step, 0), most)
        parts.append(f'<text x="{at}" y="{low + 18}" text-anchor="middle">{number * step:,.0f}</text>')
    for place, (name, lines) in enumerate(series.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        for line in lines:
            points = " ".join(f"{a},{b}" for a, b in (_place(one, most) for one in line))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        down = _TOP + 10 + 22 * place
        right = _WIDTH - _RIGHT + 16
        parts.append(f'<rect x="{right}" y="{down}" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{right + 20}" y="{down + 6}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _place(point: Point, most: float) -> tuple[float, float]:
    across = _LEFT + (_WIDTH - _LEFT - _RIGHT) * point[0] / most
    return round(across, 1), round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * point[1], 1)


def _round(value: float) -> float:
    """Up to 1, 2 or 5 times a power of ten."""
    power = 1.0
    while power * 10 < value:
        power *= 10
    return next(power * one for one in (1, 2, 5, 10) if power * one >= value)
