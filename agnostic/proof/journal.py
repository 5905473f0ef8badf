"""The file to which one process of a recorded program writes, line by line, so that a killed one leaves it
behind.
"""

import json
import os
import sys
import sysconfig
import threading
import time
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

PATHS: dict[str, str] = sysconfig.get_paths()
NOT_THE_PROGRAM = tuple(
    str(Path(path).resolve()) + os.sep
    for path in {*(PATHS[name] for name in PATHS if name != "data"), str(Path(__file__).parent)}
)
"""Folders whose code is not the program's: installed packages, the standard library, and this package."""


class Journal:
    """Writes one JSON object per line to a file of its own; it is made when there is something to write."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.pid = -1
        self.rank: int | None = None
        self.lock = threading.Lock()

    def write(self, kind: str, **fields: Any) -> None:
        """Add a line with the rank of the process and the time. A forked child gets a file of its own."""
        with self.lock:
            if self.pid != os.getpid():
                self.pid = os.getpid()
                self.file = (self.folder / f"{self.pid}.jsonl").open("a", encoding="utf-8", buffering=1)
            line = {"kind": kind, "rank": self.rank_now(), "time": time.time(), **fields}
            self.file.write(json.dumps(line) + "\n")

    def rank_now(self) -> int:
        """The rank that this process has or had in the default process group, or the one a launcher gave it,
        or 0.
        """
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            self.rank = distributed.get_rank()
        return int(os.environ.get("RANK", "0")) if self.rank is None else self.rank


def place(frame: FrameType | None) -> tuple[str, int] | None:
    """File and line of `frame` if it is the program's own code, else None."""
    name = _own(frame.f_code.co_filename) if frame is not None else None
    return (name, frame.f_lineno) if frame is not None and name is not None else None


def program_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the program's own code, from `frame` outwards."""
    while frame is not None and not place(frame):
        frame = frame.f_back
    return frame


@cache
def _own(filename: str) -> str | None:
    path = os.path.realpath(filename)
    return path if os.path.isfile(path) and not path.startswith(NOT_THE_PROGRAM) else None
