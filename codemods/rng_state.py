"""The state of the CUDA generators.

It is reached through the module of the device:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- state = torch.cuda.get_rng_state()
- torch.cuda.set_rng_state(state)
- states = torch.cuda.get_rng_state_all()
+ state = torch.get_device_module(device).get_rng_state()
+ if torch.accelerator.is_available():
+     torch.get_device_module(device).set_rng_state(state)
+ states = torch.get_device_module(device).get_rng_state_all() if torch.accelerator.is_available() else []
! getter = torch.cuda.get_rng_state
```

Fix safety: unsafe, because the module of a device need not have the function.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.device_module import module_of_device
from codemods.knowledge.portable import guarded
from codemods.knowledge.uses import call_of, use

SILENT = {"set_rng_state": "None", "set_rng_state_all": "None", "get_rng_state_all": "[]"}
"""What the functions give without CUDA, where the module of the CPU does not have them."""


@rule("AGN406", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    entry = use(file, node)
    if entry is None or entry.rule != "rng-state":
        return
    member = entry.name.rpartition(".")[2]
    call = call_of(file, node)
    message = f"`{entry.name}` is CUDA only; go through the device's module"
    if call is None:  # what is handed on is looked up at once, and the module of the CPU need not have it
        yield Finding(node, message)
        return
    module, imports, unsafe = module_of_device(file, node)
    edits = (*imports, file.replace(node, f"{module}.{member}"))
    together: tuple[cst.CSTNode, ...] = ()
    if member in SILENT:
        guard, together = guarded(file, call, SILENT[member])
        edits += guard
    unsafe = unsafe or f"the module of some devices has no `{member}`"
    yield Finding(node, message, edits, unsafe, together)
