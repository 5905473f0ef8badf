"""A list of device types outside of which a check raises, and on which a renamed backend is not.

PyTorch lists the devices that a function supports by name. A backend from outside has the name that it was given
with `torch.utils.rename_privateuse1_backend`, so that its tensors are refused before its own kernels are asked:

settings: profile = "pytorch"

```diff
  import torch
  def validate(query):
-     supported = {"cuda", "cpu", "xpu"}
+     supported = {"cuda", "cpu", "xpu", torch._C._get_privateuse1_backend_name()}
      if query.device.type not in supported:
          raise ValueError(f"not supported on {query.device.type}")
-     if query.device.type not in ("cuda", "hpu"):
+     if query.device.type not in ("cuda", "hpu", torch._C._get_privateuse1_backend_name()):
          raise ValueError(f"not supported on {query.device.type}")
```

A list that only chooses between two ways is left, as the one may be a kernel that the backend lacks:

settings: profile = "pytorch"

```diff
  import torch
  def is_fast(query):
      if query.device.type not in ("cuda", "xpu"):
          return False
      return True
```

It applies in a profile that lists devices by name.

Fix safety: safe. Only devices of the renamed backend, which were refused, are let through.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.spell import spell

ACCELERATORS = {"cuda", "xpu", "hpu", "mps", "mtia", "xla", "npu"}
MESSAGE = "tensors of a renamed backend are refused here; add its name"


@rule("AGN309", ".type not in")
def check(node: cst.If, file: File) -> Iterator[Finding]:
    renamed = file.profile.renamed
    match node:
        case cst.If(
            test=cst.Comparison(
                left=cst.Attribute(attr=cst.Name("type")),
                comparisons=[cst.ComparisonTarget(operator=cst.NotIn(), comparator=devices)],
            ),
            body=body,
        ) if renamed and any(isinstance(one, ast.Raise) for one in file.suite(body)):
            pass
        case _:
            return
    if isinstance(devices, cst.Name):
        values = [binding.value for binding in file.bindings(devices)]
        devices = values[0] if len(values) == 1 and values[0] is not None else devices
    if not isinstance(devices, (cst.Set, cst.List, cst.Tuple)) or not devices.elements:
        return
    named = {file.string(element.value) for element in devices.elements}
    if None in named or "cuda" not in named or len(named & ACCELERATORS) < 2:
        return
    last = devices.elements[-1].value
    text, edits = spell(file, renamed.removesuffix("()"), node)
    yield Finding(last, MESSAGE, (*edits, file.insert_after(last, f", {text}()")))
