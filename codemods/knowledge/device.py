"""A device as an expression: of torch itself, or in the project's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.profile import guess, out_of_reach, own_imports
from codemods.knowledge.spell import root

Kind = Literal["device", "type", "string", "unknown"]
"""What an expression gives: a torch.device, a device's type, a string that may have an index, or one of these."""

INDEX = re.compile(
    r"(^|_|\.)(i|idx|index|rank|gpu|gpu_id|id|ordinal|device_id|device_idx|device_index|local_rank|current_device)(\(\))?$"
)
"""Expressions that sound like the index of a device."""


@dataclass(frozen=True)
class Device:
    """An expression for the accelerator, or the CPU where there is none."""

    text: str
    kind: Kind
    unsafe: str = ""
    edits: tuple[Edit, ...] = ()
    torch: str = "torch"

    @property
    def type(self) -> str:
        """The device type as a string, for what takes no torch.device."""
        if self.kind in ("device", "type"):
            return self.text if self.kind == "type" else f"{self.text}.type"
        return f"{self.torch}.device({self.text}).type"

    @property
    def object(self) -> str:
        """A torch.device, for what takes no string."""
        return self.text if self.kind == "device" else f"{self.torch}.device({self.text})"

    def at(self, index: str) -> str:
        """A torch.device with an index."""
        return f"{self.torch}.device({self.type}, {index})"


def project_device(file: File, node: cst.CSTNode) -> Device | None:
    """The expression that the project's profile has for the device."""
    text = file.profile.device
    if not text:
        return None
    unsafe = guess(file, text) or out_of_reach(file, text, node)
    return Device(text, file.profile.device_kind, unsafe, own_imports(file, text, node), root(file, node)[0])


def expression(file: File, node: cst.CSTNode, torch: str = "torch") -> str:
    """The accelerator, or the CPU where there is none, as a torch.device."""
    if file.profile.device:
        text = file.profile.device
        return text if file.profile.device_kind == "device" else f"{torch}.device({text})"
    if has_accelerator(file, node):
        return f"{torch}.accelerator.current_accelerator()"
    if file.torch >= (2, 7):
        return f'{torch}.accelerator.current_accelerator(check_available=True) or {torch}.device("cpu")'
    return f'{torch}.accelerator.current_accelerator() if {torch}.accelerator.is_available() else {torch}.device("cpu")'


def type_expression(file: File, node: cst.CSTNode, torch: str = "torch", index: str | None = None) -> str:
    """The accelerator's type, or "cpu", as a string; with an index other than 0, as "type:index"."""
    text = file.profile.device or f"{torch}.accelerator.current_accelerator().type"
    if file.profile.device:
        return f'f"{{{text}}}:{index}"' if index not in (None, "0") else text
    if index not in (None, "0"):
        text = f'f"{{{text}}}:{index}"'
    return text if has_accelerator(file, node) else f'{text} if {torch}.accelerator.is_available() else "cpu"'
