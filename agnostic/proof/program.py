"""Run a program on one device in processes of its own, and gather what they recorded."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agnostic.config import ConfigError
from agnostic.proof.autoload import RECORD, STAND_IN

BACKEND = "TORCH_AGNOSTIC_BACKEND"
REAL = ("cuda", "xpu", "mps")
"""Devices that torch itself brings; for any other name the reference backend takes that name."""

STANDING_IN = "stand-in"
"""The name of the device on which the program believes that it has CUDA."""


@dataclass
class Run:
    """What came of a program on one device."""

    device: str
    status: str
    """`ended`, `failed`, `hung`, or `asked` if it died because it wanted to read from standard input."""
    returncode: int | None
    seconds: float = 0.0
    output: str = ""
    """The end of its standard output and error, together."""
    ranks: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """What each rank recorded, in order."""
    stacks: str = ""
    """Where a program that hung was."""

    @property
    def events(self) -> Iterator[dict[str, Any]]:
        """What was recorded, rank after rank."""
        for events in self.ranks.values():
            yield from events

    @property
    def traceback(self) -> str:
        """The last traceback in the output that is not torchrun's own, or else the last lines."""
        blocks = self.output.split("Traceback (most recent call last)")[1:]
        own = [block for block in blocks if "ChildFailedError" not in block]
        if own:
            return "Traceback (most recent call last)" + own[-1]
        return "\n".join(self.output.splitlines()[-20:])


def environment(device: str, exact: bool = True) -> dict[str, str]:
    """The environment in which a program finds `device` as its accelerator; `cpu` means none.

    `exact` makes the reference device draw the random numbers of the CPU, so that two runs can be the same
    bit by bit.
    """
    given = {key: value for key, value in os.environ.items() if key != BACKEND}
    if device in REAL:
        return given
    given["CUDA_VISIBLE_DEVICES"] = ""  # a CUDA build must not find its GPU when another device is asked for
    given["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "1"
    if device == STANDING_IN:
        given[STAND_IN] = "1"
    elif device != "cpu":
        given[BACKEND] = device
        if exact:
            given.setdefault("NEURON_REF_RNG", "shared")
    return given


def prepare(devices: Iterable[str]) -> None:
    """Build the reference backend if one of the devices is a name for it, unless that has been done.

    Raises ConfigError if programs in this environment cannot be recorded or the backend cannot be built.
    """
    points = {point.value.partition(".")[0] for point in entry_points(group="torch.backends")}
    if not {"agnostic", "backend_ref"} <= points:
        raise ConfigError(
            "torch-agnostic is not installed in this environment: `pip install 'torch-agnostic[backend]'`"
        )
    if find_spec("torch") is None:
        raise ConfigError("torch is not installed in this environment: `pip install 'torch-agnostic[backend]'`")
    if {*devices} - {*REAL, "cpu", STANDING_IN}:
        from backend_ref import build

        if build.locate(version("torch")) is None:
            given = {key: value for key, value in os.environ.items() if key != BACKEND}
            if subprocess.run(
                [sys.executable, "-m", "backend_ref", "build"], env=given, stdout=subprocess.DEVNULL
            ).returncode:
                raise ConfigError("the reference backend could not be built; see `torch-agnostic backend doctor`")


def command_line(program: Sequence[str], processes: int) -> list[str]:
    """How Python is started for `script.py args...` or `-m module args...`, through torchrun for several
    processes.

    An executable that is no Python file is started as it is.
    """
    python = program[0] == "-m" or program[0].endswith(".py") or Path(program[0]).is_dir()
    if processes > 1:
        if not python:
            raise ValueError("--nproc starts Python files and modules; write `script.py` or `-m module`")
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        return [sys.executable, *launcher, *program]
    return [sys.executable, *program] if python else list(program)


def record(
    program: Sequence[str],
    device: str,
    processes: int = 1,
    timeout: float | None = None,
    extra: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Run:
    """Run `program` on `device` with the recorder in it. `timeout` is in seconds.

    Standard input is closed: a program that asks for input ends at once instead of waiting.
    """
    with tempfile.TemporaryDirectory(prefix="torch-agnostic-") as name:
        folder = Path(name)
        given = {**environment(device), RECORD: name, "PYTHONUNBUFFERED": "1", **(extra or {})}
        start = time.monotonic()
        with (folder / "output.txt").open("w+b") as output:
            child = subprocess.Popen(
                command_line(program, processes),
                env=given,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                returncode: int | None = child.wait(timeout)
            except subprocess.TimeoutExpired:
                returncode = None
                _ask_where(folder)
            finally:
                _end(child)
        seconds = time.monotonic() - start
        text = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        stacks = "\n".join(path.read_text() for path in sorted(folder.glob("*.stack")) if path.stat().st_size)
        run = Run(device, _status(returncode, text), returncode, seconds, text[-20000:], ranks_in(folder), stacks)
    return run


def _status(returncode: int | None, output: str) -> str:
    if returncode is None:
        return "hung"
    if returncode == 0:
        return "ended"
    return "asked" if "EOFError: EOF when reading a line" in output else "failed"


def _ask_where(folder: Path) -> None:
    """Have each recorded process write where it is, and wait until they have."""
    pids = [int(path.stem) for path in folder.glob("*.stack")]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
    end = time.monotonic() + 2
    while time.monotonic() < end and not all((folder / f"{pid}.stack").stat().st_size for pid in pids):
        time.sleep(0.05)


def _end(child: subprocess.Popen) -> None:
    """Kill what is left of the program's session; a launcher's workers are in it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def ranks_in(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """The events that processes wrote to `folder`, by rank. A rank that used several processes, one after the
    other, has their events in that order.
    """
    journals = []
    for path in folder.glob("*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines if line.endswith("}")]
        if events:
            journals.append(events)
    ranks: dict[int, list[dict[str, Any]]] = {}
    for events in sorted(journals, key=lambda events: events[0]["time"]):
        # A process learns its rank when it joins the group, so the last one it wrote is its own.
        ranks.setdefault(events[-1]["rank"], []).extend(events)
    return dict(sorted(ranks.items()))
