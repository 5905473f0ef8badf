"""A default that is `"cuda"`: of a parameter, an option of the command line, a field.

A default is part of an interface: callers rely on it and on its type, so it is reported and left. The portable form
decides when the function runs:

```diff
  import torch
! def load(path, device="cuda"):
      return torch.load(path, map_location=device)
```

```python
def load(path, device=None):
    if device is None:
        device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    return torch.load(path, map_location=device)
```

Fix safety: unsafe. The literal becomes an expression that is evaluated when the module is imported, and the default
is no longer the same string on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.device_string import imports_torch
from codemods.knowledge.slots import slot_of

ADVICE = "use None and decide when it runs, with torch.accelerator.current_accelerator(check_available=True)"


@rule("AGN206", "cuda")
def check(literal: cst.SimpleString, file: File) -> Iterator[Finding]:
    value = literal.evaluated_value
    if isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value) and imports_torch(file):
        if slot_of(file, literal).kind == "default":
            yield Finding(literal, f'the default `"{value}"` fails where there is no CUDA; {ADVICE}')
