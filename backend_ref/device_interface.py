"""The device as Dynamo and Inductor ask about it."""

from typing import Any

import torch

from . import devices, memory, streams
from .core import C


def interface_class(base: type) -> type:
    """A subclass of Dynamo's `DeviceInterface`, which is imported only when a program uses torch.compile."""

    class Interface(base):
        device = devices.device
        Event = streams.Event
        Stream = streams.Stream
        current_device = staticmethod(devices.current_device)
        set_device = staticmethod(devices.set_device)
        device_count = staticmethod(devices.device_count)
        is_available = staticmethod(devices.is_available)
        stream = staticmethod(streams.stream)
        current_stream = staticmethod(streams.current_stream)
        set_stream = staticmethod(streams.set_stream)
        synchronize = staticmethod(devices.synchronize)
        memory_allocated = staticmethod(memory.memory_allocated)

        class Worker:
            set_device = staticmethod(devices.set_device)
            current_device = staticmethod(devices.current_device)
            get_device_properties = staticmethod(devices.get_device_properties)

        @staticmethod
        def exchange_device(device: int) -> int:
            previous = C.current_device()
            if device >= 0:
                C.set_device(device)
            return previous

        maybe_exchange_device = exchange_device

        @staticmethod
        def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
            stream = torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
            streams.set_stream(stream)

        @staticmethod
        def get_raw_stream(device_idx: int) -> int:
            return C.current_stream_id(device_idx)

        @staticmethod
        def get_compute_capability(device: Any = None) -> str:
            return ""

        @staticmethod
        def is_bf16_supported(including_emulation: bool = False) -> bool:
            return True

    return Interface
