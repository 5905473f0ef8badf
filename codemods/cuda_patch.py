"""An assignment to a name of `torch.cuda`: code that patches torch.

What is patched must stay what the rest of the program calls, so that it is reported and left:

```diff
  import torch
! torch.cuda.mem_get_info = my_mem_get_info
  torch.manual_seed(0)
```
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("AGN701", "cuda")
def check(target: cst.AssignTarget, file: File) -> Iterator[Finding]:
    name = file.name(target.target)
    if isinstance(target.target, cst.Attribute) and name is not None and name.startswith("torch.cuda."):
        yield Finding(target, f"this replaces `{name}` for the whole program; rewritten calls would go past it")
