"""Memory statistics and limits. Sizes are bytes.

The generic functions of `torch.accelerator` do the work: they are right for every allocator that is a
`c10::DeviceAllocator`.
"""

import pickle
from typing import Any

import torch

from .core import C
from .devices import DeviceLike, index_of

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

empty_cache = torch.accelerator.empty_cache


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """Statistics under the keys that `torch.accelerator.memory_stats` documents."""
    return torch.accelerator.memory_stats(index_of(device))


def memory_allocated(device: DeviceLike = None) -> int:
    """Memory that tensors occupy now."""
    return torch.accelerator.memory_allocated(index_of(device))


def memory_reserved(device: DeviceLike = None) -> int:
    """Memory that tensors occupy now, and what the allocator keeps for the next ones."""
    return torch.accelerator.memory_reserved(index_of(device))


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The largest `memory_allocated` since the last reset."""
    return torch.accelerator.max_memory_allocated(index_of(device))


def max_memory_reserved(device: DeviceLike = None) -> int:
    """The largest `memory_reserved` since the last reset."""
    return torch.accelerator.max_memory_reserved(index_of(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Start the maxima anew."""
    torch.accelerator.reset_peak_memory_stats(index_of(device))


reset_max_memory_allocated = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Start the counters of events (allocations, frees, retries, out-of-memory errors) anew."""
    torch.accelerator.reset_accumulated_memory_stats(index_of(device))


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total memory of `device`; the total is `NEURON_REF_MEMORY_MB` (16384) MiB."""
    return torch.accelerator.get_memory_info(index_of(device))


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Let this process use at most `fraction` of the device's memory; beyond it, allocations run out of
    memory.

    Raises:
        RuntimeError: `fraction` is not between 0 and 1.
    """
    C.set_memory_fraction(index_of(device), fraction)


def memory_snapshot() -> list[dict[str, Any]]:
    """The live blocks of all devices, each as a segment of one block: device, address, sizes."""
    return [
        {
            "device": device,
            "address": address,
            "total_size": size,
            "allocated_size": size,
            "active_size": size,
            "requested_size": requested,
            "blocks": [{"address": address, "size": size, "requested_size": requested, "state": "active_allocated"}],
        }
        for address, size, requested, device in sorted(C.live_blocks())
    ]


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """The main statistics as a short table."""
    stats = memory_stats(device)
    rows = (
        ("allocated_bytes", "reserved_bytes")
        if abbreviated
        else ("allocated_bytes", "active_bytes", "reserved_bytes", "requested_bytes")
    )
    lines = [f"{'bytes':<16} {'current':>14} {'peak':>14}"]
    lines += [f"{row:<16} {stats[f'{row}.all.current']:>14} {stats[f'{row}.all.peak']:>14}" for row in rows]
    return "\n".join([*lines, f"out of memory: {stats['num_ooms']}, retries: {stats['num_alloc_retries']}"])


def _record_memory_history(enabled: str | bool | None = "all", **options: Any) -> None:
    """Accepted for profiling tools; the history itself is not kept, a snapshot shows the present state."""


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """Write the present state in the shape in which other devices write theirs."""
    with open(filename, "wb") as file:
        pickle.dump({"segments": memory_snapshot(), "device_traces": []}, file)
