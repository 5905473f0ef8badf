"""The module `torch.cuda` as a value: kept in a variable, handed on, or looked up by name.

What is done with it does not show here, so it is reported:

```diff
  import importlib
  import torch
! helper = Helper(torch.cuda)
! amp = getattr(torch, "cuda")
! cuda = importlib.import_module("torch.cuda")
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
  module = torch.get_device_module(device)
```

`torch.get_device_module(device)` is the module of whatever device there is.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.uses import is_reference, use

ADVICE = "`torch.get_device_module(device)` is the module of the device that is there"
PROBES = ("getattr", "hasattr", "setattr", "delattr")
FLAGS = {"has_cuda", "has_cudnn"}


@rule("AGN104", "cuda", "cudnn")
def check(node: cst.Attribute | cst.Name | cst.Call, file: File) -> Iterator[Finding]:
    match node:
        case cst.Call(func=cst.Name(probe), args=[cst.Arg(value=owner), cst.Arg(value=cst.SimpleString() as key), *_]):
            name = file.name(owner)
            if probe in PROBES and name in ("torch", "torch.backends", "torch.version"):
                if "cud" in (file.string(key) or ""):
                    yield Finding(node, f"this looks up CUDA by name; {ADVICE}")
        case cst.Call(func=func, args=[cst.Arg(value=cst.SimpleString() as key), *_]):
            if file.source(func).endswith(("import_module", "__import__", "import_string", "importorskip")):
                if (file.string(key) or "").startswith("torch.cuda"):
                    yield Finding(node, f"this imports a CUDA module by name; {ADVICE}")
        case cst.Attribute(attr=cst.Name(flag), value=owner) if flag in FLAGS and file.name(owner) == "torch":
            yield Finding(node, f"`torch.{flag}` says what this build has; `torch.accelerator.is_available()` asks")
        case cst.Attribute(attr=cst.Name("cuda"), value=owner) if file.name(owner) == "torch.version":
            if is_reference(file, node):
                yield Finding(node, "`torch.version.cuda` is the CUDA of this build; it tells nothing of the device")
        case cst.Attribute() | cst.Name():
            entry = use(file, node)
            if entry is not None and entry.rule == "cuda-module":
                harmless = entry.name.startswith("torch.backends.")
                yield Finding(node, f"`{entry.name}` is used as a value; {ADVICE}", blocks=not harmless)
