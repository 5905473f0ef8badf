"""Mixed precision for CUDA only: `torch.cuda.amp`, and `torch.autocast("cuda")`.

The generic classes take the device type first, so positional arguments become keywords. Without a CUDA device the
originals turn themselves off; the generic forms do so only if they are told:

```diff
  import torch
  from contextlib import nullcontext
+
+ device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
+
- scaler = torch.cuda.amp.GradScaler(2**12)
- with torch.cuda.amp.autocast(use_amp, torch.bfloat16):
+ scaler = torch.amp.GradScaler(device.type, 2**12, enabled=device.type != "cpu")
+ with torch.autocast(device.type, enabled=use_amp and device.type != "cpu", dtype=torch.bfloat16):
      step()
```

Where the code runs only with an accelerator, the short form holds:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
  assert torch.accelerator.is_available()
- with torch.autocast("cuda", dtype=torch.float16):
+ with torch.autocast(device.type, dtype=torch.float16):
      step()
```

An imported name stays what it is called, and the import moves:

```diff
- from torch.cuda.amp import GradScaler
+ import torch
+ from torch.amp import GradScaler
+
+ device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
+
- scaler = GradScaler()
+ scaler = GradScaler(device.type, enabled=device.type != "cpu")
```

Fix safety: safe; unsafe where a device in scope may be another one.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.device_string import imports_torch
from codemods.knowledge.device import Device
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.hoist import device_at
from codemods.knowledge.imports import respell
from codemods.knowledge.uses import argument, call_of, has_star, use

POSITIONS = {"autocast": ("enabled", "dtype", "cache_enabled"), "custom_fwd": (), "custom_bwd": (), "GradScaler": ()}
ENABLED_AT = {"autocast": 0, "GradScaler": 4}
GENERIC = {"torch.autocast": 2, "torch.amp.autocast": 2, "torch.amp.autocast_mode.autocast": 2,
           "torch.amp.GradScaler": 5, "torch.GradScaler": 5}  # fmt: skip
"""The generic classes with the position of `enabled`."""


@rule("AGN401", "cuda")
def check(node: cst.Attribute | cst.Name | cst.Call, file: File) -> Iterator[Finding]:
    if isinstance(node, cst.Call):
        yield from _generic(file, node)
        return
    entry = use(file, node)
    if entry is None or entry.rule != "cuda-amp":
        return
    kind = entry.name.rpartition(".")[2]
    new = "torch.autocast" if kind == "autocast" else f"torch.amp.{kind}"
    message = f"`{entry.name}` is CUDA only and deprecated; use `{new}` with the device type"
    call = call_of(file, node)
    edits, together = respell(file, node, f"torch.amp.{kind}", new)
    if call is not None and has_star(call):
        yield Finding(node, message)
    elif kind.startswith("custom"):
        device = device_at(file, node)
        word = f"device_type={device.type}"
        if call is not None:
            edits += (file.append_argument(call, word),)
        elif isinstance(file.parent(node), cst.Decorator):
            edits += (file.insert_after(node, f"({word})"),)
        else:
            yield Finding(node, message)
            return
        yield Finding(node, message, (*device.edits, *edits), device.unsafe, together)
    elif call is None and (_is_class_of(file, node) or isinstance(file.parent(node), cst.Annotation)):
        yield Finding(node, message, edits, "", together)  # the generic class is the base of the other
    elif call is None:
        yield Finding(node, message)
    else:
        device = device_at(file, node)
        edits += _arguments(file, call, device, POSITIONS[kind], argument(call, ENABLED_AT[kind], "enabled"))
        yield Finding(node, message, (*device.edits, *edits), device.unsafe, together)


def _is_class_of(file: File, node: cst.CSTNode) -> bool:
    """Whether it is the class in `isinstance(x, ...)`."""
    arg = file.parent(node)
    call = file.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and file.source(call.func) == "isinstance" and call.args[1:2] == (arg,)


def _generic(file: File, call: cst.Call) -> Iterator[Finding]:
    """`torch.autocast("cuda")` and `torch.amp.GradScaler("cuda")`."""
    name = file.name(call.func)
    if name not in GENERIC or not imports_torch(file):
        return
    kind = argument(call, 0, "device_type" if "autocast" in name else "device")
    if kind is None or file.string(kind.value) != "cuda":
        return
    file.claim(kind.value)
    if has_star(call):
        yield Finding(kind.value, f'`{name}("cuda")` is CUDA only; its arguments are not visible here')
        return
    device = device_at(file, call)
    enabled = argument(call, GENERIC[name], "enabled")
    edits = (file.replace(kind.value, device.type), *_parity(file, call, device, enabled))
    yield Finding(
        kind.value, f'`{name}("cuda")` is CUDA only; give it the device\'s type', (*device.edits, *edits), device.unsafe
    )


def _arguments(
    file: File, call: cst.Call, device: Device, names: tuple[str, ...], enabled: cst.Arg | None
) -> tuple[Edit, ...]:
    """The device type first, what was positional as keywords, and the class told to be off on the CPU as before."""
    if not call.args:
        off = "" if has_accelerator(file, call) else f', enabled={device.type} != "cpu"'
        return (file.insert_argument(call, device.type + off),)
    positional = [(arg, name) for arg, name in zip(call.args, names, strict=False) if arg.keyword is None]
    first = f"{device.type}, " + (f"{positional[0][1]}=" if positional else "")
    return (
        file.insert_before(call.args[0], first),
        *(file.name_keyword(arg, name) for arg, name in positional[1:]),
        *_parity(file, call, device, enabled),
    )


def _parity(file: File, call: cst.Call, device: Device, enabled: cst.Arg | None) -> tuple[Edit, ...]:
    if has_accelerator(file, call):
        return ()
    condition = f'{device.type} != "cpu"'
    if enabled is None:
        return (file.append_argument(call, f"enabled={condition}"),)
    value = enabled.value
    if isinstance(value, cst.Name) and value.value in ("True", "False"):
        return (file.replace(value, condition),) if value.value == "True" else ()
    simple = isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(value.lpar)
    text = file.source(value)
    return (file.replace(value, f"{text if simple else f'({text})'} and {condition}"),)
