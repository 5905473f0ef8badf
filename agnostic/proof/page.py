"""The HTML page of a verification: verdicts, curves as inline SVG, tracebacks. It needs no script and no
network.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from agnostic.proof.chart import chart, legend
from agnostic.proof.compare import Verdict, relative, series
from agnostic.proof.program import Run
from agnostic.proof.usage import devices

if TYPE_CHECKING:
    from agnostic.proof.agreement import Agreement

STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --quiet: #59636e; --ground: #fff; --panel: #f3f4f6; }
:root { --grid: #d8dce1; --good: #17692f; --good-ground: #e6f4ea; --bad: #a61b1b; --bad-ground: #fdeaea; }
:root { --curve0: #1f6fb4; --curve1: #c2410c; --curve2: #1f7a3f; --curve3: #7c3aad; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8eb; --quiet: #a0a8b1; --ground: #15181c; --panel: #22262c; }
  :root { --grid: #3a4048; --good: #7ddc97; --good-ground: #15301d; --bad: #ff9d94; --bad-ground: #3d1a1a; }
  :root { --curve0: #5cabf0; --curve1: #ff9a5c; --curve2: #6fd08c; --curve3: #c79bf2; }
}
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground); }
body { max-width: 860px; margin: 2em auto; padding: 0 1em; overflow-wrap: anywhere; }
h1 { font-size: 1.4em; line-height: 1.25; } h2 { font-size: 1.1em; margin: 2em 0 .5em; }
pre { background: var(--panel); padding: .8em; border-radius: 6px; font-size: 13px; white-space: pre-wrap; }
table { border-collapse: collapse; } td, th { padding: .25em 1.2em .25em 0; text-align: left; }
th { color: var(--quiet); font-weight: 500; } td { border-top: 1px solid var(--grid); }
.verdict { border-left: 5px solid; border-radius: 6px; padding: .7em 1em; margin: 1em 0; }
.verdict p { color: var(--text); margin: .2em 0 0; } .verdict strong { font-size: 1.1em; }
.good { color: var(--good); background: var(--good-ground); }
.bad { color: var(--bad); background: var(--bad-ground); }
.quiet { color: var(--quiet); }
.legend { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0 1.4em; }
.legend li::before { content: ""; display: inline-block; width: 1.6em; height: 4px; margin-right: .5em; }
.legend li::before { vertical-align: middle; background: currentColor; border-radius: 2px; }
li.curve0 { color: var(--curve0); } li.curve1 { color: var(--curve1); }
li.curve2 { color: var(--curve2); } li.curve3 { color: var(--curve3); }
svg { display: block; width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--quiet); }
svg .grid { stroke: var(--grid); } svg .level { stroke: var(--bad); stroke-dasharray: 6 4; }
polyline { fill: none; stroke-width: 1.7; stroke-linejoin: round; } .first { stroke-width: 6; opacity: .45; }
polyline.curve0 { stroke: var(--curve0); } polyline.curve1 { stroke: var(--curve1); }
polyline.curve2 { stroke: var(--curve2); } polyline.curve3 { stroke: var(--curve3); }
circle.curve0 { fill: var(--curve0); } circle.curve1 { fill: var(--curve1); }
circle.curve2 { fill: var(--curve2); } circle.curve3 { fill: var(--curve3); }
@media (max-width: 600px) { svg text { font-size: 20px; } body { margin: 1em auto; } }
@media print { body { max-width: none; } }
"""
HEADLINES = {
    "same": "Same, bit for bit",
    "within tolerance": "Same within tolerance",
    "different": "Different",
    "never used": "The device was never used",
    "no comparison": "No comparison",
}


def page(title: str, verdicts: Sequence[Verdict], runs: Sequence[tuple[str, Run]], agreement: Agreement | None) -> str:
    """The page as text. `runs` are the runs with their names."""
    parts = [f"<h1>{escape(title)}</h1>", *map(_verdict, verdicts)]
    for name, run in runs:
        if run.status != "ended":
            shown = "".join(f"<pre>{escape(text)}</pre>" for text in (run.traceback, run.stacks) if text.strip())
            parts.append(f"<h2>{escape(name)}: {run.status}</h2>{shown}")
    for quantity, label in _quantities(runs):
        for rank in sorted({rank for _, run in runs for rank in run.ranks}):
            curves = [(name, [value for value, *_ in series(run.ranks.get(rank, []), quantity)]) for name, run in runs]
            if any(values for _, values in curves):
                parts.append(f"<h2>{quantity.capitalize()}{f', rank {rank}' if rank else ''}</h2>")
                parts += [legend(curves), chart(curves, label)]
                parts += _differences(dict(curves), verdicts, label)
    if agreement is not None:
        parts.append(f"<h2>CUDA at run time</h2><pre>{escape(str(agreement))}</pre>")
    parts.append(_table(runs))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _verdict(verdict: Verdict) -> str:
    kind = "good" if verdict.good else "bad"
    headline = HEADLINES[verdict.outcome]
    return f'<div class="verdict {kind}"><strong>{headline}</strong><p>{escape(str(verdict))}</p></div>'


def _quantities(runs: Sequence[tuple[str, Run]]) -> list[tuple[str, str]]:
    """What is drawn, and what it is drawn over: values read are the result only where nothing is trained."""
    if any(event["kind"] in ("loss", "step") for _, run in runs for event in run.events):
        return [("loss", "number of the loss"), ("gradient norm", "optimizer step")]
    return [("value read", "number of the value")]


def _differences(curves: dict[str, list[float | str]], verdicts: Sequence[Verdict], label: str) -> list[str]:
    """The relative differences of the pairs that were compared, on a logarithmic scale, with the tolerance:
    two curves can lie on each other and differ.
    """
    pairs = [one for one in verdicts if {one.left, one.right} <= {*curves} and one.outcome != "same"]
    drawn = []
    for one in pairs:
        apart = [relative(a, b) for a, b in zip(curves[one.left], curves[one.right], strict=False)]
        if any(apart):
            text = f"Relative difference of {one.left} and {one.right}; the dashed line is the tolerance, {one.rtol:g}."
            drawn.append(f'<p class="quiet">{escape(text)}</p>')
            drawn.append(chart([(f"{one.left} and {one.right}", apart)], label, log=True, level=one.rtol or None))
    return drawn


def _table(runs: Sequence[tuple[str, Run]]) -> str:
    rows = ""
    for name, run in runs:
        where = ", ".join(devices(run)) or "-"
        rows += f"<tr><td>{escape(name)}<td>{run.status}<td>{escape(where)}<td>{run.seconds:.1f} s</tr>"
    return f"<h2>Runs</h2><table><tr><th>run<th>status<th>computed on<th>time</tr>{rows}</table>"
