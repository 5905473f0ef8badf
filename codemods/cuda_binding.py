"""A private binding of torch to CUDA, or the CUDA library itself.

```diff
  import ctypes
  import torch
! n = torch._C._cuda_getDeviceCount()
! runtime = ctypes.CDLL("libcudart.so")
  n = torch.accelerator.device_count()
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.uses import is_reference

LIBRARY = re.compile(r"(lib)?(cuda|cudart|nccl|cudnn|cublas|nvrtc|nvidia-ml)[\w.-]*\.(so|dll)[\w.]*")


@rule("AGN605", "_cuda", "libcu", "libnccl", "libnv", "cudart", "nvcuda")
def check(node: cst.Attribute | cst.Name | cst.SimpleString, file: File) -> Iterator[Finding]:
    if isinstance(node, cst.SimpleString):
        value = file.string(node)
        if isinstance(value, str) and LIBRARY.fullmatch(value) and isinstance(file.parent(node), cst.Arg):
            yield Finding(node, f"`{value}` is a library of CUDA's")
        return
    name = file.name(node) or ""
    if name.startswith("torch._C.") and "_cuda" in name.rpartition(".")[2] and is_reference(file, node):
        yield Finding(node, f"`{name}` is a private binding to CUDA")
