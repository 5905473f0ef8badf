"""Notice, inside a running program, where its own code reaches for CUDA.

Seen are: every use of a member of `torch.cuda`, the `.cuda()` methods, and what ends the program because
there is no CUDA or no NCCL (a `"cuda"` device, an `"nccl"` group). `stand_in` sees the devices and groups
where they are named.
"""

import functools
import linecache
import re
import sys
from collections.abc import Callable
from itertools import islice
from types import FrameType, ModuleType, TracebackType
from typing import Any

import torch

from agnostic.proof.journal import Journal, place

NO_CUDA = re.compile(r"CUDA|NCCL|NVIDIA|nccl")


class Touches:
    """Writes each touch of a place once."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.seen: set[tuple[str, str, int]] = set()

    def note(self, what: str, frame: FrameType | None) -> None:
        """Write that the code in `frame` uses `what`, if it is the program's own code."""
        where = place(frame)
        if where and (what, *where) not in self.seen:
            self.seen.add((what, *where))
            end = _lines(frame)[1]
            self.journal.write("touch", what=what, file=where[0], line=where[1], end=end, fatal=False)


def _lines(frame: FrameType | None) -> tuple[int, int]:
    """First and last line of the expression that `frame` is in."""
    assert frame is not None
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return positions[0] or frame.f_lineno, positions[1] or frame.f_lineno


def source(frame: FrameType) -> str:
    """The text of the lines that `frame` is in."""
    first, last = _lines(frame)
    return "".join(linecache.getline(frame.f_code.co_filename, line) for line in range(first, last + 1))


def watch(journal: Journal) -> Touches:
    """Start noticing touches in this process."""
    touches = Touches(journal)

    class Watched(ModuleType):
        """`torch.cuda` and the modules in it, with each use of a member noted."""

        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if not name.startswith("__") and not isinstance(value, ModuleType):
                module = super().__getattribute__("__name__")
                touches.note(f"{module}.{name}", sys._getframe(1))
            return value

    for name, module in list(sys.modules.items()):
        if (name == "torch.cuda" or name.startswith("torch.cuda.")) and type(module) is ModuleType:
            module.__class__ = Watched
    for owner in (torch.Tensor, torch.nn.Module):
        _note_calls(owner, "cuda", ".cuda()", touches)
    sys.excepthook = _noting_the_last(sys.excepthook, touches)
    return touches


def _note_calls(owner: type, name: str, what: str, touches: Touches) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def noted(*args: Any, **kwargs: Any) -> Any:
        touches.note(what, sys._getframe(1))
        return original(*args, **kwargs)

    setattr(owner, name, noted)


def _noting_the_last(hook: Callable, touches: Touches) -> Callable:
    """An exception hook that notes the place in the program that failed for want of CUDA."""

    def hooked(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if NO_CUDA.search(str(error)):
            own = None
            step = traceback
            while step is not None:
                if place(step.tb_frame):
                    own = step
                step = step.tb_next
            if own is not None:
                where = place(own.tb_frame)
                assert where is not None
                what = f"{kind.__name__}: {str(error).splitlines()[0][:160]}"
                touches.journal.write(
                    "touch", what=what, file=where[0], line=own.tb_lineno, end=own.tb_lineno, fatal=True
                )
        hook(kind, error, traceback)

    return hooked
