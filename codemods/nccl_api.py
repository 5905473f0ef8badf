"""A part of torch.distributed that exists for NCCL only.

```diff
  import torch.distributed as dist
! ready = dist.is_nccl_available()
! options = dist.ProcessGroupNCCL.Options()
  group = dist.new_group()
```

`torch.distributed.is_backend_available(name)` asks for any backend; `torch.distributed.get_default_backend_for_device`
names the one of a device. Options of one backend belong under a test for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.uses import is_reference

NAMES = {
    "is_nccl_available": "`torch.distributed.is_backend_available(name)` asks for any backend",
    "ProcessGroupNCCL": "keep it where the backend is known to be NCCL",
    "Backend.NCCL": "`torch.distributed.get_default_backend_for_device(device)` names the backend of a device",
}


@rule("AGN502", "nccl", "NCCL")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    name = file.name(node) or ""
    if not name.startswith("torch.") or not is_reference(file, node):
        return
    for member, advice in NAMES.items():
        if name.endswith(f".{member}"):
            yield Finding(node, f"`{name}` is for NCCL only; {advice}")
