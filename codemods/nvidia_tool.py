"""A program of NVIDIA's that is run: `nvidia-smi` and its kin.

```diff
  import subprocess
! subprocess.run(["nvidia-smi"])
  subprocess.run(["uname"])
```

`torch.accelerator.device_count()` and `torch.accelerator.get_memory_info()` (torch 2.10) tell how many devices there
are, and their memory, on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule

TOOL = re.compile(r"(?:\S*/)?(nvidia-smi|nvcc|nsys|ncu|nvprof|cuda-gdb|compute-sanitizer)(?:\s.*)?", re.DOTALL)
RUNS = re.compile(
    r"(^|\.)(run|call|check_call|check_output|Popen|system|popen|which|getoutput|run_and_read_all|exec\w*)$"
)


@rule("AGN606", "nvidia-smi", "nvcc", "nsys", "'ncu", '"ncu', "nvprof", "cuda-gdb", "compute-sanitizer")
def check(node: cst.SimpleString, file: File) -> Iterator[Finding]:
    value = file.string(node)
    found = TOOL.fullmatch(value) if isinstance(value, str) else None
    if not found:
        return
    call = next((above for above in file.ancestors(node) if isinstance(above, cst.Call)), None)
    if call is not None and RUNS.search(file.source(call.func)):
        yield Finding(node, f"`{found[1]}` is a program of NVIDIA's; other devices have other tools")
