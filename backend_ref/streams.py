"""Streams and events: thin subclasses of PyTorch's generic ones, bound to this device."""

from typing import Any

import torch

from .core import C
from .devices import DeviceLike, index_of

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]

_DEVICE_TYPE = int(torch._C._autograd.DeviceType.PrivateUse1)


class Stream(torch.Stream):
    """A stream of `device` (default: the current one). `priority` is accepted and has no effect."""

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **identity: Any) -> "Stream":
        if identity:
            return super().__new__(cls, **identity)
        place = torch.device(torch._C._get_privateuse1_backend_name(), index_of(device))
        return super().__new__(cls, device=place, priority=priority)


class Event(torch.Event):
    """An event of this device; `enable_timing` is needed for `elapsed_time` (milliseconds)."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> "Event":
        place = torch._C._get_privateuse1_backend_name()
        return super().__new__(cls, device=place, enable_timing=enable_timing, blocking=blocking)


def current_stream(device: DeviceLike = None) -> Stream:
    """The stream that work on `device` goes to."""
    index = index_of(device)
    return Stream(stream_id=C.current_stream_id(index), device_index=index, device_type=_DEVICE_TYPE)


def default_stream(device: DeviceLike = None) -> Stream:
    """The stream that is current if no other was chosen."""
    return Stream(stream_id=0, device_index=index_of(device), device_type=_DEVICE_TYPE)


def set_stream(stream: torch.Stream | None) -> None:
    """Make `stream` current on its device; None changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Selects `stream` (None: nothing), then restores both the device's stream and the current device."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.outer = current_stream()
            self.displaced = current_stream(self.stream.device)
            torch.accelerator.set_stream(self.stream)

    def __exit__(self, *exc_info: object) -> None:
        if self.stream is not None:
            torch.accelerator.set_stream(self.displaced)
            torch.accelerator.set_stream(self.outer)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager under which work goes to `stream`."""
    return StreamContext(stream)
