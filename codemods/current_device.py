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

A device that is made of the index keeps it:

```diff
  import torch
- a = torch.device("cuda", torch.cuda.current_device())
- b = torch.device(f"cuda:{torch.cuda.current_device()}")
+ a = torch.device(torch.accelerator.current_accelerator().type, torch.accelerator.current_device_index())
+ b = torch.device(torch.accelerator.current_accelerator().type, torch.accelerator.current_device_index())
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
from codemods.knowledge.device import Device, project_device
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.hoist import device_at
from codemods.knowledge.profile import guess, own_imports
from codemods.knowledge.scope import in_scope
from codemods.knowledge.slots import slot_of
from codemods.knowledge.spell import root


@rule("AGN109", "cuda")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    current = file.profile.current
    if _is_current(file, call) and not current and in_scope(file, call) is None and project_device(file, call) is None:
        torch, imports = root(file, call)
        accelerator = f"{torch}.accelerator"
        text = f"{torch}.device({accelerator}.current_accelerator().type, {accelerator}.current_device_index())"
        file.claim(call)
        yield Finding(
            call, "this is the current CUDA device; use the current accelerator", (*imports, file.replace(call, text))
        )
        return
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


def _is_current(file: File, call: cst.Call) -> bool:
    """Whether it is `torch.device(...)` of "cuda" and the current index, in two arguments or in one."""
    if file.name(call.func) != "torch.device":
        return False
    match [one.value for one in call.args]:
        case [cst.SimpleString() as kind, index] if file.string(kind) == "cuda":
            pass
        case [cst.FormattedString(parts=[cst.FormattedStringText("cuda:"), cst.FormattedStringExpression(index)])]:
            pass
        case _:
            return False
    return isinstance(index, cst.Call) and not index.args and file.name(index.func) == "torch.cuda.current_device"
