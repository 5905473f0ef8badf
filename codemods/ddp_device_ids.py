"""A part of torch.distributed that is told its device by number, which the CPU does not have.

DistributedDataParallel, `barrier` and `init_process_group` raise for it. The numbers are given only where there is an
accelerator:

```diff
  import torch
  import torch.distributed as dist
  from torch.nn.parallel import DistributedDataParallel as DDP
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- dist.init_process_group("nccl")
- model = DDP(model, device_ids=[rank], output_device=rank)
+ dist.init_process_group(dist.get_default_backend_for_device(device))
+ model = DDP(model, device_ids=[rank] if device.type != "cpu" else None, output_device=rank if device.type != "cpu" else None)
```

A function that is given one number goes the same way; one that is given the list leaves that to its caller:

```diff
  import torch
  from torch.nn.parallel import DistributedDataParallel as DDP
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
  def wrap(model, gpu):
-     return DDP(model.cuda(), device_ids=[gpu], output_device=gpu)
+     return DDP(model.to(device), device_ids=[gpu] if device.type != "cpu" else None, output_device=gpu if device.type != "cpu" else None)
  def wrap_on(model, device_ids):
      return DDP(model, device_ids=device_ids)
```

It is reported only in files that are bound to CUDA otherwise.

Fix safety: safe; unsafe where a device in scope may be another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.hoist import device_at

ARGUMENTS = {
    "DistributedDataParallel": ("device_ids", "output_device"),
    "barrier": ("device_ids",),
    "init_process_group": ("device_id",),
}
MESSAGE = "the numbers of devices are for accelerators; a module on the CPU takes None"


@rule("AGN503", "device_id")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    name = file.name(call.func) or ""
    words = ARGUMENTS.get(name.rpartition(".")[2]) if name.startswith("torch.") else None
    if words is None:
        return
    if not re.search(r"\.cuda\b|[\"']cuda|[\"']nccl", file.text) or has_accelerator(file, call):
        return
    given = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value in words]
    given = [arg for arg in given if not isinstance(arg.value, cst.IfExp) and file.source(arg.value) != "None"]
    given = [
        arg
        for arg in given
        if arg.keyword is not None and (arg.keyword.value != "device_id" or "cuda" in file.source(arg))
    ]
    decides = min(given, key=lambda arg: file.source(arg), default=None)  # `output_device` goes with `device_ids`
    if decides is not None and not _is_parameter(file, decides.value):
        device = device_at(file, call)
        condition = f' if {device.type} != "cpu" else None'
        yield Finding(
            given[0],
            MESSAGE,
            (*device.edits, *(file.insert_after(arg.value, condition) for arg in given)),
            device.unsafe,
        )


def _is_parameter(file: File, value: cst.BaseExpression) -> bool:
    """Whether the caller of a function decides."""
    return isinstance(value, cst.Name) and any(isinstance(one.node, cst.Param) for one in file.bindings(value))
