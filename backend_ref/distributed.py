"""The process group backend of the device: gloo on aliases of the device tensors.

It has the device's name: `init_process_group("neuron")`, or `"cpu:gloo,neuron:neuron"` where CPU tensors take
part.
"""

from datetime import timedelta

import torch.distributed as dist

from .core import C


def register(name: str) -> None:
    """Make the backend known and the default one for the device."""
    if not dist.is_available():
        return

    def create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> dist.ProcessGroup:
        from torch.distributed import ProcessGroupGloo

        with C.KernelScope(-1):  # in the host-trap mode, gloo's threads inherit the right to touch device memory
            return C.wrap_process_group(ProcessGroupGloo(store, rank, size, timeout=timeout), name)

    dist.Backend.register_backend(name, create, devices=[name])
