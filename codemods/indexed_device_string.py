"""A device string with an index that is put together: an f-string, `%`, `.format` or `+`.

The kind of device comes from the accelerator, the index stays:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- a = torch.ones(2, device=f"cuda:{rank}")
- b = torch.ones(2, device="cuda:%d" % rank)
- c = torch.ones(2, device="cuda:{}".format(rank))
- d = torch.ones(2, device="cuda:" + str(rank))
- e = torch.device(f"cuda:{rank}")
+ a = torch.ones(2, device=f"{device.type}:{rank}")
+ b = torch.ones(2, device=f"{device.type}:{rank}")
+ c = torch.ones(2, device=f"{device.type}:{rank}")
+ d = torch.ones(2, device=f"{device.type}:" + str(rank))
+ e = torch.device(f"{device.type}:{rank}")
```

In a choice that asks for the accelerator, no variable is made for it:

```diff
  import torch
- place = torch.device("cuda:{}".format(rank) if torch.cuda.is_available() else "cpu")
+ place = torch.device(f"{torch.accelerator.current_accelerator().type}:{rank}" if torch.accelerator.is_available() else "cpu")
```

Fix safety: safe. Unsafe where the string is no argument of torch, or where a device in scope may be another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.device_string import imports_torch
from codemods.knowledge.device import Device, project_device
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.hoist import device_at
from codemods.knowledge.scope import in_scope
from codemods.knowledge.slots import slot_of
from codemods.knowledge.spell import root

PREFIX = re.compile(r"cuda:(?:%[ds]|\{\})?")


@rule("AGN203", "cuda")
def check(node: cst.FormattedString | cst.SimpleString, file: File) -> Iterator[Finding]:
    if not imports_torch(file):
        return
    whole: cst.BaseExpression
    index: cst.CSTNode | None
    match node:
        case cst.FormattedString(parts=[cst.FormattedStringText("cuda:"), cst.FormattedStringExpression() as index]):
            whole = node
        case cst.FormattedString(parts=[cst.FormattedStringText("cuda:"), *_]):
            yield Finding(node, "this device string is CUDA only; build it from the accelerator's type")
            return
        case cst.SimpleString() if PREFIX.fullmatch(file.string(node) or ""):
            around = _around(file, node)
            if around is None:
                return
            whole, index = around
        case _:
            return
    slot = slot_of(file, whole)
    if slot.kind == "text":
        return
    file.claim(*node.parts[:1] if isinstance(node, cst.FormattedString) else (node,))  # the index is another matter
    message = "this device string is CUDA only; build it from the accelerator's type"
    if slot.kind in ("report", "default") or not _fits(file, whole, index):
        yield Finding(whole, message)
        return
    if slot.kind == "value":
        torch, added = root(file, whole)
        own = project_device(file, whole)
        device = own or Device(f"{torch}.accelerator.current_accelerator()", "device", "", added)
        unsafe = (
            own.unsafe
            if own is not None
            else ""
            if has_accelerator(file, whole)
            else "without an accelerator it raises here, not at the first use"
        )
    elif _in_guarded_choice(file, whole) and in_scope(file, whole) is None and project_device(file, whole) is None:
        torch, added = root(file, whole)
        device, unsafe = Device(f"{torch}.accelerator.current_accelerator()", "device", "", added, torch), ""
    else:
        device = device_at(file, whole)
        unsafe = device.unsafe
    yield Finding(whole, message, (*device.edits, _edit(file, whole, index, device)), slot.unsure or unsafe)


def _in_guarded_choice(file: File, node: cst.CSTNode) -> bool:
    """Whether it is the accelerator's arm of a choice in one expression, which needs no variable in front of it."""
    return any(isinstance(above, cst.IfExp) for above in file.ancestors(node)) and has_accelerator(file, node)


def _around(file: File, literal: cst.SimpleString) -> tuple[cst.BaseExpression, cst.CSTNode | None] | None:
    """The expression that a literal is the beginning of, and the index in it if there is just one."""
    parent = file.parent(literal)
    above = file.parent(parent) if parent is not None else None
    match parent, above:
        case cst.BinaryOperation(left=left, operator=cst.Modulo(), right=right), _ if left is literal:
            return parent, None if isinstance(right, cst.Tuple) else right
        case cst.BinaryOperation(left=left, operator=cst.Add()), _ if left is literal:
            return parent, None
        case cst.Attribute(attr=cst.Name("format")), cst.Call(args=[cst.Arg(value=value, star="", keyword=None)]):
            return above, value
        case cst.Attribute(attr=cst.Name("format")), cst.Call():
            return above, None
    return None


def _fits(file: File, whole: cst.BaseExpression, index: cst.CSTNode | None) -> bool:
    """Whether the index can stand inside of an f-string of Python 3.11."""
    if isinstance(whole, (cst.FormattedString, cst.BinaryOperation)) and index is None:
        return isinstance(whole, cst.BinaryOperation) and isinstance(whole.operator, cst.Add)
    if index is None:
        return False
    text = file.source(index)
    return isinstance(whole, cst.FormattedString) or not (('"' in text and "'" in text) or "\\" in text or "\n" in text)


def _edit(file: File, whole: cst.BaseExpression, index: cst.CSTNode | None, device: Device) -> Edit:
    if isinstance(whole, cst.BinaryOperation) and isinstance(whole.operator, cst.Add):
        return file.replace(whole.left, f'f"{{{device.type}}}:"')
    assert index is not None
    text = file.source(index)
    if isinstance(whole, cst.FormattedString):
        return file.replace(whole.parts[0], f"{{{device.type}}}:")
    quote = "'" if '"' in text else '"'
    return file.replace(whole, f"f{quote}{{{device.type}}}:{{{text}}}{quote}")
