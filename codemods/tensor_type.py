"""Legacy tensor types such as `torch.cuda.FloatTensor`.

A constructor makes an uninitialised tensor of a shape, or a tensor of data, by what it is given:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- a = torch.cuda.FloatTensor(3, 4)
- b = torch.cuda.LongTensor([1, 2])
+ a = torch.empty((3, 4), dtype=torch.float32, device=device)
+ b = torch.tensor([1, 2], dtype=torch.int64, device=device)
```

Where that does not show, and where the type itself is compared or handed on, it is reported:

```diff
  import torch
! half = x.type() == torch.cuda.HalfTensor
! same = isinstance(x, torch.cuda.HalfTensor)
! torch.set_default_tensor_type("torch.cuda.FloatTensor")
  x = torch.empty(3)
```

Fix safety: unsafe where a name tells a size from data only by how it sounds; safe for numbers and lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.hoist import device_at
from codemods.knowledge.spell import root
from codemods.knowledge.uses import call_of, has_star, use

DTYPES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16", "IntTensor": "int32", "LongTensor": "int64",
    "BoolTensor": "bool",
}  # fmt: skip
QUOTED = re.compile(r"torch\.cuda\.(\w+Tensor)")
ADVICE = "ask for `.dtype` and `.device.type`, or make tensors with `dtype=` and `device=`"


def _is_array(file: File, value: cst.BaseExpression) -> bool:
    """Whether a value is what a function of NumPy gives, by the name that everybody imports it under."""
    return isinstance(value, cst.Call) and file.source(value.func).startswith(("np.", "numpy."))


@rule("AGN205", "cuda")
def check(node: cst.Attribute | cst.Name | cst.SimpleString, file: File) -> Iterator[Finding]:
    if isinstance(node, cst.SimpleString):
        value = file.string(node)
        if isinstance(value, str) and QUOTED.fullmatch(value) and not isinstance(file.parent(node), cst.Expr):
            yield Finding(node, f"`{value}` is a legacy CUDA type; {ADVICE}")
        return
    entry = use(file, node)
    if entry is None or entry.rule != "tensor-type":
        return
    message = f"`{entry.name}` is a legacy CUDA type; {ADVICE}"
    call = call_of(file, node)
    dtype = DTYPES.get(entry.name.rpartition(".")[2])
    if call is None or dtype is None or has_star(call) or any(arg.keyword for arg in call.args):
        yield Finding(node, message)
        return
    device = device_at(file, node)
    torch, imports = root(file, node)
    text = constructed(file, call, torch, f"dtype={torch}.{dtype}, device={device.text}")
    if text is None:
        yield Finding(node, message)
        return
    file.claim(*call.args)
    yield Finding(node, message, (*imports, *device.edits, file.replace(call, text)), device.unsafe)


def constructed(file: File, call: cst.Call, torch: str, words: str) -> str | None:
    """What a legacy constructor makes, by its arguments: a tensor of a shape, or of data; None if that does not show."""
    values = [arg.value for arg in call.args]
    if any(arg.star or arg.keyword is not None for arg in call.args):
        return None
    if all(_is_size(file, value) for value in values):
        shape = file.source(values[0]) if len(values) == 1 else f"({', '.join(map(file.source, values))})"
        return f"{torch}.empty({shape if values else 0}, {words})"
    if len(values) != 1:
        return None
    if file.source(values[0]).endswith((".size()", ".shape")):
        return f"{torch}.empty({file.source(values[0])}, {words})"
    if isinstance(values[0], (cst.List, cst.ListComp)) or _is_array(file, values[0]):
        return f"{torch}.tensor({file.source(values[0])}, {words})"
    return None


def _is_size(file: File, value: cst.BaseExpression) -> bool:
    """Whether a value certainly is a number: a literal, `x.size(0)`, `x.shape[0]`, `len(x)`."""
    match value:
        case cst.Integer() | cst.Call(func=cst.Name("len")):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name("size")), args=[_]):
            return True
        case cst.Subscript(value=cst.Attribute(attr=cst.Name("shape"))):
            return True
    return False
