"""Strict mode: refuse what the emulated kind of chip refuses, instead of quietly running it.

`NEURON_REF_STRICT=1` refuses 64-bit floating point and dynamic shapes under `torch.compile`, which such
devices do not have; `NEURON_REF_REFUSE=aten::sort,aten::gelu` refuses operators by name.
"""

import os
from collections.abc import Iterable

import torch

from .core import C

__all__ = ["accept_everything", "is_strict", "refuse", "strict"]

REFUSED_DTYPES = (torch.float64, torch.complex128)
_strict = False


def refuse(operators: Iterable[str] = (), dtypes: Iterable[torch.dtype] = ()) -> None:
    """Make operators raise NotImplementedError and dtypes raise TypeError on the device.

    An operator is named with its namespace and, to mean one overload, with that: "aten::sort",
    "aten::sort.stable".
    """
    for operator in operators:
        C.refuse_operator(operator)
    for dtype in dtypes:
        C.refuse_dtype(dtype)


def strict(on: bool = True) -> None:
    """Switch strict mode on, or everything that is refused off."""
    global _strict
    _strict = on
    if on:
        refuse(dtypes=REFUSED_DTYPES)
    else:
        C.accept_everything()


def accept_everything() -> None:
    """Leave strict mode and forget all refusals."""
    strict(False)


def is_strict() -> bool:
    """Whether strict mode is on."""
    return _strict


def apply_settings() -> None:
    """Read the environment; called once, at registration."""
    if os.environ.get("NEURON_REF_STRICT", "0") not in ("", "0"):
        strict()
    refuse(filter(None, os.environ.get("NEURON_REF_REFUSE", "").split(",")))
