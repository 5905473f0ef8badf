"""A stand-in for CUDA on a machine without one: the program believes that it has it, and computes on the
CPU.

So an original that is hard-coded to CUDA runs to its end without a GPU. What it learns is what its rewrite
has to learn, and every place where it reaches for CUDA is noted together with the lines that ran. It is
float32 throughout: autocast for CUDA does not concern CPU kernels. It stands in for placement, streams,
memory figures and process groups, and for nothing else of CUDA: graphs, kernels and libraries raise.
"""

import contextlib
import functools
import os
import sys
import threading
import time
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from agnostic.proof.journal import Journal, place, program_frame
from agnostic.proof.touches import GROUP, Touches, source

DEVICES = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
"""As many as there are processes, so that nothing is replicated over devices inside one."""


class Stream:
    """A stream whose work is always done."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device = torch.device("cuda", 0)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def synchronize(self, *args: Any) -> None:
        """Nothing is pending."""

    wait_stream = wait_event = record_event = synchronize

    def query(self) -> bool:
        """Whether the work is done."""
        return True


class Event:
    """A point in time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.time = 0.0

    def record(self, stream: Any = None) -> None:
        """Take the time."""
        self.time = time.perf_counter()

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds until `end`."""
        return (end.time - self.time) * 1000

    synchronize = wait = Stream.synchronize
    query = Stream.query


class OnTheCPU(TorchFunctionMode):
    """Takes the CPU wherever a torch function is given a CUDA device; `torch.device("cuda")` stays what it
    says.
    """

    def __init__(self, touches: Touches) -> None:
        super().__init__()
        self.touches = touches

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.touches.note_names([*args, *(kwargs or {}).values()], sys._getframe(1))
        name = getattr(func, "__name__", "")
        if name == "device":
            return func("cuda", args[0]) if args and type(args[0]) is int else func(*args, **(kwargs or {}))
        if name in ("to", "_parse_to"):  # a bare number is a device there
            args = [on_cpu(one, number=True) for one in args]
        return func(*map(on_cpu, args), **{name: on_cpu(one) for name, one in (kwargs or {}).items()})


def on_cpu(value: Any, number: bool = False) -> Any:
    """The CPU for a CUDA device, its name, or, where `number` says so, its number; other values as they
    are.
    """
    if isinstance(value, torch.device) and value.type == "cuda":
        return CPU
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return CPU
    return CPU if number and type(value) is int else value


CPU = torch.device("cpu")


def install(journal: Journal, touches: Touches) -> None:
    """Make this process believe in CUDA, and note the lines of the program that run."""
    cuda = torch.cuda
    nothing = {
        "synchronize",
        "set_device",
        "empty_cache",
        "ipc_collect",
        "reset_peak_memory_stats",
        "manual_seed",
    }
    nothing |= {
        "manual_seed_all",
        "init",
        "set_stream",
        "reset_max_memory_allocated",
        "set_rng_state",
        "seed_all",
    }
    zero = {
        "current_device",
        "memory_allocated",
        "max_memory_allocated",
        "memory_reserved",
        "max_memory_reserved",
    }
    answers: dict[str, Any] = {
        **{name: lambda *args, **kwargs: None for name in nothing},
        **{name: lambda *args, **kwargs: 0 for name in zero},
        "current_device": lambda: int(os.environ.get("LOCAL_RANK", "0")),
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: DEVICES,
        "is_bf16_supported": lambda *args: True,
        "get_device_name": lambda *args: "stand-in",
        "get_device_properties": lambda *args: _Properties(),
        "memory_stats": lambda *args: _Zeros(),
        "current_stream": lambda *args: Stream(),
        "default_stream": lambda *args: Stream(),
        "stream": lambda stream: stream or contextlib.nullcontext(),
        "device": lambda *args: contextlib.nullcontext(),
        "Stream": Stream,
        "Event": Event,
        **{name: getattr(torch, name) for name in dir(cuda) if name.endswith("Tensor") and hasattr(torch, name)},
    }
    for name, answer in answers.items():
        setattr(cuda, name, answer)
    for owner in (torch.Tensor, torch.nn.Module):
        _answer(owner, "cuda", touches, lambda self, *args, **kwargs: self)
    _answer(torch.Tensor, "pin_memory", None, lambda self, *args: self)
    _answer(torch.Tensor, "record_stream", None, lambda self, *args: None)
    _translate(touches, torch, "load")
    _process_groups(touches)
    OnTheCPU(touches).__enter__()
    _trace(journal)


class _Properties:
    total_memory, name, major, minor, multi_processor_count = 16 * 2**30, "stand-in", 8, 0, 1


class _Zeros(dict):
    def __missing__(self, key: str) -> int:
        return 0


def _answer(owner: Any, name: str, touches: Touches | None, answer: Any) -> None:
    @functools.wraps(getattr(owner, name))
    def answered(*args: Any, **kwargs: Any) -> Any:
        if touches is not None:
            touches.note(f".{name}()", sys._getframe(1))
        return answer(*args, **kwargs)

    setattr(owner, name, answered)


def _translate(touches: Touches, owner: Any, name: str, **fixed: Any) -> None:
    """Have a function take the CPU where it is given a CUDA device in any argument, and `fixed` where it is
    given that.
    """
    original = getattr(owner, name)

    @functools.wraps(original)
    def translated(*args: Any, **kwargs: Any) -> Any:
        touches.note_names([*args, *kwargs.values()], sys._getframe(1))
        kwargs = {key: fixed[key] if key in fixed else on_cpu(value) for key, value in kwargs.items()}
        if isinstance(kwargs.get("map_location"), dict) or callable(kwargs.get("map_location")):
            kwargs["map_location"] = CPU
        return original(*(str(on_cpu(one)) if isinstance(one, str) else on_cpu(one) for one in args), **kwargs)

    setattr(owner, name, translated)


def _process_groups(touches: Touches) -> None:
    import torch.distributed as dist
    from torch.distributed import device_mesh
    from torch.nn.parallel import DistributedDataParallel

    start = dist.init_process_group

    @functools.wraps(start)
    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        frame = program_frame(sys._getframe(1))
        if frame is not None and "nccl" in source(frame):
            touches.note(GROUP, frame)
        start("gloo", *args, **{**kwargs, "device_id": None})

    dist.init_process_group = dist.distributed_c10d.init_process_group = init_process_group
    _translate(touches, DistributedDataParallel, "__init__", device_ids=None, output_device=None)
    _translate(touches, dist, "barrier", device_ids=None)
    _translate(touches, dist, "broadcast_object_list")
    _translate(touches, device_mesh, "init_device_mesh")
    _translate(touches, device_mesh.DeviceMesh, "__init__")


def _trace(journal: Journal) -> None:
    """Write each line of the program that runs, once."""
    seen: set[tuple[str, int]] = set()

    def in_frame(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and (where := place(frame)) and where not in seen:
            seen.add(where)
            journal.write("line", file=where[0], line=where[1])
        return in_frame

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        return in_frame if place(frame) else None

    threading.settrace(on_call)
    sys.settrace(on_call)
    running: FrameType | None = sys._getframe()
    while running is not None:  # the code that imports torch is running already
        if place(running):
            running.f_trace = in_frame
        running = running.f_back
