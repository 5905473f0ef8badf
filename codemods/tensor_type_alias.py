"""A name for the tensor type of CUDA or the CPU, the idiom of older code.

The name is used as a constructor and as a type. Each use says what it makes, on the device:

```diff
  import numpy as np
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
  def step(imgs):
-     valid = Tensor(imgs.size(0), 1).fill_(1.0)
-     z = Tensor(np.random.normal(0, 1, (4, 2)))
-     return imgs.type(Tensor), valid, z
+     valid = torch.empty((imgs.size(0), 1), dtype=torch.float32, device=device).fill_(1.0)
+     z = torch.tensor(np.random.normal(0, 1, (4, 2)), dtype=torch.float32, device=device)
+     return imgs.to(device, torch.float32), valid, z
```

All uses change, or none:

```diff
  import torch
! Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
  print(isinstance(x, Tensor), Tensor(x))
  y = torch.empty(1)
```

Fix safety: unsafe. What chose the type no longer chooses the device, and other files may import the name.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.knowledge.device import Device
from codemods.knowledge.hoist import device_at
from codemods.knowledge.spell import root
from codemods.knowledge.uses import is_reference
from codemods.tensor_type import DTYPES, constructed

UNSAFE = "what chose the type no longer chooses the device, and other files may import the name"


@rule("AGN208", "cuda")
def check(choice: cst.IfExp, file: File) -> Iterator[Finding]:
    arms = {file.name(choice.body) or "", file.name(choice.orelse) or ""}
    cuda = next((name for name in arms if name.startswith("torch.cuda.")), "")
    kind = cuda.rpartition(".")[2]
    if kind not in DTYPES or arms != {cuda, f"torch.{kind}"}:
        return
    file.claim(choice)
    message = f"`{cuda}` is a legacy CUDA type; make tensors with `dtype=` and `device=`"
    fixes = _fixes(file, choice, kind)
    group = tuple(node for node, _ in fixes)
    if not fixes:
        yield Finding(choice, message)
    for node, edits in fixes:
        yield Finding(node, message, edits, UNSAFE, group)


def _fixes(file: File, choice: cst.IfExp, kind: str) -> list[tuple[cst.CSTNode, tuple[Edit, ...]]]:
    """The choice and each use of its name with their edits; nothing if a use does not show what it makes."""
    match file.parent(choice):
        case cst.Assign(targets=[cst.AssignTarget(cst.Name() as name)]) if len(file.bindings(name)) == 1:
            pass
        case _:
            return []
    line = file.statement(choice)
    block = file.parent(line)
    alone = isinstance(block, cst.IndentedBlock) and len(block.body) == 1
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or alone:
        return []
    fixes: list[tuple[cst.CSTNode, tuple[Edit, ...]]] = [(choice, (file.delete_statement(line),))]
    for node in file.tree.nodes:
        if isinstance(node, cst.Name) and node.value == name.value and node is not name and is_reference(file, node):
            device = device_at(file, node)
            torch, imports = root(file, node)
            edit = _use(file, node, device, f"{torch}.{DTYPES[kind]}", torch)
            if edit is None:
                return []
            fixes.append((node, (*imports, *device.edits, edit)))
    return fixes if len(fixes) > 1 else []


def _use(file: File, node: cst.Name, device: Device, dtype: str, torch: str) -> Edit | None:
    parent = file.parent(node)
    if isinstance(parent, cst.Call) and parent.func is node:
        text = constructed(file, parent, torch, f"dtype={dtype}, device={device.text}")
        return file.replace(parent, text) if text else None
    if isinstance(parent, cst.Arg) and isinstance(call := file.parent(parent), cst.Call) and len(call.args) == 1:
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "type":
            return file.replace(call, f"{file.source(call.func.value)}.to({device.text}, {dtype})")
    return None
