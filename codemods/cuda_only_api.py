"""A CUDA API that has no generic form.

It is reported with the reason and left as it is. Keep such code where it runs on CUDA only, or write what it is for
in a portable way:

```diff
  import torch
! graph = torch.cuda.CUDAGraph()
! major, minor = torch.cuda.get_device_capability()
  with torch.profiler.record_function("step"):
      run()
```

Switches that other devices ignore are AGN902, so that they can be left out on their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.uses import use


@rule("AGN901", "cuda", "nvtx")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    entry = use(file, node)
    if entry is not None and entry.keep and not entry.harmless:
        yield Finding(node, f"`{file.name(node)}` is CUDA only: {entry.keep}")
