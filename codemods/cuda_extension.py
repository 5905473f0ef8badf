"""An extension that is built from CUDA sources.

```diff
! from torch.utils.cpp_extension import CUDAExtension, load
! kernels = load(name="kernels", sources=["kernels.cu"])
  kernels = load(name="kernels", sources=["kernels.cpp"])
```

Build it only where there is a CUDA compiler, and keep an implementation in PyTorch for the other devices.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.names import dotted
from agnostic.rule import Finding, rule
from codemods.knowledge.uses import is_reference

MODULE = "torch.utils.cpp_extension"
MESSAGE = "this builds CUDA sources; keep an implementation in PyTorch for other devices"


@rule("AGN602", "CUDAExtension", "CUDA_HOME", "cpp_extension", ".cu'", '.cu"')
def check(node: cst.ImportFrom | cst.Attribute | cst.Name | cst.Call, file: File) -> Iterator[Finding]:
    match node:
        case cst.ImportFrom(names=[*names]) if node.module is not None and dotted(node.module) == MODULE:
            if any(alias.name.value in ("CUDAExtension", "CUDA_HOME") for alias in names):
                yield Finding(node, MESSAGE)
        case cst.Call(func=func) if file.name(func) in (f"{MODULE}.load", f"{MODULE}.load_inline"):
            sources = (
                one
                for one in file.below(node)
                if isinstance(one, cst.SimpleString) and (file.string(one) or "").endswith((".cu", ".cuh"))
            )
            words = {arg.keyword.value for arg in node.args if arg.keyword is not None}
            if any(sources) or "cuda_sources" in words:
                yield Finding(node, MESSAGE)
        case cst.Attribute() | cst.Name():
            if file.name(node) in (f"{MODULE}.CUDAExtension", f"{MODULE}.CUDA_HOME") and is_reference(file, node):
                yield Finding(node, MESSAGE)
