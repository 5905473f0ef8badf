"""A test for the device type `"privateuse1"`, which no backend has once it is renamed.

`torch.utils.rename_privateuse1_backend` gives an out-of-tree backend a name of its own, and from then on its
devices have that name for their type. A comparison with the old name is never true again, and the branch is
lost:

```diff
  import torch
  def code(tensor):
-     if tensor.device.type == "privateuse1":
+     if tensor.device.type == torch._C._get_privateuse1_backend_name():
          return 12
-     return tensor.device.type != "privateuse1"
+     return tensor.device.type != torch._C._get_privateuse1_backend_name()
```

The name itself is left where it is no device type, since dispatch keys and registrations keep it:

```diff
  import torch
  library = torch.library.Library("aten", "IMPL", "PrivateUse1")
  def is_placeholder(backend_name):
      return backend_name == "privateuse1"
```

Fix safety: safe. A backend that is not renamed has the old name still.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.spell import spell

MESSAGE = "a renamed backend's type is not `privateuse1`; use `torch._C._get_privateuse1_backend_name()`"


@rule("AGN306", "privateuse1")
def check(node: cst.Comparison, file: File) -> Iterator[Finding]:
    match node:
        case cst.Comparison(
            left=cst.Attribute(attr=cst.Name("type")),
            comparisons=[
                cst.ComparisonTarget(operator=cst.Equal() | cst.NotEqual(), comparator=cst.SimpleString() as literal)
            ],
        ) if file.string(literal) == "privateuse1":
            text, edits = spell(file, "torch._C._get_privateuse1_backend_name", node)
            yield Finding(literal, MESSAGE, (*edits, file.replace(literal, f"{text}()")))
