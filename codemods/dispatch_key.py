"""An operator that is implemented for CUDA only.

```diff
  import torch
  library = torch.library.Library("my", "IMPL")
! library.impl("op", run, "CUDA")
! @torch.library.custom_op("my::op", mutates_args=(), device_types="cuda")
  def op(x: torch.Tensor) -> torch.Tensor:
      return x.clone()
```

Other devices need an implementation of their own: register one under `CompositeExplicitAutograd`, or without
`device_types`, if the code is plain PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule

KEYS = {"CUDA", "AutogradCUDA", "AutocastCUDA", "SparseCUDA", "QuantizedCUDA"}
REGISTERS = ("impl", "register_kernel", "custom_op", "register_autocast", "triton_op")
MESSAGE = "this implements an operator for CUDA only; other devices need an implementation, or a composite one"


@rule("AGN604", "CUDA", "device_types", "register_kernel", "custom_op")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    name = file.name(call.func) or file.source(call.func)
    if name.rpartition(".")[2] not in REGISTERS:
        return
    for arg in call.args:
        for literal in file.below(arg.value):
            if isinstance(literal, cst.SimpleString) and not isinstance(file.parent(arg), cst.Lambda):
                value = file.string(literal)
                types = arg.keyword is not None and arg.keyword.value == "device_types"
                if value in KEYS or (value == "cuda" and (types or "register_" in name)):
                    file.claim(literal)
                    yield Finding(literal, MESSAGE)
