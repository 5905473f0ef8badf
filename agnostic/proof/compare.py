"""Compare what a program learned in two runs: the same, the same within a tolerance, or different, and from
where on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agnostic.proof.program import Run
from agnostic.proof.usage import is_unused, learned_elsewhere, why_unused

RTOL = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 2e-2}
"""How far two runs may be apart by default, relative, by the lowest precision that either computed in.

float32: another order of summation moves the last bits (1e-7), and training multiplies that step by step.
float16, bfloat16: autocast has other operator lists on each kind of device, and 11 and 8 bits of mantissa.
"""
QUANTITIES = ("loss", "gradient norm", "parameter norm", "parameters", "value read")
OF_ONE_DEVICE = ("loss scale", "devices", "autocast")
"""Compared only between two runs on devices of one name: a loss is scaled on some devices and not on
others.
"""


@dataclass(frozen=True)
class Parting:
    """The place where two runs are no longer the same."""

    quantity: str
    rank: int
    number: int
    """Which one of its kind it is, from 0."""
    order: int
    """What had been recorded by then; orders the places."""
    left: float | str | None
    right: float | str | None
    place: str = ""

    def __str__(self) -> str:
        where = f" (rank {self.rank})" if self.rank else ""
        at = "" if self.quantity in ("loss", "loss scale", "value read", "autocast") else " at optimizer step"
        what = f"{self.quantity}{at} {self.number}{where}{self.place}"
        return f"{what}: {_shown(self.left)} and {_shown(self.right)}"


def _shown(value: float | str | None) -> str:
    return "nothing" if value is None else value if isinstance(value, str) else f"{value:.9g}"


@dataclass(frozen=True)
class Verdict:
    """How two runs compare."""

    left: str
    right: str
    outcome: str
    """`same`, `within tolerance` or `different`; `never used` if the program did not use its device;
    `no comparison` if it failed or nothing was recorded.
    """
    rtol: float
    parting: Parting | None = None
    reason: str = ""
    """Why there is no comparison; what is to be remarked about one that there is."""
    counts: tuple[int, int, int] = (0, 0, 0)
    """Losses, optimizer steps and values read that were compared, over all ranks."""
    largest: float = 0.0
    """The largest relative difference of two losses; of two values read, if nothing is trained."""

    @property
    def good(self) -> bool:
        return self.outcome in ("same", "within tolerance")

    def __str__(self) -> str:
        pair = f"{self.left} and {self.right}"
        losses, steps, reads = self.counts
        seen = ", ".join(
            f"{count} {one if count == 1 else several}"
            for count, one, several in (
                (losses, "loss", "losses"),
                (steps, "optimizer step", "optimizer steps"),
                (reads, "value read", "values read"),
            )
        )
        remark = f"; {self.reason}" if self.reason else ""
        if self.outcome == "same":
            return f"{pair}: same, bit for bit ({seen}){remark}"
        if self.outcome == "within tolerance":
            assert self.parting is not None
            since = f"bit for bit up to {self.parting}" if self.parting.order else f"from {self.parting} on"
            what = "losses" if losses else "values"
            largest = f"{what} differ by at most {self.largest:.2g}"
            return f"{pair}: same within tolerance {self.rtol:g}, {since}; {largest} ({seen}){remark}"
        if self.outcome == "different":
            return f"{pair}: different" + (f", from {self.parting} on{remark}" if self.parting else f": {self.reason}")
        return f"{pair}: {'no comparison: ' * (self.outcome == 'no comparison')}{self.reason}"


def precision(*runs: Run) -> str:
    """The lowest precision that the runs computed in."""
    seen = set()
    for event in (event for run in runs for event in run.events):
        seen |= {event.get("dtype")} | set(event.get("dtypes", ()))
    return next((name for name in ("bfloat16", "float16") if name in seen), "float32")


def compare(left: Run, right: Run, rtol: float | None = None, labels: tuple[str, str] | None = None) -> Verdict:
    """Compare two runs of a program. `rtol` is the relative tolerance; None takes it from the precision
    seen.
    """
    names = labels or (left.device, right.device)
    tolerance = RTOL[precision(left, right)] if rtol is None else rtol

    def verdict(outcome: str, **more: Any) -> Verdict:
        return Verdict(*names, outcome, tolerance, **more)

    unfinished = [(name, run) for name, run in zip(names, (left, right), strict=True) if run.status != "ended"]
    if unfinished:
        reason = " and ".join(f"on {name} the program {STATUS[run.status]}" for name, run in unfinished)
        return verdict("no comparison", reason=reason)
    for run in (left, right):
        if is_unused(run):
            return verdict("never used", reason=why_unused(run))
    ranks, others = _ranks(left), _ranks(right)
    if not ranks and not others:
        return verdict("no comparison", reason="no loss was back-propagated and no value was read from a tensor")
    if ranks != others:
        return verdict("different", reason=f"{len(ranks)} and {len(others)} processes recorded something")
    trains = any(event["kind"] == "loss" for event in left.events)
    exact: list[Parting] = []
    apart: list[Parting] = []
    counts, largest = [0, 0, 0], 0.0
    for rank in ranks:
        for quantity in QUANTITIES + OF_ONE_DEVICE * (left.device == right.device):
            pair = series(left.ranks[rank], quantity), series(right.ranks[rank], quantity)
            number = _first_difference(*pair, 0.0)
            if number is not None:
                exact.append(_parting(quantity, rank, number, *pair))
            if quantity not in OF_ONE_DEVICE:
                number = _first_difference(*pair, tolerance)
            if number is not None:
                apart.append(_parting(quantity, rank, number, *pair))
            if quantity in COUNTED:
                counts[COUNTED.index(quantity)] += len(pair[0])
            if quantity == ("loss" if trains else "value read"):
                differences = (relative(a[0], b[0]) for a, b in zip(*pair, strict=False))
                largest = max(largest, *differences, 0.0)
    first = min(
        apart or exact,
        key=lambda one: (one.order, (QUANTITIES + OF_ONE_DEVICE).index(one.quantity)),
        default=None,
    )
    outcome = "different" if apart else "within tolerance" if exact else "same"
    remark = "; ".join(filter(None, map(learned_elsewhere, (left, right))))
    return verdict(outcome, reason=remark, parting=first, counts=tuple(counts), largest=largest)


def _ranks(run: Run) -> list[int]:
    """The ranks that recorded something to compare."""
    return [rank for rank, events in run.ranks.items() if any(event["kind"] in COMPARED for event in events)]


COMPARED = ("loss", "step", "read")
COUNTED = ("loss", "parameters", "value read")
STATUS = {"failed": "failed", "hung": "did not end in time", "asked": "asked for input, and there is none"}


def series(events: Sequence[dict[str, Any]], quantity: str) -> list[tuple[float | str, int, str]]:
    """The values of a quantity, each with its position in what was recorded and its place in the program."""
    found: list[tuple[float | str, int, str]] = []
    for order, event in enumerate(events):
        match event["kind"], quantity:
            case "loss", "loss":
                found.append((event["value"], order, ""))
            case "loss", "loss scale":
                found.append((event["scale"], order, ""))
            case "loss", "autocast":
                found.append((", ".join(event["autocast"]) or "none", order, ""))
            case "step", "gradient norm":
                found.append((event["gradient_norm"], order, f" ({event['name']})"))
            case "step", "parameter norm":
                found.append((event["parameter_norm"], order, f" ({event['name']})"))
            case "step", "parameters":
                found.append((event["digest"], order, f" ({event['name']})"))
            case "step", "devices":
                found.append((", ".join(event["devices"]), order, ""))
            case "read", "value read":
                found += [(value, order, f" ({event['file']}:{event['line']})") for value in event["values"]]
    return found


def relative(left: float | str, right: float | str) -> float:
    """The difference of two numbers relative to the larger; infinite for one that is no number on one side
    only.
    """
    if left == right or (left != left and right != right):
        return 0.0
    if isinstance(left, str) or isinstance(right, str) or not (math.isfinite(left) and math.isfinite(right)):
        return math.inf
    return abs(left - right) / max(abs(left), abs(right))


def _first_difference(left: Sequence, right: Sequence, rtol: float) -> int | None:
    """Where two series part: by more than `rtol` of the value, or of the mean of the series for values near
    zero.

    Digests have no distance: they count only where nothing is tolerated.
    """
    numbers = [abs(value) for value, *_ in left if not isinstance(value, str) and math.isfinite(value)]
    floor = rtol * sum(numbers) / len(numbers) if numbers else 0.0
    for number, ((a, *_), (b, *_)) in enumerate(zip(left, right, strict=False)):
        if isinstance(a, str) or isinstance(b, str):
            if a != b and rtol == 0:
                return number
        elif relative(a, b) > rtol and not abs(a - b) <= floor:
            return number
    return min(len(left), len(right)) if len(left) != len(right) else None


def _parting(quantity: str, rank: int, number: int, left: Sequence, right: Sequence) -> Parting:
    a, b = (side[number] if number < len(side) else None for side in (left, right))
    known = a or b
    assert known is not None
    return Parting(quantity, rank, number, known[1], a and a[0], b and b[0], known[2])
