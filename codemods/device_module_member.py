"""A function that the modules of some devices have, and `torch.accelerator` has not.

It is reached through the module of the device that is there:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- print(torch.cuda.get_device_name(0))
+ print(torch.get_device_module(device).get_device_name(0))
! properties = torch.cuda.get_device_properties(0)
```

Only the total memory is the same question on every device:

```diff
  import torch
- total = torch.cuda.get_device_properties(0).total_memory
+ total = torch.accelerator.get_memory_info(0)[1]
```

Fix safety: unsafe, because the module of a device need not have the function.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.config import version
from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.knowledge.device_module import module_of_device
from codemods.knowledge.guard import asks_for_cuda
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import call_of, use

MOVED = {"get_device_name", "ipc_collect", "is_initialized", "init", "initial_seed"}
"""What makes sense wherever it exists; the rest is about CUDA, and people keep it."""


@rule("AGN103", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    entry = use(file, node)
    if entry is None or entry.rule != "device-module-member":
        return
    member = entry.name.rpartition(".")[2]
    message = f"`{entry.name}` is CUDA only; the modules of some other devices have `{member}`, too"
    call = call_of(file, node)
    field = file.parent(call) if call is not None else None
    if member == "get_device_properties" and isinstance(field, cst.Attribute) and field.attr.value == "total_memory":
        text, imports = spell(file, "torch.accelerator.get_memory_info", node)
        start, end = file.span(call.args[0].value) if call is not None and call.args else (0, 0)
        edit = file.replace(field, f"{text}({file.text[start:end]})[1]")
        wanted = file.torch >= version("2.10") and not asks_for_cuda(file, node)
        unsafe = "it asks the driver each time, and what it gives may differ by what the driver keeps"
        advice = "`torch.accelerator.get_memory_info` (torch 2.10) gives free and total memory"
        yield Finding(node, f"`{entry.name}` is CUDA only; {advice}", (*imports, edit) if wanted else (), unsafe)
        return
    edits: tuple[Edit, ...] = ()
    unsafe = ""
    if member in MOVED and call is not None:
        module, imports, unsafe = module_of_device(file, node)
        edits = (*imports, file.replace(node, f"{module}.{member}"))
        unsafe = unsafe or f"the module of some devices has no `{member}`"
    yield Finding(node, message, edits, unsafe)
