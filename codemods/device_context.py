"""`with torch.cuda.device(i):` makes a CUDA device the current one.

`torch.accelerator.device_index` does so on every accelerator; it takes a number or None and no device:

```diff
  import torch
- with torch.cuda.device(1):
+ with torch.accelerator.device_index(1):
      run()
  def launch(x):
-     with torch.cuda.device(x.device):
+     with torch.accelerator.device_index(x.device.index):
          kernel(x)
```

As an annotation it is a slip for `torch.device`:

```diff
  import torch
- def place(device: torch.cuda.device):
+ def place(device: torch.device):
      run()
```

Where it does not show whether the argument is a number or a device, it is reported:

```diff
  import torch
! with torch.cuda.device(where):
      run()
```

Fix safety: safe for numbers and for `.device`. Unsafe for names that only sound like an index.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.config import version
from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.device_comparison import SETTINGS
from codemods.knowledge.device import INDEX
from codemods.knowledge.scope import in_scope
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import argument, call_of, use
from codemods.set_device import index_text


@rule("AGN106", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    entry = use(file, node)
    if entry is None or entry.rule != "device-context":
        return
    if isinstance(file.parent(node), cst.Annotation):
        text, imports = spell(file, "torch.device", node)
        message = "`torch.cuda.device` is a context manager; what is annotated is a `torch.device`"
        yield Finding(node, message, (*imports, file.replace(node, text)))
        return
    message = f"`{entry.name}` is CUDA only; use `torch.accelerator.device_index` (torch 2.8), which takes an index"
    call = call_of(file, node)
    arg = argument(call, 0, "device") if call is not None else None
    found = _index(file, entry.name, arg.value) if arg is not None else None
    if found is None or arg is None or file.torch < version("2.8"):
        yield Finding(node, message)
        return
    index, unsafe = found
    text, imports = spell(file, "torch.accelerator.device_index", node)
    edits = (*imports, file.replace(node, text))
    if index != file.source(arg):
        file.claim(arg)
        edits += (file.replace(arg, index),)
    yield Finding(node, message, edits, unsafe)


def _index(file: File, name: str, device: cst.BaseExpression) -> tuple[str, str] | None:
    """(the index, why it may be something else); None if nothing tells."""
    if name.endswith("device_of"):
        return f"{file.source(device)}.device.index", "`device_of` ignores what is no tensor"
    if (index := index_text(file, device)) is not None:
        return index, ""
    text = file.source(device)
    match device:
        case cst.Integer():
            return text, ""
        case cst.Attribute(value=owner, attr=cst.Name("device")):
            known = in_scope(file, device) if file.source(owner) == "self" else None
            if (known and known.text == text and known.kind != "device") or SETTINGS.search(file.source(owner)):
                return None
            return f"{text}.index", f"`{text}` may be a number or a name" if file.source(owner) == "self" else ""
        case cst.Call(func=func) if file.name(func) in (
            "torch.cuda.current_device",
            "torch.accelerator.current_device_index",
        ):
            return text, ""
        case cst.Name(name) if (known := in_scope(file, device)) is not None and known.text == name:
            return (f"{name}.index", known.unsafe) if known.kind == "device" else None
    return (text, "it must be a number, and not a device") if INDEX.search(text) else None
