"""Whether a program used the device that it was given, and where it was decided that it would not.

A program that did not has proved nothing about it, however equal the curves are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agnostic.output import shown
from agnostic.proof.agreement import findings_in
from agnostic.proof.program import STANDING_IN, Run

DECISIONS = "AGN3"
"""The codes of the rules about how a program chooses its device."""
LEARNED = {"loss": "every loss", "step": "every parameter"}


def devices(run: Run) -> list[str]:
    """The devices of the losses, parameters and values read, as far as they were seen."""
    return sorted(_devices(run, {*LEARNED, "read"}))


def is_unused(run: Run) -> bool:
    """Whether nothing at all, as far as it was seen, was ever on the device that the program was given."""
    return not _concerns_the_cpu(run) and not _is_on(run, _devices(run, {*LEARNED, "read", "reached"}))


def why_unused(run: Run) -> str:
    """Say that a program never used its device, what shows it, and where that was decided."""
    seen = " and ".join(_learned(run)) or ("every value read" if devices(run) else "")
    what = f"{seen} stayed on {', '.join(devices(run))}" if seen else "nothing was ever placed on it"
    return f"the program never used {run.device}: {what}{_decision(run)}"


def learned_elsewhere(run: Run) -> str:
    """What to say of a program that used its device, but not for what it learned; empty for all others."""
    where = _devices(run, {*LEARNED})
    if _concerns_the_cpu(run) or not where or _is_on(run, where):
        return ""
    return f"on {run.device} {' and '.join(_learned(run))} stayed on {', '.join(sorted(where))}"


def _concerns_the_cpu(run: Run) -> bool:
    return run.device in ("cpu", STANDING_IN)


def _is_on(run: Run, used: set[str]) -> bool:
    return run.device in {one.partition(":")[0] for one in used}


def _learned(run: Run) -> list[str]:
    kinds = {event["kind"] for event in run.events}
    return [name for kind, name in LEARNED.items() if kind in kinds]


def _devices(run: Run, kinds: set[str]) -> set[str]:
    events = [event for event in run.events if event["kind"] in kinds]
    return {event["device"] for event in events if "device" in event}.union(
        *(event["devices"] for event in events if "devices" in event)
    )


def _decision(run: Run) -> str:
    """The first line that asked for CUDA as its device; else what is known about the first that computed."""
    events = sorted(run.events, key=lambda event: event.get("time", 0.0))
    touches = [event for event in events if event["kind"] == "touch"]
    for touch in touches:
        for one in _decisions(touch["file"]):
            if one.start.row <= touch["end"] and touch["line"] <= one.end.row:
                return f"; {_place(touch)} asked for CUDA instead: {touch['what']} ({one.code} {one.name})"
    placed = [event for event in events if "file" in event]
    for file in dict.fromkeys(event["file"] for event in placed):
        for one in _decisions(file):
            return f"; {shown(one.path)}:{one.start.row} may have decided that ({one.code} {one.name})"
    computed = [event for event in placed if event["kind"] in (*LEARNED, "read")]
    return f"; it first computed at {_place(computed[0])}" if computed else ""


def _decisions(file: str) -> list[Any]:
    path = Path(file)
    return [one for one in findings_in(path) if one.code.startswith(DECISIONS)] if path.is_file() else []


def _place(event: dict[str, Any]) -> str:
    return f"{shown(Path(event['file']))}:{event['line']}"
