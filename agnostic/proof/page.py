"""The HTML page of a verification: verdicts, curves as inline SVG, tracebacks. It needs no script and no
network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from agnostic.proof.compare import Verdict, series
from agnostic.proof.program import Run

if TYPE_CHECKING:
    from agnostic.proof.agreement import Agreement

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 260, 62, 12, 14, 34
COLOURS = ("#1f6fb4", "#d1551f", "#2a8a4a", "#8747b5")
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; }
body { max-width: 860px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.35em; } h2 { font-size: 1.1em; margin-top: 2em; }
pre { background: #f5f5f3; padding: .8em; overflow-x: auto; font-size: 12.5px; }
table { border-collapse: collapse; } td, th { padding: .2em .9em .2em 0; text-align: left; }
.good { color: #1c7a3a; } .bad { color: #b3261e; }
svg { display: block; width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: #555; }
"""


def page(title: str, verdicts: Sequence[Verdict], runs: Sequence[tuple[str, Run]], agreement: Agreement | None) -> str:
    """The page as text. `runs` are the runs with their names."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for verdict in verdicts:
        parts.append(f'<p class="{"good" if verdict.good else "bad"}">{escape(str(verdict))}</p>')
    for quantity in ("loss", "gradient norm"):
        for rank in sorted({rank for _, run in runs for rank in run.ranks}):
            curves = [(name, [value for value, *_ in series(run.ranks.get(rank, []), quantity)]) for name, run in runs]
            if any(values for _, values in curves):
                parts.append(f"<h2>{quantity.capitalize()}{f', rank {rank}' if rank else ''}</h2>")
                parts.append(chart(curves, "number of the loss" if quantity == "loss" else "optimizer step"))
    if agreement is not None:
        parts.append(f"<h2>CUDA at run time</h2><pre>{escape(str(agreement))}</pre>")
    for name, run in runs:
        if run.status != "ended":
            parts.append(f"<h2>{escape(name)}: {run.status}</h2><pre>{escape(run.traceback)}</pre>")
            parts.append(f"<pre>{escape(run.stacks)}</pre>" if run.stacks else "")
    rows = "".join(f"<tr><td>{escape(name)}<td>{run.status}<td>{run.seconds:.1f} s</tr>" for name, run in runs)
    parts.append(f"<h2>Runs</h2><table><tr><th>run<th>status<th>time</tr>{rows}</table>")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def chart(curves: Sequence[tuple[str, Sequence[float | str]]], label: str) -> str:
    """Curves over their index. The first is drawn broad, so that one that is equal to it is seen on top of
    it.
    """
    finite = [value for _, values in curves for value in values if isinstance(value, float) and math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    high += (high - low or 1.0) * 0.05
    last = max(1, max(len(values) for _, values in curves) - 1)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def point(number: int, value: float) -> str:
        x = LEFT + (right - LEFT) * number / last
        return f"{x:.1f},{bottom - (bottom - TOP) * (value - low) / (high - low):.1f}"

    drawn = []
    for tick in range(5):
        value = low + (high - low) * tick / 4
        y = point(0, value).split(",")[1]
        drawn.append(f'<line x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    for order, (name, values) in enumerate(curves):
        colour = COLOURS[order % len(COLOURS)]
        broad = 'stroke-width="5" opacity="0.45"' if not order else 'stroke-width="1.6"'
        style = f'fill="none" stroke="{colour}" {broad}'
        points = [point(n, v) for n, v in enumerate(values) if isinstance(v, float) and math.isfinite(v)]
        if points:
            drawn.append(f'<polyline {style} points="{" ".join(points)}"><title>{escape(name)}</title></polyline>')
        at = f'x="{right - 4}" y="{TOP + 12 + 15 * order}" text-anchor="end"'
        drawn.append(f'<text {at} style="fill:{colour}">{escape(name)}</text>')
    drawn.append(f'<text x="{LEFT}" y="{HEIGHT - 8}">0</text>')
    drawn.append(f'<text x="{right}" y="{HEIGHT - 8}" text-anchor="end">{last}</text>')
    drawn.append(f'<text x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>')
    names = ", ".join(name for name, _ in curves)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(names)}">{"".join(drawn)}</svg>'
