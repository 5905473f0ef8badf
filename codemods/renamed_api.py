"""A `torch.cuda` function that `torch.accelerator` has too.

The generic function does the same on every accelerator. Where the original is silent on a machine without one and
the generic function raises there, the call gets a guard. So does a call that only waits or counts, and raises there
in both forms, since the rest of the program now runs on the CPU:

```diff
  import torch as th
- count = th.cuda.device_count()
- th.cuda.synchronize()
- th.cuda.empty_cache()
+ count = th.accelerator.device_count()
+ if th.accelerator.is_available():
+     th.accelerator.synchronize()
+     th.accelerator.empty_cache()
- peak = th.cuda.max_memory_allocated(device=0) / 2**30
+ peak = (th.accelerator.max_memory_allocated(0) if th.accelerator.is_available() else 0) / 2**30
```

No guard is added where there is one already:

```diff
  import torch
- if torch.cuda.is_available():
-     torch.cuda.empty_cache()
+ if torch.accelerator.is_available():
+     torch.accelerator.empty_cache()
```

The functions of `torch.accelerator` take the device by position only, so `device=` goes. In place of a function that is
newer than the project's oldest torch (`target-torch`), the module of the device is asked:

settings: target-torch = "2.7"

```diff
  import torch
  def peak(step):
-     torch.cuda.reset_peak_memory_stats()
+     device_module = torch.get_device_module()
+     if torch.accelerator.is_available():
+         device_module.reset_peak_memory_stats()
      step()
-     return torch.cuda.max_memory_allocated()
+     return device_module.max_memory_allocated() if torch.accelerator.is_available() else 0
```

An index that is compared or told where a condition has asked for CUDA by name is that of CUDA:

```diff
  import torch
  def is_current(tensor):
!     return tensor.device.type == "cuda" and tensor.device.index == torch.cuda.current_device()
```

Fix safety: safe for calls. Unsafe where the function itself is handed on, since nothing can guard the call then, and
through the module of a device, which need not have the function.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.config import version
from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.knowledge.device_module import device_module, too_new
from codemods.knowledge.guard import asks_for_cuda
from codemods.knowledge.portable import guarded
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import call_of, patches, sources, use

MODULES = version("2.6")
"""The torch that has both `torch.get_device_module` without an argument and `torch.accelerator.is_available`."""


@rule("AGN101", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    entry = use(file, node)
    if entry is None or not entry.to:
        return
    if too_new(file, entry):
        message = f"`{entry.name}` is CUDA only; `{entry.to}` needs torch {entry.since}"
        if file.torch < MODULES or not entry.to.startswith("torch.accelerator.") or call_of(file, node) is None:
            yield Finding(node, message)
            return
        member = entry.name.rpartition(".")[2]
        module, edits = device_module(file, node)
        text, unsafe = f"{module}.{member}", f"the module of some devices has no `{member}`"
    else:
        message = f"`{entry.name}` is CUDA only; use `{entry.to}` (torch {entry.since})"
        text, edits = spell(file, entry.to, node)
        unsafe = entry.unsafe
        if _is_told_of_cuda(file, node, entry.name):
            yield Finding(node, message)
            return
    edits = (*edits, file.replace(node, text))
    together = patches(file, entry.name)
    if call := call_of(file, node):
        edits += () if too_new(file, entry) else tuple(_positional(file, call))
        together += (*sources(file, call), *_loop(file, call))
        raises = entry.cpu == "{}" and isinstance(file.parent(call), cst.Subscript)  # nothing is in it
        if (entry.cpu and not raises) or (entry.skip and file.is_statement(call)):
            guard, before = guarded(file, call, entry.cpu)
            edits += guard
            together += before
    elif entry.cpu:
        unsafe = f"without an accelerator `{entry.to}` raises and the original does not"
    yield Finding(node, message, edits, unsafe, together)


def _is_told_of_cuda(file: File, node: cst.CSTNode, name: str) -> bool:
    """Whether the index of the CUDA device is compared or told where a condition has asked for CUDA by name."""
    call = call_of(file, node)
    around = file.parent(call) if call is not None else None
    told = isinstance(around, (cst.Comparison, cst.ComparisonTarget, cst.FormattedStringExpression))
    return told and name == "torch.cuda.current_device" and asks_for_cuda(file, node)


def _positional(file: File, call: cst.Call) -> Iterator[Edit]:
    """Take `device=` from the argument."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "device":
            yield Edit(file.span(arg)[0], file.span(arg.value)[0], "")


def _loop(file: File, call: cst.Call) -> tuple[cst.CSTNode, ...]:
    """The body of `for index in range(torch.cuda.device_count()):`, which is for CUDA if anything in it is."""
    below: cst.CSTNode = call
    for above in file.ancestors(call):
        if isinstance(above, cst.For) and below is above.iter:
            return (above.body,)
        if isinstance(above, (cst.BaseCompoundStatement, cst.BaseSmallStatement)):
            break
        below = above
    return ()
