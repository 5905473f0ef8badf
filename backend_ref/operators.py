"""Operator accounting: which operators a program ran on the device, and how often."""

from collections.abc import Iterator
from contextlib import contextmanager

from .core import C

__all__ = ["call_counts", "count_calls", "counted", "reset_call_counts"]


def count_calls(on: bool = True) -> None:
    """Start or stop counting the operators that run on the device."""
    C.count_calls(on)


def call_counts() -> dict[str, int]:
    """Operator name with overload ("aten::add.Tensor") -> number of calls since counting began or was
    reset."""
    return C.call_counts()


def reset_call_counts() -> None:
    """Forget the counts."""
    C.reset_call_counts()


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Count the operators of a block: the dictionary is filled when the block ends."""
    counts: dict[str, int] = {}
    C.reset_call_counts()
    C.count_calls(True)
    try:
        yield counts
    finally:
        C.count_calls(False)
        counts.update(C.call_counts())
