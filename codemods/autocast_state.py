"""The autocast state of CUDA, asked for by its own functions.

The general functions take the device type:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- dtype = torch.get_autocast_gpu_dtype()
- torch.set_autocast_gpu_dtype(torch.bfloat16)
+ dtype = torch.get_autocast_dtype(device.type)
+ torch.set_autocast_dtype(device.type, torch.bfloat16)
```

Fix safety: safe; unsafe where a device in scope may be another one.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.hoist import device_at
from codemods.knowledge.spell import spell

GENERIC = {
    "torch.get_autocast_gpu_dtype": "torch.get_autocast_dtype",
    "torch.set_autocast_gpu_dtype": "torch.set_autocast_dtype",
}


@rule("AGN402", "autocast_gpu")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    name = file.name(call.func)
    if name in GENERIC:
        device = device_at(file, call)
        text, imports = spell(file, GENERIC[name], call)
        edits = (*imports, *device.edits, file.replace(call.func, text), file.insert_argument(call, device.type))
        yield Finding(call, f"`{name}` is CUDA only; use `{GENERIC[name]}` (torch 2.4)", edits, device.unsafe)
