"""The backend `"nccl"` of a process group.

Each accelerator has its own collectives library. The backend is named, because a group without one breaks
DistributedDataParallel on third-party devices (torch 2.13):

```diff
  import torch
  import torch.distributed as dist
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- dist.init_process_group("nccl")
- backend = "nccl" if torch.cuda.is_available() else "gloo"
+ dist.init_process_group(dist.get_default_backend_for_device(device))
+ backend = dist.get_default_backend_for_device(device)
```

A comparison with `"nccl"` and a default are reported: they may mean NCCL itself.

```diff
  import torch.distributed as dist
! if dist.get_backend() == "nccl":
      tune()
! def start(backend="nccl"):
      dist.init_process_group(backend)
```

Fix safety: safe in calls of torch.distributed: without an accelerator the group is made with gloo, where it failed
before. Unsafe in other places.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.device import Device
from codemods.knowledge.guard import AVAILABLE, has_accelerator
from codemods.knowledge.hoist import device_at
from codemods.knowledge.profile import own_imports
from codemods.knowledge.spell import spell

MESSAGE = "`nccl` is for CUDA only; ask for the device's own backend (torch 2.6)"
COMPOSITES = {"cpu:gloo,cuda:nccl", "cuda:nccl,cpu:gloo", "cuda:nccl"}


@rule("AGN501", "nccl")
def check(literal: cst.SimpleString, file: File) -> Iterator[Finding]:
    value = file.string(literal)
    if value in COMPOSITES:
        device = device_at(file, literal)
        backend, edits = default_backend(file, literal, device)
        form = f'f"{str(value).replace("cuda:nccl", f"{{{device.type}}}:{{{backend}}}")}"'
        text = form if has_accelerator(file, literal) else f'{form} if {device.type} != "cpu" else "gloo"'
        yield Finding(literal, MESSAGE, (*edits, file.replace(literal, text)), device.unsafe)
        return
    if value != "nccl" or not ("torch" in file.text or "dist" in file.text):
        return
    slot = _slot(file, literal)
    if slot is None:
        return
    function = file.function(literal)
    if slot == "report" or (function is not None and "ProcessGroupNCCL" in file.source(function)):
        yield Finding(literal, MESSAGE)
        return
    choice = file.parent(literal)
    device = device_at(file, literal)
    backend, edits = default_backend(file, literal, device)
    target: cst.BaseExpression = literal
    unsafe = device.unsafe or slot
    if isinstance(choice, cst.IfExp) and choice.body is literal:
        test, other = choice.test, choice.orelse
        asks = isinstance(test, cst.Call) and file.name(test.func) in AVAILABLE
        if asks and isinstance(other, cst.SimpleString) and file.string(other) == "gloo":
            target = choice
            file.claim(choice)
    yield Finding(target, MESSAGE, (*edits, file.replace(target, backend)), unsafe)


def default_backend(file: File, node: cst.CSTNode, device: Device) -> tuple[str, tuple]:
    """The call that gives the backend of a device, through the file's own name for torch.distributed."""
    if file.profile.backend:
        return file.profile.backend, own_imports(file, file.profile.backend, node)
    for scope in file.names.visible(node):
        for name, bindings in file.names.bound_in(scope).items():
            if {binding.origin for binding in bindings} == {"torch.distributed"}:
                return f"{name}.get_default_backend_for_device({device.text})", device.edits
    text, imports = spell(file, "torch.distributed.get_default_backend_for_device", node)
    return f"{text}({device.text})", (*device.edits, *imports)


def _slot(file: File, node: cst.BaseExpression) -> str | None:
    """Why replacing the literal is unsafe ("" if it is not), `report`, or None if it is no backend."""
    parent = file.parent(node)
    if any(isinstance(above, cst.Param) for above in file.ancestors(node)):
        return "report"  # a default is evaluated when the module is imported
    match parent:
        case cst.IfExp(body=body, orelse=orelse) if node in (body, orelse):
            return _slot(file, parent)
        case cst.Arg(keyword=keyword):
            call = file.parent(parent)
            called = file.name(call.func) or "" if isinstance(call, cst.Call) else ""
            method = called.rpartition(".")[2] or (
                call.func.attr.value
                if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
                else file.source(call.func)
                if isinstance(call, cst.Call)
                else ""
            )
            word = keyword.value if keyword is not None else ""
            if method in ("init_process_group", "new_group", "new_subgroups") and word in ("", "backend"):
                return "" if called.startswith("torch.distributed") else "the callee is not torch's own"
            if word in ("backend", "dist_backend", "process_group_backend"):
                return "the callee is not torch's own"
            return "report"
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name) | cst.Attribute(attr=cst.Name(name)))]):
            block = file.parent(file.statement(node))
            field = block is not None and isinstance(file.parent(block), cst.ClassDef)
            return "" if "backend" in name.lower() and not field else "report"
        case cst.Return():
            return "callers may compare it with a literal"
        case cst.DictElement(key=key):
            if key is node:
                return None
            named = "backend" in (file.string(key) or "")
            return "it is a setting in a dictionary; others may compare it with a literal" if named else "report"
        case cst.Expr() | cst.Subscript() | cst.Index():
            return None
    return "report"
