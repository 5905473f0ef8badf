"""The device for which memory is pinned.

Memory is pinned for the accelerator that is there, and the argument is deprecated:

```diff
  from torch.utils.data import DataLoader
- loader = DataLoader(data, pin_memory=True, pin_memory_device="cuda")
+ loader = DataLoader(data, pin_memory=True)
```

Fix safety: safe from torch 2.7 on, where pinning follows the accelerator.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.config import version
from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("AGN207", "pin_memory_device", "pin_memory(")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    for arg in call.args:
        keyword = arg.keyword.value if arg.keyword is not None else ""
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        pins = keyword == "pin_memory_device" or (method == "pin_memory" and not arg.star)
        if pins and isinstance(arg.value, cst.SimpleString) and (file.string(arg.value) or "").startswith("cuda"):
            file.claim(arg)
            edits = (file.delete_argument(call, arg),) if file.torch >= version("2.7") else ()
            yield Finding(arg, "memory is pinned for the accelerator that is there; this argument is deprecated", edits)
