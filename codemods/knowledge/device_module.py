"""The module of the device, for functions that `torch.accelerator` has not, or only in a later torch."""

from __future__ import annotations

import libcst as cst

from agnostic.config import version
from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.api import Entry
from codemods.knowledge.device import project_device
from codemods.knowledge.scope import in_scope
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import use

NAME = "device_module"


def too_new(file: File, entry: Entry) -> bool:
    """Whether the generic name for an API is newer than the oldest torch of the project."""
    return version(entry.since) > file.torch


def module_of_device(file: File, node: cst.CSTNode) -> tuple[str, tuple[Edit, ...], str]:
    """(the expression for the module of the device in scope, or else of the accelerator, edits, why it is unsafe)."""
    text, edits = spell(file, "torch.get_device_module", node)
    device = in_scope(file, node) or project_device(file, node)
    if device is None:
        return f"{text}()", edits, ""
    return f"{text}({device.text})", (*edits, *device.edits), device.unsafe


def device_module(file: File, node: cst.Attribute | cst.Name) -> tuple[str, tuple[Edit, ...]]:
    """(the expression for the module of the device at a node, the edits that bring it there).

    A function that needs it more than once keeps it in a variable.
    """
    text, edits = spell(file, "torch.get_device_module", node)
    function = file.function(node)
    if function is not None and isinstance(function.body, cst.IndentedBlock):
        taken = file.names.bound_in(function).get(NAME)
        uses = [one for one in file.below(function.body) if _is_wanted(file, one)]
        first = next(one for one in function.body.body if file.inside(uses[0], one))
        if taken is None and len(uses) > 1:
            at = file.lines[file.line(first) - 1]
            line = f"{file.indent(first)}{NAME} = {text}(){file.newline}"
            return NAME, (*edits, Edit(at, at, line))
    return f"{text}()", edits


def _is_wanted(file: File, node: cst.CSTNode) -> bool:
    if not isinstance(node, (cst.Attribute, cst.Name)):
        return False
    entry = use(file, node)
    return entry is not None and entry.to.startswith("torch.accelerator.") and too_new(file, entry)
