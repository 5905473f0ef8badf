"""A process group whose default backend is NCCL's or Gloo's, and no third.

Code that lets the device choose the backend gets the accelerator's, which on other accelerators is neither.
The group then looks for its default among backends it does not have, and fails in DistributedDataParallel:

```diff
  from torch.distributed import Backend, ProcessGroup
  def set_default(group, backends):
!     if Backend.NCCL in backends.values():
          group._set_default_backend(ProcessGroup.BackendType.NCCL)
      else:
-         group._set_default_backend(ProcessGroup.BackendType.GLOO)
+         group._set_default_backend(Backend.backend_type_map[next(iter(backends.values()))])
```

A choice among more than two is left to its author:

```diff
  from torch.distributed import Backend, ProcessGroup
  def set_default(group, backends, custom):
!     if Backend.NCCL in backends.values():
          group._set_default_backend(ProcessGroup.BackendType.NCCL)
      elif custom:
          group._set_default_backend(ProcessGroup.BackendType.CUSTOM)
      else:
          group._set_default_backend(ProcessGroup.BackendType.GLOO)
```

Fix safety: safe where one backend is chosen by the device: the type of Gloo is Gloo's still.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule

MESSAGE = "the default backend of an accelerator that is not CUDA's is not Gloo; use the type of the chosen one"


@rule("AGN504", "_set_default_backend")
def check(node: cst.If, file: File) -> Iterator[Finding]:
    match node:
        case cst.If(
            test=cst.Comparison(
                left=cst.Attribute(value=backend, attr=cst.Name("NCCL")),
                comparisons=[cst.ComparisonTarget(operator=cst.In(), comparator=values)],
            ),
            orelse=cst.Else(body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Expr(value=call)])])),
        ):
            pass
        case _:
            return
    match call:
        case cst.Call(
            func=cst.Attribute(attr=cst.Name("_set_default_backend")),
            args=[cst.Arg(value=cst.Attribute(attr=cst.Name("GLOO")) as gloo)],
        ):
            text = f"{file.source(backend)}.backend_type_map[next(iter({file.source(values)}))]"
            yield Finding(gloo, MESSAGE, (file.replace(gloo, text),))
