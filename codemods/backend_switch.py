"""A switch of a CUDA library, such as `torch.backends.cudnn.benchmark`.

Other devices ignore it, so it does no harm and may stay. It is reported because a migrated project should know which
of its results depend on it:

```diff
  import torch
  import torch.backends.cudnn as cudnn
! cudnn.benchmark = True
! torch.backends.cuda.matmul.allow_tf32 = True
  torch.set_float32_matmul_precision("high")
```
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.api import lookup
from codemods.knowledge.uses import ROOTS


@rule("AGN902", "cudnn", "cuda")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    name = file.name(node) or ""
    if not name.startswith(ROOTS) or isinstance(file.parent(node), cst.Attribute):
        return
    entry = lookup(name)
    if entry is not None and entry.harmless:
        yield Finding(node, f"`{name}` concerns CUDA only: {entry.keep}", blocks=False)
