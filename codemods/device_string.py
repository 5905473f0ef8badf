"""A device written as the literal `"cuda"`.

The literal becomes the device in scope, or one made for the file, in the form that its place takes: a torch.device,
or the device's type where only a string will do:

```diff
  import torch
+
+ device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
+
- x = torch.ones(2, device="cuda")
- y = torch.ones(2).to("cuda", non_blocking=True)
- where = torch.device("cuda", 1)
- generator = torch.Generator(device=torch.device("cuda"))
+ x = torch.ones(2, device=device)
+ y = torch.ones(2).to(device, non_blocking=True)
+ where = torch.device(device.type, 1)
+ generator = torch.Generator(device=device)
```

A variable keeps being a string, and says what it is:

```diff
  import torch
- device = "cuda"
+ device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
```

In a project that has a name for the device, a variable that would only repeat it goes:

settings: profile = "hf-tests"

```diff
  import torch
+ from transformers.testing_utils import torch_device
  def test_sum():
-     device = torch.device("cuda")
-     x = torch.ones(2, device=device)
-     assert x.to(device).sum() == 2
+     x = torch.ones(2, device=torch_device)
+     assert x.to(torch_device).sum() == 2
```

What only looks like a device stays: keys, names in somebody's registry, lists of several kinds of device, text.

```diff
  import torch
  languages = {"cuda": "CUDA C++"}
  trainer = Trainer(accelerator="cuda")
  supported = name in ("cpu", "cuda", "xpu")
```

Fix safety: safe in the arguments of torch itself. Unsafe where the callee is unknown, since it may want a string, and
for an index that may not be the current one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.knowledge.device import expression, project_device, type_expression
from codemods.knowledge.guard import has_accelerator, naming_cuda
from codemods.knowledge.hoist import device_at, too_early
from codemods.knowledge.portable import OPEN
from codemods.knowledge.profile import guess, out_of_reach, own_imports
from codemods.knowledge.scope import in_scope
from codemods.knowledge.slots import places, slot_of
from codemods.knowledge.spell import root

LITERAL = re.compile(r"cuda(?::(\d+))?")
READS_INDEX = re.compile(
    r"\.index\b(?!\()|device\)?\s*[!=]=|[!=]=\s*(?:[\w.]*\bdevice\b|torch\.device\()|str\([\w.]*device\)|cuda:\("
    r"|[!=]=\s*[\"']cuda:0"
)
"""What a device with an index and one without differ in."""
PARSED = re.compile(r"(?:split|partition)\([\"']:[\"']")
"""How an index is read from the name of a device; it is not there any more if `cuda:0` loses it."""


@rule("AGN202", "cuda")
def check(literal: cst.SimpleString, file: File) -> Iterator[Finding]:
    value = file.string(literal)
    found = LITERAL.fullmatch(value) if value is not None else None
    if not found or not imports_torch(file):
        return
    index = found[1]
    slot = slot_of(file, literal)
    message = f'`"{value}"` is one kind of device; use the accelerator that is there'
    if slot.kind == "report" or (index is not None and (PARSED.search(file.text) or _is_compared(file, literal))):
        yield Finding(literal, message)
    elif index in (None, "0") and (edits := _inlined(file, whole_device(file, literal) or literal)):
        yield Finding(literal, message, edits, guess(file, file.profile.device) or first_index(file, index))
    elif slot.kind == "value":
        torch, edits = root(file, literal)
        unsafe = slot.unsure or too_early(file)
        known = in_scope(file, literal)
        if known is not None and known.unsafe:
            known = None
        elif known is None and file.profile.expression:
            known = device_at(file, literal)
            edits = (*edits, *known.edits)
            unsafe = unsafe or known.unsafe
        if known is not None and index in (None, "0"):
            text = (
                known.text if known.kind == "device" and places(file, literal, bool(unsafe)) is not None else known.type
            )
        else:
            text = type_expression(file, literal, torch, index)
        if " if " in text and not isinstance(file.parent(literal), OPEN):
            text = f"({text})"
        edits = (*edits, *own_imports(file, text, literal), file.replace(literal, text))
        unsafe = unsafe or out_of_reach(file, text, literal)
        yield Finding(literal, message, edits, unsafe or first_index(file, index), tuple(naming_cuda(file, literal)))
    elif slot.kind in ("device", "type"):
        device = device_at(file, literal)
        if slot.kind == "type" and device.kind != "type":  # the project's own word for the type is shorter
            own = project_device(file, literal)
            device = own if own is not None and own.kind == "type" else device
        unsafe = slot.unsure or device.unsafe
        whole = whole_device(file, literal)
        if whole is not None and isinstance(file.parent(whole), cst.Param):
            unsafe = unsafe or "a default is part of an interface, and is evaluated when the module is imported"
        if index and index != "0":
            if whole is not None:
                edit = file.replace(whole, device.at(index))
            else:
                edit = file.replace(
                    literal, f'f"{{{device.type}}}:{index}"' if slot.kind == "type" else device.at(index)
                )
        elif whole is not None:
            edit = file.replace(whole, whole_text(file, whole) or device.object)
        else:
            edit = file.replace(literal, device.type if slot.kind == "type" else device.text)
        edits = device.edits
        if whole is not None and whole_text(file, whole):
            edits, unsafe = (*root(file, literal)[1], *own_imports(file, whole_text(file, whole), literal)), slot.unsure
        yield Finding(literal, message, (*edits, edit), unsafe or first_index(file, index))


def _inlined(file: File, value: cst.BaseExpression) -> tuple[Edit, ...]:
    """Use the project's own name for the device in place of a variable that would only repeat it."""
    own = project_device(file, value)
    if own is None or not own.text.isidentifier():
        return ()
    line = file.statement(value)
    match line, file.parent(line):
        case (
            cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(cst.Name(name) as variable)])]),
            cst.IndentedBlock(body=[_, _, *_]),
        ) if name != own.text and len(file.bindings(variable)) == 1:
            uses = places(file, value, guess=False) or []
            starts = [file.offset(use.lineno, use.col_offset) for use in uses]
            edits = [Edit(at, at + len(name), own.text) for at in starts]
            return (*own.edits, file.delete_statement(line), *edits) if edits else ()
    return ()


def imports_torch(file: File) -> bool:
    """Whether a file has to do with torch at all; device names in others are words."""
    if "torch" not in file.facts:
        file.facts["torch"] = re.search(r"(?:import|from)[ \t]+torch\b|\btorch\.", file.text) is not None
    return file.facts["torch"]


def first_index(file: File, index: str | None) -> str:
    """Why `cuda:0` may not be the current device; empty where a program uses one device only, and reads no index."""
    if index != "0":
        return ""
    if re.search(r"set_device|init_process_group|LOCAL_RANK|local_rank|torch\.cuda\.device\(|cuda:[1-9{]", file.text):
        return "`cuda:0` becomes the current device, which is another one in other processes"
    return "its index is gone, which something in this file reads or compares" if READS_INDEX.search(file.text) else ""


def _is_compared(file: File, device: cst.BaseExpression) -> bool:
    """Whether a device is compared, or asked for its index: one without an index is another one."""
    for above in file.ancestors(device):
        match above:
            case cst.Comparison() | cst.Attribute(attr=cst.Name("index")):
                return True
            case cst.DictElement(key=key) if file.inside(device, key):
                return True
            case cst.Call(func=cst.Attribute(attr=cst.Name(name))) if name.startswith("assert"):
                return True
            case cst.Arg() | cst.Call() if file.parent(device) is above or whole_device(file, device) is above:
                continue
            case cst.Tuple() | cst.List() | cst.Set() | cst.Element() | cst.ComparisonTarget() | cst.Arg():
                continue
        return False
    return False


def whole_device(file: File, device: cst.BaseExpression) -> cst.Call | None:
    """`torch.device(...)` around its only argument."""
    arg = file.parent(device)
    call = file.parent(arg) if isinstance(arg, cst.Arg) else None
    if isinstance(call, cst.Call) and len(call.args) == 1 and file.name(call.func) == "torch.device":
        return call
    return None


def whole_text(file: File, call: cst.Call) -> str:
    """The full expression, where there is no shorter one: for what a device variable is set to, and for what is
    returned where there is an accelerator."""
    parent = file.parent(call)
    match parent:
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name) | cst.Attribute(attr=cst.Name(name)))]):
            if "device" in name.lower() or name.lower() == "dev":
                return expression(file, call, root(file, call)[0])
        case cst.Return() if has_accelerator(file, call) and in_scope(file, call) is None:
            return expression(file, call, root(file, call)[0])
    return ""
