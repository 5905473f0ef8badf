"""`torch.cuda.set_device` chooses the CUDA device of a process.

`torch.accelerator.set_device_index` does so on every accelerator. It wants the index, so that a string which is put
together for it goes:

```diff
  import torch
  assert torch.accelerator.is_available()
- torch.cuda.set_device(rank)
- torch.cuda.set_device(device=rank)
- torch.cuda.set_device(f"cuda:{rank}")
- torch.cuda.set_device("cuda:1")
+ torch.accelerator.set_device_index(rank)
+ torch.accelerator.set_device_index(rank)
+ torch.accelerator.set_device_index(rank)
+ torch.accelerator.set_device_index(1)
```

Without an accelerator both raise. The rest of the program need not, so the call gets a guard where nothing says that
there is one:

```diff
  import torch
- torch.cuda.set_device(rank)
+ if torch.accelerator.is_available():
+     torch.accelerator.set_device_index(rank)
```

Fix safety: safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.portable import guarded
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import argument, call_of, has_star, sources, use


@rule("AGN107", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    entry = use(file, node)
    if entry is None or entry.rule != "set-device":
        return
    text, imports = spell(file, "torch.accelerator.set_device_index", node)
    message = "`torch.cuda.set_device` is CUDA only; use `torch.accelerator.set_device_index` (torch 2.6)"
    edits = (*imports, file.replace(node, text))
    call = call_of(file, node)
    arg = argument(call, 0, "device") if call is not None else None
    if call is None or arg is None or has_star(call):
        yield Finding(node, message, edits if call is None else ())
        return
    index = index_text(file, arg.value)
    if index is not None:
        file.claim(arg)
    if index is not None or arg.keyword is not None:
        edits += (file.replace(arg, index or file.source(arg.value)),)
    guard, together = guarded(file, call, "None") if file.is_statement(call) else ((), ())
    yield Finding(node, message, (*edits, *guard), "", (*together, *sources(file, call)))


def index_text(file: File, device: cst.BaseExpression) -> str | None:
    """The index in a device string, `torch.device("cuda", i)` or `torch.device(f"cuda:{i}")`; None if it is not
    visible."""
    match device:
        case cst.SimpleString():
            found = re.fullmatch(r"cuda:(\d+)", file.string(device) or "")
            return found[1] if found else None
        case cst.FormattedString(parts=[cst.FormattedStringText("cuda:"), cst.FormattedStringExpression() as part]):
            return file.source(part.expression) if part.format_spec is None and part.conversion is None else None
        case cst.Call(func=func, args=[cst.Arg(value=only)]) if file.name(func) == "torch.device":
            return index_text(file, only)
        case cst.Call(func=func, args=[cst.Arg(value=cst.SimpleString()), cst.Arg(value=index)]):
            return file.source(index) if file.name(func) == "torch.device" else None
    return None
