"""`tensor.is_cuda` asks for one kind of device.

Kernels ask it for a good reason: their code is for CUDA. Where the branch is for any accelerator, the question is
about the device's type, and changes together with the branch:

```diff
  import torch
  def wait(x):
-     if x.is_cuda:
-         torch.cuda.synchronize()
+     if x.device.type != "cpu":
+         torch.accelerator.synchronize()
  def launch(x):
!     assert x.is_cuda
```

Fix safety: unsafe. Other accelerators take the branch, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.availability import dependants
from codemods.device_comparison import SETTINGS, UNSAFE
from codemods.knowledge.guard import OWN_IS_CUDA
from codemods.knowledge.uses import call_of


@rule("AGN304", "is_cuda")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if node.attr.value != "is_cuda" or isinstance(file.parent(node), cst.AssignTarget) or call_of(file, node):
        return  # what is set or called is no property of a tensor
    message = "`.is_cuda` asks for CUDA; `.device.type` tells accelerators from the CPU"
    if SETTINGS.search(file.source(node.value)) or OWN_IS_CUDA.search(file.text):
        yield Finding(node, f"{message}, if this is a tensor")
        return
    _, together = dependants(file, node)
    branch = [part for part in together if isinstance(part, cst.BaseSuite)]
    start, end = file.span(branch[0]) if branch else (0, 0)
    if isinstance(file.parent(node), cst.If) and ("cuda." in file.text[start:end] or ".cuda(" in file.text[start:end]):
        edit = file.replace(node, f'{file.source(node.value)}.device.type != "cpu"')
        yield Finding(node, message, (edit,), UNSAFE, together)
    else:
        yield Finding(node, message)
