"""Devices: counting them, choosing one, asking what they are."""

from dataclasses import dataclass
from typing import Any

import torch

from .core import C

__all__ = [
    "DeviceProperties",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_initialized",
    "set_device",
    "synchronize",
]

DeviceLike = torch.device | str | int | None


def index_of(device: DeviceLike = None) -> int:
    """The index of `device`; the current device's for None, -1 and devices without an index.

    Raises:
        ValueError: `device` is of another type, such as the CPU.
    """
    if isinstance(device, int):
        return device if device >= 0 else C.current_device()
    if device is None:
        return C.current_device()
    device = torch.device(device)
    if device.type != torch._C._get_privateuse1_backend_name():
        raise ValueError(f"expected a {torch._C._get_privateuse1_backend_name()} device, but got: {device}")
    return C.current_device() if device.index is None else device.index


def init() -> None:
    """Start using the device in this process.

    Raises:
        RuntimeError: the process was forked from one that used the device already.
    """
    C.use_device()


def is_initialized() -> bool:
    """Whether this process has used the device."""
    return C.in_use()


def _is_in_bad_fork() -> bool:
    return C.in_bad_fork()


def is_available() -> bool:
    """Whether there is at least one device."""
    return C.device_count() > 0


def device_count() -> int:
    """The number of devices of this process: `NEURON_RT_VISIBLE_CORES`, else `NEURON_REF_DEVICES`, else 2."""
    return C.device_count()


def current_device() -> int:
    """The index of the current device; at first the local rank that a launcher gave this process."""
    return C.current_device()


def set_device(device: DeviceLike) -> None:
    """Make `device` current on this thread.

    Raises:
        RuntimeError: there is no such device.
    """
    C.set_device(index_of(device))


class device:
    """Context manager that makes `device` current and restores the previous one; None changes nothing."""

    def __init__(self, device: DeviceLike) -> None:
        self.index = index_of(device)

    def __enter__(self) -> None:
        self.previous = C.current_device()
        C.set_device(self.index)

    def __exit__(self, *exc_info: object) -> None:
        C.set_device(self.previous)


class device_of(device):
    """Context manager that makes the device of a tensor or storage current, if it is on one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type != "cpu" else None)


@dataclass(frozen=True)
class DeviceProperties:
    """What programs ask of a device: a name, its memory in bytes, and the number of cores that compute."""

    name: str
    total_memory: int
    multi_processor_count: int = 1
    major: int = 0
    minor: int = 0


def get_device_name(device: DeviceLike = None) -> str:
    """A name that contains the device type, which is how torchtitan recognises the vendor."""
    index_of(device)
    return f"{torch._C._get_privateuse1_backend_name()} reference device"


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """The properties of `device`. Its name is a chip's, because programs look up a peak performance by it."""
    total = torch.accelerator.get_memory_info(index_of(device))[1]
    return DeviceProperties(name="trn2", total_memory=total)


def get_device_capability(device: DeviceLike = None) -> dict[str, Any]:
    """What `torch.accelerator.get_device_capability` says. There are no compute capability numbers here."""
    return torch.accelerator.get_device_capability(index_of(device))


def synchronize(device: DeviceLike = None) -> None:
    """Wait until all streams of `device` have done their work."""
    torch.accelerator.synchronize(index_of(device))
