"""`"cuda" if torch.cuda.is_available() else "cpu"`: one decision, so it is rewritten as one.

```diff
  import torch
- device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
- name = "cuda" if torch.cuda.is_available() and not debug else "cpu"
+ device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
+ name = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() and not debug else "cpu"
```

With an index, the index stays:

```diff
  import torch
- where = f"cuda:{rank}" if torch.cuda.is_available() else "cpu"
+ where = f"{torch.accelerator.current_accelerator().type}:{rank}" if torch.accelerator.is_available() else "cpu"
```

A decision that names other vendors too is `vendor-ladder`.

Fix safety: safe if the test asks for a device. Unsafe if it is only somebody's flag, because the new form then raises
where the string did not yet; and for `cuda:0` in programs with several processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.device_string import first_index, imports_torch, whole_device
from codemods.knowledge.device import expression, project_device
from codemods.knowledge.guard import AVAILABLE, has_accelerator, implies
from codemods.knowledge.portable import OPEN
from codemods.knowledge.spell import root, spell

FLAG = "without an accelerator it raises here, not at the first use"


@rule("AGN301", "cuda")
def check(choice: cst.IfExp, file: File) -> Iterator[Finding]:
    arms = _arms(file, choice)
    if arms is None or (isinstance(arms[0], cst.Integer) and not isinstance(choice.test, cst.Call)):
        return
    cuda, cpu = arms
    torch, imports = root(file, choice)
    sure = implies(file, choice.test, cuda is choice.body) or has_accelerator(file, choice)
    message = "this chooses between CUDA and the CPU; choose the accelerator that is there"
    test = choice.test
    exact = isinstance(test, cst.Call) and file.name(test.func) in AVAILABLE and cuda is choice.body
    index = _index(cuda)
    whole = whole_device(file, choice)
    unsafe = first_index(file, index) or ("" if sure else FLAG)
    edits: tuple[Edit, ...]
    own = project_device(file, choice)
    if own is not None and exact and index in (None, "0"):
        target = whole or choice
        edits = (
            *own.edits,
            file.replace(target, own.object if whole is not None or isinstance(cuda, cst.Call) else own.type),
        )
        file.claim(choice)
        unsafe = own.unsafe
    elif exact and (whole is not None or isinstance(cuda, cst.Call)) and index in (None, "0"):
        target = whole or choice
        text = expression(file, file.module, torch)
        bare = isinstance(file.parent(target), OPEN) or bool(target.lpar)
        edits = (file.replace(target, text if bare else f"({text})"),)
        file.claim(choice)
    else:
        kind = f"{torch}.accelerator.current_accelerator().type"
        if own is not None:
            kind, imports, unsafe = own.type, (*imports, *own.edits), unsafe or own.unsafe
        edits = tuple(_piecewise(file, choice, cuda, torch, kind, index))
    file.claim(cuda, cpu)
    yield Finding(choice, message, (*imports, *edits), unsafe)


def _piecewise(
    file: File, choice: cst.IfExp, cuda: cst.BaseExpression, torch: str, kind: str, index: str | None
) -> Iterator[Edit]:
    """Replace the CUDA arm, and the questions for CUDA in the test; `kind` is the accelerator's type."""
    match cuda:
        case cst.SimpleString() if index in (None, "0"):
            yield file.replace(cuda, kind)
        case cst.SimpleString():
            yield file.replace(cuda, f'f"{{{kind}}}:{index}"')
        case cst.FormattedString(parts=[first, *_]):
            yield file.replace(first, f"{{{kind}}}:")
        case cst.Call(args=[_]) if index in (None, "0"):
            yield file.replace(cuda, f"{torch}.accelerator.current_accelerator()")
        case cst.Call(args=[arg, *_]) if isinstance(arg.value, cst.SimpleString):
            suffix = f", {index}" if len(cuda.args) == 1 else ""
            yield file.replace(arg.value, f"{kind}{suffix}")
        case cst.Call(args=[cst.Arg(value=cst.FormattedString(parts=[first, *_]))]):
            yield file.replace(first, f"{{{kind}}}:")
    for node in file.below(choice.test):
        if isinstance(node, cst.Call) and file.name(node.func) == "torch.cuda.is_available":
            file.claim(node)
            yield file.replace(node.func, spell(file, "torch.accelerator.is_available", node)[0])


def _arms(file: File, choice: cst.IfExp) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """(the CUDA arm, the CPU arm), if that is what the two are."""
    parent = file.parent(choice)
    if (isinstance(parent, cst.IfExp) and choice is parent.orelse) or not imports_torch(file):
        return None  # part of a ladder
    for one, other in ((choice.body, choice.orelse), (choice.orelse, choice.body)):
        if _device(file, one) and re.fullmatch(r"cpu(:0)?", _constant(file, other) or ""):
            return one, other
    return None


def _device(file: File, node: cst.BaseExpression) -> bool:
    match node:
        case cst.FormattedString(parts=[cst.FormattedStringText("cuda:"), *_]):
            return True
        case cst.Integer("0"):  # means the accelerator already, but a project's own word is clearer
            return bool(file.profile.device)
        case cst.Call(args=[cst.Arg(value=value), *_], func=func) if file.name(func) == "torch.device":
            return _device(file, value)
    return re.fullmatch(r"cuda(:\d+)?", _constant(file, node) or "") is not None


def _constant(file: File, node: cst.BaseExpression) -> str | None:
    match node:
        case cst.SimpleString():
            return file.string(node)
        case cst.Call(args=[cst.Arg(value=cst.SimpleString() as value)], func=func):
            return _constant(file, value) if file.name(func) == "torch.device" else None
    return None


def _index(cuda: cst.BaseExpression) -> str | None:
    """The index of the CUDA arm; "" if it is computed."""
    match cuda:
        case cst.SimpleString():
            found = re.search(r":(\d+)", cuda.value)
            return found[1] if found else None
        case cst.Integer(number):
            return number
        case cst.Call(args=[cst.Arg(value=value)]):
            return _index(value)
    return ""
