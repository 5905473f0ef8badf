"""A tensor that is placed by the index of the current CUDA device.

The accelerator without an index is the current one, and the CPU where there is none:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- x = torch.ones(2, device=torch.cuda.current_device())
- y = x.to(torch.cuda.current_device(), non_blocking=True)
+ x = torch.ones(2, device=device)
+ y = x.to(device, non_blocking=True)
```

Elsewhere the index is `torch.accelerator.current_device_index()` (AGN101). It also is where the project has said that
there always is an accelerator.

Fix safety: safe; unsafe where a device in scope may be another one.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.device import Device
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.hoist import device_at
from codemods.knowledge.profile import guess, own_imports
from codemods.knowledge.slots import slot_of


@rule("AGN109", "cuda")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    current = file.profile.current
    if file.name(call.func) != "torch.cuda.current_device" or (has_accelerator(file, call) and not current):
        return
    slot = slot_of(file, call)
    if slot.kind == "device" and not slot.unsure and isinstance(arg := file.parent(call), cst.Arg):
        owner = file.parent(arg)
        if isinstance(owner, cst.Call) and not (file.name(owner.func) or "").startswith("torch.cuda."):
            file.claim(call)
            device = (
                Device(current, "string", guess(file, current), own_imports(file, current))
                if current
                else device_at(file, call)
            )
            message = "this places by the index of the CUDA device; the device itself will do"
            yield Finding(call, message, (*device.edits, file.replace(call, device.text)), device.unsafe)
