"""Record what a program learns, through the hooks of torch; the program is not edited.

| kind | when | what |
|---|---|---|
| loss | a scalar is back-propagated | value, loss scale (taken out of it), autocast dtypes since the last |
| step | an optimizer has stepped | gradient norm before; norm, digest, devices of the parameters after |
| skip | a GradScaler left a step out | the scale |
| read | the program takes numbers from a tensor | `.item()`, `.tolist()` and `float()` in its own code |
| autocast | autocast to a lower precision, once per dtype | the dtype |
| reached | at the end, or where a value is read on the CPU | the accelerator, if anything was ever allocated on it |

Under FSDP and tensor parallelism a process records its own shards.
"""

import atexit
import faulthandler
import functools
import hashlib
import math
import os
import signal
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from agnostic.proof import touches
from agnostic.proof.autoload import STAND_IN, STEPS
from agnostic.proof.journal import Journal, place, program_frame

ITEM, TOLIST = torch.Tensor.item, torch.Tensor.tolist  # the recorder's own reads are not to be recorded
LONGEST = 64
"""Numbers of a `.tolist()` that are recorded; a longer list is data rather than a result."""


class Recorder:
    """Counts and writes the events of one process."""

    def __init__(self, journal: Journal, steps: int | None) -> None:
        self.journal = journal
        self.limit = steps
        self.steps = self.depth = 0
        self.optimizers: weakref.WeakKeyDictionary[torch.optim.Optimizer, int] = weakref.WeakKeyDictionary()
        self.gradients: dict[int, float] = {}
        self.dtypes: set[str] = set()
        self.reached = False
        self.read_on_cpu: set[tuple[str, int]] = set()
        self.entered: set[str] = set()

    def backward(self, original: Callable, tensors: Any, *args: Any, **kwargs: Any) -> Any:
        """Called in place of `torch.autograd.backward`."""
        outermost = self.depth == 0  # activation checkpointing runs backward inside backward
        if outermost:
            for tensor in (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors):
                if tensor.numel() == 1:
                    scale = getattr(tensor, "_loss_scale", 1.0)
                    self.journal.write(
                        "loss",
                        value=number(tensor) / scale,
                        scale=scale,
                        device=str(tensor.device),
                        autocast=sorted(self.entered),
                        **here(),
                    )
                    self.entered.clear()
        self.depth += 1
        try:
            return original(tensors, *args, **kwargs)
        finally:
            self.depth -= 1

    def before_step(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
        """An optimizer is about to step: its gradients are final."""
        scale = getattr(optimizer, "grad_scale", None)  # set by GradScaler for fused optimizers, which unscale
        norm = total_norm(parameter.grad for parameter in parameters(optimizer) if parameter.grad is not None)
        self.gradients[id(optimizer)] = norm / (float(scale) if scale is not None else 1.0)

    def after_step(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
        """An optimizer has stepped."""
        found_inf = getattr(optimizer, "found_inf", None)
        if found_inf is not None and float(found_inf):
            return
        own = [local(parameter.detach()) for parameter in parameters(optimizer)]
        digest = hashlib.blake2b(digest_size=8)
        for parameter in own:
            digest.update(
                parameter.cpu().contiguous().view(torch.uint8).numpy().tobytes() if parameter.numel() else b""
            )
        self.journal.write(
            "step",
            optimizer=self.optimizers.setdefault(optimizer, len(self.optimizers)),
            name=type(optimizer).__name__,
            gradient_norm=self.gradients.pop(id(optimizer), math.nan),
            parameter_norm=total_norm(own),
            digest=digest.hexdigest(),
            devices=sorted({str(parameter.device) for parameter in own}),
            dtypes=sorted({str(parameter.dtype).removeprefix("torch.") for parameter in own}),
            **here(),
        )
        self.steps += 1
        if self.limit is not None and self.steps >= self.limit:
            raise SystemExit(0)

    def scaler_step(self, original: Callable, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Called in place of `GradScaler.step`, which leaves the step out after an overflow."""
        before = self.steps
        result = original(scaler, optimizer, *args, **kwargs)
        if self.steps == before:
            self.journal.write("skip", scale=scaler.get_scale())
        return result

    def autocast(self, original: Callable, context: Any) -> Any:
        """Called in place of `torch.autocast.__enter__`."""
        result = original(context)
        dtype = str(context.fast_dtype).removeprefix("torch.")
        if context._enabled and dtype in ("float16", "bfloat16"):
            self.entered.add(dtype)
            if dtype not in self.dtypes:
                self.dtypes.add(dtype)
                self.journal.write("autocast", dtype=dtype)
        return result

    def read(self, original: Callable, tensor: torch.Tensor) -> Any:
        """Called in place of a method that turns a tensor into Python numbers."""
        value = original(tensor)
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename == torch._tensor.__file__:  # print(f"{loss:.3f}")
            frame = frame.f_back
        where = place(frame)
        if where is None or _is_worker():
            return value
        if tensor.device.type == "cpu" and where not in self.read_on_cpu:
            self.read_on_cpu.add(where)  # once per line: a program may read its data number by number
            self.reach()  # now, because a forked process ends without its exit handlers
        if tensor.numel() <= LONGEST and tensor.dtype is not torch.bool:
            flat = TOLIST(tensor.detach().reshape(-1))
            if all(isinstance(one, int | float) for one in flat):
                self.journal.write(
                    "read",
                    values=[float(one) for one in flat],
                    device=str(tensor.device),
                    file=where[0],
                    line=where[1],
                )
        return value

    def leave(self, original: Callable, *args: Any, **kwargs: Any) -> None:
        """Called in place of `destroy_process_group`: the rank is remembered for what is written later."""
        self.journal.rank_now()
        original(*args, **kwargs)

    def reach(self) -> None:
        """Write once that the accelerator was used, if anything was ever allocated on it."""
        accelerator = torch.accelerator.current_accelerator()
        if self.reached or accelerator is None:
            return
        statistics = torch.accelerator.memory_stats
        try:
            # Empty before anything was allocated; counting the devices then would spoil CUDA for forked processes.
            indices = range(torch.accelerator.device_count() if statistics(0) else 0)
            self.reached = any(statistics(index)["num_device_alloc"] for index in indices)
        except RuntimeError:  # a device without statistics: that it was not used cannot be shown
            self.reached = True
        if self.reached:
            self.journal.write("reached", device=accelerator.type)


def here() -> dict[str, Any]:
    """File and line of the program that is running now, if there is one."""
    where = place(program_frame(sys._getframe(1)))
    return {"file": where[0], "line": where[1]} if where else {}


def _is_worker() -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None


def number(tensor: torch.Tensor) -> float:
    """The value of a tensor with one element."""
    return float(ITEM(local(tensor.detach())))


def local(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a distributed tensor that this process holds."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """All parameters of an optimizer, in its order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def total_norm(tensors: Any) -> float:
    """The 2-norm over all elements, in double precision on the CPU, so that equal bits give equal norms."""
    total = 0.0
    for tensor in tensors:
        own = local(tensor.detach())
        own = own.coalesce().values() if own.is_sparse else own
        total += ITEM(own.cpu().to(torch.float64).square().sum())
    return math.sqrt(total)


def start(folder: str) -> None:
    """Install the hooks in this process."""
    journal = Journal(folder)
    steps = os.environ.get(STEPS)
    recorder = Recorder(journal, int(steps) if steps else None)
    for name in ("item", "tolist", "__float__"):
        replace(torch.Tensor, name, recorder.read)
    replace(torch.autograd, "backward", recorder.backward)
    replace(torch.amp.GradScaler, "scale", _remember_scale)
    replace(torch.amp.GradScaler, "step", recorder.scaler_step)
    replace(torch.amp.autocast_mode.autocast, "__enter__", recorder.autocast)
    if torch.distributed.is_available():
        replace(torch.distributed, "destroy_process_group", recorder.leave)
    register_optimizer_step_pre_hook(recorder.before_step)
    register_optimizer_step_post_hook(recorder.after_step)
    atexit.register(recorder.reach)
    noticed = touches.watch(journal)
    if os.environ.get(STAND_IN):
        from agnostic.proof import stand_in

        stand_in.install(journal, noticed)
    # Where a program hangs is asked for with this signal, just before it is killed.
    stacks = (Path(folder) / f"{os.getpid()}.stack").open("w")
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)


def replace(owner: Any, name: str, wrapper: Callable) -> None:
    """Put `wrapper`, which is given the original first, in place of a function."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(owner, name, replaced)


def _remember_scale(original: Callable, scaler: Any, outputs: Any) -> Any:
    scaled = original(scaler, outputs)
    if isinstance(scaled, torch.Tensor) and scaled is not outputs:
        scaled._loss_scale = scaler.get_scale()  # type: ignore[attr-defined]
    return scaled
