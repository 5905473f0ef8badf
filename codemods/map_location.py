"""`map_location` as a function that moves a storage to CUDA.

A device says the same:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- state = torch.load(path, map_location=lambda storage, loc: storage.cuda())
- state = torch.load(path, map_location=lambda storage, loc: storage.cuda(rank))
+ state = torch.load(path, map_location=device)
+ state = torch.load(path, map_location=torch.device(device.type, rank))
```

Fix safety: safe; unsafe where a device in scope may be another one.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.hoist import device_at


@rule("AGN204", "map_location")
def check(function: cst.Lambda, file: File) -> Iterator[Finding]:
    arg = file.parent(function)
    if not (isinstance(arg, cst.Arg) and arg.keyword is not None and arg.keyword.value == "map_location"):
        return
    match function:
        case cst.Lambda(
            params=cst.Parameters(params=[cst.Param(name=cst.Name(storage)), _]),
            body=cst.Call(func=cst.Attribute(value=cst.Name(moved), attr=cst.Name("cuda")), args=args),
        ) if storage == moved and len(args) <= 1:
            file.claim(function)
            device = device_at(file, function)
            text = device.at(file.source(args[0].value)) if args else device.text
            message = "this loads onto CUDA; `map_location` takes the device itself"
            yield Finding(function, message, (*device.edits, file.replace(function, text)), device.unsafe)
