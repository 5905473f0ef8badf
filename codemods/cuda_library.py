"""A library that runs on CUDA only.

```diff
! import pynvml
! from flash_attn import flash_attn_func
  from torch.nn.functional import scaled_dot_product_attention
```

It is reported with what serves the same purpose on every device, if there is something. An import that is tried, or
stands under a condition, is reported all the same: the code behind it is CUDA's.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.names import dotted
from agnostic.rule import Finding, rule

LIBRARIES = {
    "apex": "torch has fused optimizers, AMP and DistributedDataParallel of its own",
    "bitsandbytes": "it is for CUDA first; see which of its backends a device has",
    "cupy": "its arrays live on CUDA devices",
    "cuda": "these are the Python bindings of CUDA",
    "cutlass": "its kernels are for NVIDIA devices",
    "flash_attn": "`torch.nn.functional.scaled_dot_product_attention` chooses an attention kernel for each device",
    "numba.cuda": "its kernels are for NVIDIA devices",
    "nvidia": "it is a library of NVIDIA's",
    "pycuda": "its kernels are for NVIDIA devices",
    "pynvml": "`torch.accelerator.get_memory_info` (torch 2.10) tells free and total memory on every device",
    "tensorrt": "it runs models on NVIDIA devices",
    "transformer_engine": "it is for NVIDIA devices",
}


@rule("AGN601", "apex", "bitsandbytes", "cuda", "cupy", "cutlass", "flash_attn", "nvidia", "pynvml", "tensorrt",
      "transformer_engine")  # fmt: skip
def check(statement: cst.Import | cst.ImportFrom, file: File) -> Iterator[Finding]:
    if isinstance(statement, cst.ImportFrom):
        if statement.relative or statement.module is None:
            return
        module = dotted(statement.module) or ""
        listed = [] if isinstance(statement.names, cst.ImportStar) else statement.names
        names = [module, *(f"{module}.{dotted(alias.name)}" for alias in listed)]
    else:
        names = [dotted(alias.name) or "" for alias in statement.names]
    for library, advice in LIBRARIES.items():
        if any(name == library or name.startswith(f"{library}.") for name in names):
            yield Finding(statement, f"`{library}` is for CUDA only; {advice}")
            return
