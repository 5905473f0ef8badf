"""The profiler, told to record CUDA.

Times on a device have generic names since torch 2.4:

```diff
  import torch
- print(averages.table(sort_by="cuda_time_total"))
+ print(averages.table(sort_by="device_time_total"))
```

What can be recorded is a question to the profiler:

```diff
  from torch.profiler import ProfilerActivity, profile, supported_activities
- with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
+ with profile(activities=list(supported_activities())):
      step()
- activities.append(ProfilerActivity.CUDA)
+ activities = list(supported_activities())
  if on_gpu:
!     activities.append(ProfilerActivity.CUDA)
! wanted = ProfilerActivity.CUDA
```

Fix safety: safe for names. Unsafe for activities, because there may be more of them than the CPU and CUDA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.guard import implies
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import is_reference

TIMES = re.compile(r"(self_)?cuda_(time|time_total|memory_usage)")
RECORDS = "`ProfilerActivity.CUDA` records CUDA only; ask for what is supported"
MORE = "more than the CPU and CUDA may be recorded"
ACTIVITY = "torch.profiler.ProfilerActivity"


@rule("AGN408", "ProfilerActivity", "cuda_time", "cuda_memory_usage", "use_cuda")
def check(node: cst.List | cst.Expr | cst.Attribute | cst.SimpleString | cst.Arg, file: File) -> Iterator[Finding]:
    match node:
        case cst.List(elements=elements) if elements:
            names = [file.name(element.value) for element in elements]
            if set(names) == {f"{ACTIVITY}.CPU", f"{ACTIVITY}.CUDA"}:
                file.claim(*elements)
                text, imports = _supported(file, node)
                yield Finding(node, RECORDS, (*imports, file.replace(node, f"list({text}())")), MORE)
        case cst.Expr(
            value=cst.Call(
                func=cst.Attribute(value=cst.Name() as listed, attr=cst.Name("append")), args=[cst.Arg(value=added)]
            )
        ) if file.name(added) == f"{ACTIVITY}.CUDA":
            file.claim(added)
            if any(isinstance(above, cst.If) and not implies(file, above.test) for above in file.ancestors(node)):
                yield Finding(added, RECORDS)  # the program lets its user choose
                return
            text, imports = _supported(file, node)
            edit = file.replace(node, f"{listed.value} = list({text}())")
            yield Finding(added, RECORDS, (*imports, edit), MORE)
        case cst.Attribute() if (file.name(node) or "").endswith("ProfilerActivity.CUDA") and is_reference(file, node):
            yield Finding(
                node, "`ProfilerActivity.CUDA` records CUDA only; see `torch.profiler.supported_activities()`"
            )
        case cst.Attribute(attr=cst.Name(name)) if TIMES.fullmatch(name) and is_reference(file, node):
            new = name.replace("cuda_", "device_")
            unsafe = "the object may be no profiler event"
            yield Finding(node, f"`.{name}` is now `.{new}`", (file.replace(node.attr, new),), unsafe)
        case cst.SimpleString() if TIMES.fullmatch(file.string(node) or ""):
            if isinstance(file.parent(node), (cst.Arg, cst.IfExp, cst.Assign, cst.Param)):
                new = node.value.replace("cuda_", "device_")
                yield Finding(node, f"`{file.string(node)}` has a generic name (torch 2.4)", (file.replace(node, new),))
        case cst.Arg(keyword=cst.Name("use_cuda")):
            call = file.parent(node)
            if isinstance(call, cst.Call) and "profile" in (file.name(call.func) or ""):
                yield Finding(node, "`use_cuda=` records CUDA only and is gone in torch 2.14; see `use_device=`")


def _supported(file: File, node: cst.CSTNode) -> tuple[str, tuple]:
    for scope in file.names.visible(node):
        for name, bindings in file.names.bound_in(scope).items():
            if {binding.origin for binding in bindings} == {"torch.profiler.supported_activities"}:
                return name, ()
    return spell(file, "torch.profiler.supported_activities", node)
