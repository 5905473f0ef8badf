"""Curves as an SVG image that stands in an HTML page: no script, colours from the style of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 250, 84, 14, 12, 36
COLOURS = 4
"""How many colours the page has for curves, as the classes `curve0`, `curve1`, ..."""

Curve = tuple[str, Sequence[float | str]]
"""A name and its values; what is not a finite number leaves a gap."""


def legend(curves: Sequence[Curve]) -> str:
    """The names of curves with their colours, as text that is read without the image."""
    items = []
    for number, (name, values) in enumerate(curves):
        items.append(f'<li class="curve{number % COLOURS}">{escape(name)}{"" if values else ": nothing"}</li>')
    return f'<ul class="legend">{"".join(items)}</ul>'


def chart(curves: Sequence[Curve], label: str, log: bool = False, level: float | None = None) -> str:
    """Curves over their index; `label` says what that counts. The first of several is drawn broad, so that one
    that is equal to it is seen on top of it.

    `log` gives a logarithmic scale, on which values that are not above zero are left out. `level` is a
    value at which a dashed line is drawn.
    """
    drawable = [(name, [_finite(value, log) for value in values]) for name, values in curves]
    shown = [value for _, values in drawable for value in values if value is not None]
    dashed = None if level is None else _finite(level, log)
    shown += [] if dashed is None else [dashed]
    ticks = _powers(shown) if log else _ticks(shown)
    low, high = ticks[0], ticks[-1]
    last = max(1, max(len(values) for _, values in curves) - 1)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def height(value: float) -> str:
        return f"{bottom - (bottom - TOP) * (value - low) / (high - low):.1f}"

    drawn = []
    for value in ticks:
        text = f"1e{value:.0f}" if log else f"{value:.4g}"
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{height(value)}" y2="{height(value)}"/>')
        drawn.append(f'<text x="{LEFT - 8}" y="{height(value)}" dy=".35em" text-anchor="end">{text}</text>')
    if dashed is not None:
        y = height(dashed)
        drawn.append(f'<line class="level" x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
    for order, (name, values) in enumerate(drawable):
        shape = f'class="curve{order % COLOURS}{" first" if order == 0 and len(curves) > 1 else ""}"'
        for start, part in _parts(values):
            points = [f"{LEFT + (right - LEFT) * (start + n) / last:.1f},{height(v)}" for n, v in enumerate(part)]
            if len(points) == 1:
                x, y = points[0].split(",")
                drawn.append(f'<circle {shape} cx="{x}" cy="{y}" r="2"><title>{escape(name)}</title></circle>')
            else:
                line = " ".join(points)
                drawn.append(f'<polyline {shape} points="{line}"><title>{escape(name)}</title></polyline>')
    for at, anchor, text in ((LEFT, "start", "0"), ((LEFT + right) // 2, "middle", label), (right, "end", str(last))):
        drawn.append(f'<text x="{at}" y="{HEIGHT - 10}" text-anchor="{anchor}">{escape(text)}</text>')
    names = escape(f"{', '.join(name for name, _ in curves)} by {label}")
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{names}">{"".join(drawn)}</svg>'


def _finite(value: float | str, log: bool) -> float | None:
    if isinstance(value, str) or not math.isfinite(value) or (log and value <= 0):
        return None
    return math.log10(value) if log else value


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers, about five, from below the smallest value to above the largest."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if low == high:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    about = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(about))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= about * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def _powers(exponents: Sequence[float]) -> list[float]:
    """The exponents of powers of ten from below the smallest to above the largest."""
    low, high = (min(exponents), max(exponents)) if exponents else (-1.0, 0.0)
    first, last = math.floor(low - 0.1), math.ceil(high + 0.1)
    step = max(1, (last - first) // 4)
    return [float(power) for power in range(first, last + step, step)]


def _parts(values: Sequence[float | None]) -> list[tuple[int, list[float]]]:
    """The stretches without a gap, each with the index at which it begins."""
    parts: list[tuple[int, list[float]]] = []
    gap = True
    for index, value in enumerate(values):
        if value is not None:
            if gap:
                parts.append((index, []))
            parts[-1][1].append(value)
        gap = value is None
    return parts
