"""Whether `.cuda()` is called on a tensor or a module, or on something that only has a method of that name."""

from __future__ import annotations

import libcst as cst

from agnostic.file import File


def is_foreign(file: File, receiver: cst.BaseExpression) -> bool:
    """Whether an object is neither a tensor nor a module, as far as the file shows.

    Modules and packages (`F.cuda()`), classes themselves, `super()`, and objects of classes of this file that
    define `cuda` or are no torch modules.
    """
    match receiver:
        case cst.Call(func=cst.Name("super")):
            return True
        case cst.Name("self"):
            return _defines_cuda(next((one for one in file.ancestors(receiver) if isinstance(one, cst.ClassDef)), None))
        case cst.Call(func=cst.Name() as name):
            return _is_own(file, name)
        case cst.Name() as name:
            bindings = file.bindings(name)
            if any(binding.origin for binding in bindings):
                return True
            if any(isinstance(binding.node, cst.ClassDef) for binding in bindings):
                return True
            values = [binding.value for binding in bindings]
            return bool(values) and all(
                isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and _is_own(file, value.func)
                for value in values
            )
        case cst.Attribute():
            name = file.name(receiver) or ""
            return name.startswith(("torch.", "triton", "numba", "cupy"))
    return False


def _is_own(file: File, name: cst.Name) -> bool:
    """Whether a name is a class of this file whose objects have a `cuda` of their own."""
    classes = [binding.node for binding in file.bindings(name)]
    return bool(classes) and all(_defines_cuda(one) for one in classes if isinstance(one, cst.ClassDef)) and all(
        isinstance(one, cst.ClassDef) for one in classes
    )


def _defines_cuda(owner: cst.CSTNode | None) -> bool:
    return isinstance(owner, cst.ClassDef) and any(
        isinstance(one, cst.FunctionDef) and one.name.value == "cuda" for one in owner.body.body
    )
