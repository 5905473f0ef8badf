"""The raw handle of a stream or event, given to a CUDA library.

```diff
  import torch
  def launch(kernel, stream):
!     kernel(stream.cuda_stream)
      return stream
```

`torch.Stream.native_handle` (torch 2.11) is the nearest; it is a number that only the same backend understands.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("AGN903", "cuda_stream", "cuda_event")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if node.attr.value in ("cuda_stream", "cuda_event"):
        yield Finding(node, f"`.{node.attr.value}` is a raw CUDA handle; `native_handle` (torch 2.11) is the nearest")
