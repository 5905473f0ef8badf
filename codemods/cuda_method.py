"""`.cuda()` moves a tensor or a module to CUDA only.

On any other accelerator the call raises. `.to(device)` goes wherever the program runs, with a device that is in scope
already, or one made for the file:

```diff
  import torch
+
+ device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
+
- model = torch.nn.Linear(2, 2).cuda()
- batch = torch.ones(2).cuda(non_blocking=True)  # overlaps the copy
+ model = torch.nn.Linear(2, 2).to(device)
+ batch = torch.ones(2).to(device, non_blocking=True)  # overlaps the copy
```

An index stays an index, on the accelerator that is there. One that may be None means the current device:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- x = torch.ones(2).cuda(1)
- y = torch.ones(2).cuda(rank)
- z = torch.ones(2).cuda(args.gpu)
+ x = torch.ones(2).to(torch.device(device.type, 1))
+ y = torch.ones(2).to(torch.device(device.type, rank))
+ z = torch.ones(2).to(device if args.gpu is None else torch.device(device.type, args.gpu))
```

A method of the project's own that happens to be called `cuda` is left alone, and so is a call with arguments that
neither tensors nor modules take:

```diff
  class Shop:
      def cuda(self):
          return 1
  Shop().cuda()
  image = decode("x").cuda(synchronize=False)
```

Fix safety: safe where the device is the accelerator itself. Unsafe where a device in scope may be another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.device import INDEX
from codemods.knowledge.guard import is_not_none
from codemods.knowledge.hoist import device_at
from codemods.knowledge.receiver import is_foreign, own_class
from codemods.knowledge.uses import argument, has_star

KEYWORDS = {"device", "non_blocking", "memory_format"}
NUMBER = "the argument must be a number, and not a device"


@rule("AGN201", "cuda")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name("cuda") as method, value=receiver), args=args):
            pass
        case _:
            return
    keywords = {arg.keyword.value for arg in args if arg.keyword is not None}
    if keywords - KEYWORDS or is_foreign(file, receiver):
        return
    if has_star(call):
        yield Finding(call, "`.cuda()` works on CUDA only; its arguments are not visible here, use `.to(device)`")
        return
    if name := own_class(file, receiver):
        yield Finding(call, f"`.cuda()` works on CUDA only; this may be a `{name}`, which has no `to`")
        return
    device = device_at(file, call)
    index = argument(call, 0, "device")
    word = "device=" if _is_storage(file, receiver) else ""
    edits = (*device.edits, file.replace(method, "to"))
    message = "`.cuda()` works on CUDA only; use `.to(device)`"
    if index is None:
        yield Finding(call, message, (*edits, file.insert_argument(call, word + device.text)), device.unsafe)
    elif isinstance(index.value, cst.Name) and index.value.value == "None":
        yield Finding(call, message, (*edits, file.replace(index, word + device.text)), device.unsafe)
    elif isinstance(index.value, cst.Integer):
        yield Finding(call, message, (*edits, file.replace(index, word + device.at(index.value.value))), device.unsafe)
    elif INDEX.search(name := file.source(index.value)):
        where = device.at(name)
        if "gpu" in name and _may_be_none(file, index.value):
            where = f"{device.text} if {name} is None else {where}"
        yield Finding(call, message, (*edits, file.replace(index, word + where)), device.unsafe or NUMBER)
    else:
        edits = () if _defaults_to_none(file, index.value) else (file.replace(method, "to"),)
        yield Finding(call, message, edits, "`.cuda(None)` moves and `.to(None)` does not")


def _is_storage(file: File, receiver: cst.BaseExpression) -> bool:
    """Whether it is a storage, whose `to` takes keywords only: what a `map_location` gets, or `x.untyped_storage()`."""
    match receiver:
        case cst.Call(func=cst.Attribute(attr=cst.Name(method))):
            return method.endswith("storage")
        case cst.Name(name):
            owners = [file.parent(file.parent(one.node) or one.node) for one in file.bindings(receiver)]
            return name == "storage" or any(_loads(file, owner) for owner in owners)
    return False


def _loads(file: File, function: cst.CSTNode | None) -> bool:
    """Whether a function is given to `torch.load` as its `map_location`."""
    match function:
        case cst.Lambda():
            arg = file.parent(function)
            return isinstance(arg, cst.Arg) and arg.keyword is not None and arg.keyword.value == "map_location"
        case cst.FunctionDef(name=cst.Name(name)):
            return re.search(rf"\bmap_location\s*=\s*{name}\b", file.text) is not None
    return False


def _defaults_to_none(file: File, device: cst.BaseExpression) -> bool:
    """Whether it is a parameter that is None unless the caller says otherwise."""
    if not isinstance(device, cst.Name) or is_not_none(file, device):
        return False
    defaults = [one.node.default for one in file.bindings(device) if isinstance(one.node, cst.Param)]
    return any(isinstance(default, cst.Name) and default.value == "None" for default in defaults)


def _may_be_none(file: File, index: cst.BaseExpression) -> bool:
    """Whether an index may be None, which stands for the current device.

    An option is None without a default. Another variable is an index, unless a line says None or Optional of it.
    """
    if is_not_none(file, index):
        return False
    owner, _, name = file.source(index).rpartition(".")
    if owner not in ("", "self"):
        return not re.search(rf"[\"']--{name}[\"'][^)]*\bdefault[ \t]*=[ \t]*\d", file.text)
    return bool(re.search(rf"\b{name}\b.*\b(None|Optional)\b|\bNone\b.*\b{name}\b", file.text))
