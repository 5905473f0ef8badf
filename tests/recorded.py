"""Runs as the recorder would have left them, and programs for it to record."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from miniature import has_recorder

from agnostic.proof.program import Run
from agnostic.proof.reports import to_json

needs_recorder = pytest.mark.skipif(
    not has_recorder(), reason="torch-agnostic is not installed (`pip install -e .[test]`)"
)


def run(device: str, losses: Iterable[float], status: str = "ended", **more: object) -> Run:
    """A run of one rank in which each loss is followed by a step. `where` is the device that it computed on."""
    where = str(more.get("where", "cpu" if device == "cpu" else f"{device}:0"))
    events = []
    for number, loss in enumerate(losses):
        events.append({"kind": "loss", "value": loss, "scale": more.get("scale", 1.0), "autocast": [], "device": where})
        step = {"name": "SGD", "gradient_norm": loss * 2, "parameter_norm": 1.0, "digest": f"{loss!r}"}
        events.append({"kind": "step", **step, "devices": [where], "dtypes": [str(more.get("dtype", "float32"))]})
        if "reads" in more:
            values = [more["reads"][number]]  # type: ignore[index]
            events.append({"kind": "read", "values": values, "file": "a.py", "line": 3, "device": where})
    return Run(device, status, 0, 1.0, "", {0: events} if events else {})


def inference(device: str, values: Iterable[float], where: str) -> Run:
    """A run that trains nothing and reads values from tensors on the device `where`."""
    events = [{"kind": "read", "values": [one], "file": "a.py", "line": 3, "device": where} for one in values]
    return Run(device, "ended", 0, ranks={0: events})


def reference(folder: Path) -> str:
    """A report to compare with."""
    path = folder / "reference.json"
    path.write_text(to_json(["train.py"], [], [run("cpu", [1.0])], None))
    return str(path)
