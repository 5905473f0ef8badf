"""An environment variable of CUDA or NCCL.

```diff
  import os
! os.environ["CUDA_VISIBLE_DEVICES"] = "0"
! os.environ.setdefault("NCCL_DEBUG", "INFO")
! debug = os.getenv("CUDA_LAUNCH_BLOCKING")
  os.environ["OMP_NUM_THREADS"] = "1"
```

Other devices do not read it. `PYTORCH_CUDA_ALLOC_CONF` is `PYTORCH_ALLOC_CONF` from torch 2.9 on, whose options are
not the same for every device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule

NAME = re.compile(
    r"(?:TORCH_)?(?:CUDA|NCCL|CUDNN|CUBLAS|NVTE|NVIDIA)_[A-Z0-9_]+|PYTORCH_CUDA_ALLOC_CONF|PYTORCH_NVML_\w+"
)
ADVICE = {
    "PYTORCH_CUDA_ALLOC_CONF": "the generic name is `PYTORCH_ALLOC_CONF` (torch 2.9)",
    "CUDA_VISIBLE_DEVICES": "each kind of device has a variable of its own for this",
}


@rule("AGN603", "CUDA_", "NCCL_", "CUDNN_", "CUBLAS_", "NVTE_", "NVIDIA_")
def check(node: cst.SimpleString, file: File) -> Iterator[Finding]:
    value = file.string(node)
    if isinstance(value, str) and NAME.fullmatch(value) and _is_variable(file, node):
        advice = ADVICE.get(value, "other devices do not read it")
        yield Finding(node, f"`{value}` is a variable of CUDA's; {advice}", blocks=False)


def _is_variable(file: File, node: cst.SimpleString) -> bool:
    """Whether a string stands where the name of an environment variable does."""
    for above in file.ancestors(node):
        if isinstance(above, (cst.Subscript, cst.Call, cst.Comparison)):
            return re.search(r"environ|getenv|setenv|env\b|_env", file.source(above)) is not None
        if isinstance(above, cst.Dict):
            return re.search(r"env", file.source(file.statement(above)), re.IGNORECASE) is not None
    return False
