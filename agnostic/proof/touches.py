"""Notice, inside a running program, where its own code reaches for CUDA.

Seen are: every use of a member of `torch.cuda`, the `.cuda()` methods, what makes torch look for a CUDA
device, the functions that take a device or a backend by name where CUDA or NCCL is named in the call, and
what ends the program for want of them. `stand_in` sees devices wherever they are named.
"""

import functools
import linecache
import re
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from types import FrameType, ModuleType, TracebackType
from typing import Any

import torch

from agnostic.proof.journal import Journal, place, program_frame

NO_CUDA = re.compile(r"CUDA|NCCL|NVIDIA|nccl")
NAMED = re.compile(r"cuda|nccl", re.IGNORECASE)
LITERAL = re.compile(r"""["'][\w.:,]*(cuda|nccl)""")
DEVICE, GROUP = 'a "cuda" device', '"nccl"'


class Touches:
    """Writes each touch of a place once."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.seen: set[tuple[str, str, int]] = set()

    def note(self, what: str, frame: FrameType | None, elsewhere: bool = False) -> None:
        """Write that the code in `frame` uses `what`, if it is the program's own code. `elsewhere` says that it
        is named in another line.
        """
        where = place(frame)
        if where and (what, *where) not in self.seen:
            self.seen.add((what, *where))
            span = {"line": where[1], "end": _lines(frame)[1]}
            self.journal.write("touch", what=what, file=where[0], **span, fatal=False, elsewhere=elsewhere)

    def note_device(self, frame: FrameType | None) -> None:
        """Write that the program's innermost code made torch look for a CUDA device."""
        frame = program_frame(frame)
        if frame is not None:
            self.note(DEVICE, frame, elsewhere=not LITERAL.search(source(frame)))

    def note_names(self, arguments: Iterable[Any], frame: FrameType | None) -> None:
        """Write that CUDA or NCCL is named among the arguments of a call, if the program's line holds the
        name itself.
        """
        given = [name for one in arguments for name in (one.values() if isinstance(one, dict) else [one])]
        names = [str(name) for name in given if type(name) is str or isinstance(name, torch.device)]
        what = GROUP if any("nccl" in name for name in names) else DEVICE
        if what == GROUP or any(name.startswith(("cuda", "torch.cuda")) for name in names):
            frame = program_frame(frame)
            if frame is not None and LITERAL.search(source(frame)):
                self.note(what, frame)


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
            if name != "_lazy_init" and not name.startswith("__") and not isinstance(value, ModuleType):
                module = super().__getattribute__("__name__")
                touches.note(f"{module}.{name}", sys._getframe(1))
            return value

    for name, module in list(sys.modules.items()):
        if (name == "torch.cuda" or name.startswith("torch.cuda.")) and type(module) is ModuleType:
            module.__class__ = Watched
    for owner in (torch.Tensor, torch.nn.Module):
        _note_calls(owner, "cuda", ".cuda()", touches)
    _note_initialization(touches)
    for owner, name in TAKING_NAMES:
        _note_named(owner, name, touches)
    sys.excepthook = _noting_the_last(sys.excepthook, touches)
    return touches


def _note_calls(owner: type, name: str, what: str, touches: Touches) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def noted(*args: Any, **kwargs: Any) -> Any:
        touches.note(what, sys._getframe(1))
        return original(*args, **kwargs)

    setattr(owner, name, noted)


def _note_initialization(touches: Touches) -> None:
    """Note what makes torch initialize CUDA: its C++ code calls this function where it is given a CUDA device."""
    original = torch.cuda._lazy_init

    @functools.wraps(original)
    def noted() -> Any:
        caller = sys._getframe(1)
        if caller.f_code.co_filename != torch.cuda.__file__:  # its functions are noted by name
            touches.note_device(caller)
        return original()

    torch.cuda._lazy_init = noted


def _note_named(owner: Any, name: str, touches: Touches) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def noted(*args: Any, **kwargs: Any) -> Any:
        touches.note_names([*args, *kwargs.values()], sys._getframe(1))
        return original(*args, **kwargs)

    setattr(owner, name, noted)


TAKING_NAMES: tuple[tuple[Any, str], ...] = (
    (torch, "load"),
    (torch, "set_default_device"),
    (torch, "set_default_tensor_type"),
    (torch.autocast, "__init__"),
    (torch.amp.GradScaler, "__init__"),
)
"""Functions that are given a device by name and do without it, or raise what a program may catch."""
if torch.distributed.is_available():
    TAKING_NAMES += ((torch.distributed, "init_process_group"), (torch.distributed, "new_group"))


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
                text = linecache.getline(own.tb_frame.f_code.co_filename, own.tb_lineno)
                span = {"line": own.tb_lineno, "end": own.tb_lineno, "elsewhere": not NAMED.search(text)}
                touches.journal.write("touch", what=what, file=where[0], **span, fatal=True)
        hook(kind, error, traceback)

    return hooked
