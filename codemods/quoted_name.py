"""A name of `torch.cuda` in a string: an annotation, the target of a patch, the condition of a skip.

An annotation follows the class:

```diff
  import torch
- def wait(event: "torch.cuda.Event"):
+ def wait(event: "torch.Event"):
      event.synchronize()
```

A patch follows the code that it patches, which other files may hold:

```diff
  import pytest
  from unittest import mock
- with mock.patch("torch.cuda.is_available", return_value=False):
+ with mock.patch("torch.accelerator.is_available", return_value=False):
      run()
! with mock.patch("torch.cuda.CUDAGraph"):
      run()
! mark = pytest.mark.skipif("not torch.cuda.is_available()", reason="")
```

Fix safety: safe for annotations. Unsafe for patches: the code under test must be rewritten with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.api import lookup

QUOTED = re.compile(r"torch\.cuda(\.\w+)*")
CONDITION = re.compile(r"torch\.cuda\.is_available\(\)|torch\.cuda\.device_count\(\)")
GENERIC = {"torch.cuda.Event": "torch.Event", "torch.cuda.Stream": "torch.Stream"}
AVAILABLE = {
    "torch.cuda.current_stream": "torch.accelerator.current_stream",
    "torch.cuda.is_available": "torch.accelerator.is_available",
    "torch.cuda.set_device": "torch.accelerator.set_device_index",
}
QUOTES = re.compile("['\"]")
SUBJECT = "the code under test must use the generic name, too"
PATCHES = re.compile(r"(^|\.)(patch|object|setattr|delattr|patched)$")


@rule("AGN702", "torch.cuda")
def check(node: cst.SimpleString, file: File) -> Iterator[Finding]:
    value = file.string(node)
    if not isinstance(value, str):
        return
    parent = file.parent(node)
    if isinstance(parent, cst.Annotation) and (found := re.search(r"torch\.cuda\.\w+", value)):
        new = GENERIC.get(found[0])
        edits = (file.replace(node, node.value.replace(found[0], new)),) if new else ()
        yield Finding(node, f"this annotation names `{found[0]}`" + (f"; use `{new}`" if new else ""), edits)
    elif isinstance(parent, cst.Arg) and isinstance(call := file.parent(parent), cst.Call):
        callee = file.source(call.func)
        if QUOTED.fullmatch(value) and PATCHES.search(callee):
            entry = lookup(value)
            new = AVAILABLE.get(value) or (entry.to if entry is not None and entry.name == value else "")
            edits = (file.replace(node, node.value.replace(value, new)),) if new and QUOTES.match(node.value) else ()
            message = f"this patches `{value}`, which the code under test must be using"
            yield Finding(node, message + (f"; its generic twin is `{new}`" if new else ""), edits, SUBJECT)
        elif CONDITION.search(value) and callee.endswith(("skipif", "skipIf", "skipUnless")):
            yield Finding(node, "this condition asks for CUDA; use `torch.accelerator.is_available()`")
