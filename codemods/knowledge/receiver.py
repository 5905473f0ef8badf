"""Whether `.cuda()` is called on a tensor or a module, or on something that only has a method of that name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File


def is_foreign(file: File, receiver: cst.BaseExpression) -> bool:
    """Whether an object is neither a tensor nor a module, as far as the file shows.

    Modules and packages (`F.cuda()`), classes themselves, `super()`, and objects of classes of this file that
    define `cuda` themselves.
    """
    match receiver:
        case cst.Call(func=cst.Name("super")):
            return True
        case cst.Name("self"):
            owner = next((one for one in file.ancestors(receiver) if isinstance(one, cst.ClassDef)), None)
            return _defines_cuda(owner)
        case cst.Call(func=cst.Name() as name):
            return _is_own(file, name)
        case cst.Name() as name:
            bindings = file.bindings(name)
            if any(binding.origin or isinstance(binding.node, cst.ClassDef) for binding in bindings):
                return True
            values = [binding.value for binding in bindings]
            return bool(values) and all(
                isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and _is_own(file, value.func)
                for value in values
            )
        case cst.Attribute():
            origin = file.name(receiver) or ""
            return origin.startswith(("torch.", "triton", "numba", "cupy"))
    return False


def _is_own(file: File, name: cst.Name) -> bool:
    """Whether a name is a class of this file whose objects have a `cuda` of their own."""
    classes = [binding.node for binding in file.bindings(name)]
    return bool(classes) and all(isinstance(one, cst.ClassDef) and _defines_cuda(one) for one in classes)


def _defines_cuda(owner: cst.CSTNode | None) -> bool:
    return isinstance(owner, cst.ClassDef) and any(
        isinstance(one, cst.FunctionDef) and one.name.value == "cuda" for one in owner.body.body
    )


def own_class(file: File, receiver: cst.BaseExpression) -> str:
    """The class that an object may be of which a loop takes from somewhere else; empty if there is no such class.

    It is a class of a file that this one imports from, has `cuda` and no `to`, and is no torch module.
    """
    if not isinstance(receiver, cst.Name):
        return ""
    nodes = [binding.node for binding in file.bindings(receiver)]
    if not any(isinstance(node, cst.For) and _takes(node, receiver.value) for node in nodes):
        return ""
    if "own classes" not in file.facts:
        file.facts["own classes"] = sorted(_own_classes(file))
    return next(iter(file.facts["own classes"]), "")


def _takes(loop: cst.For, name: str) -> bool:
    """Whether a loop binds a name to what it takes, counted or not, and not to a part of it."""
    if isinstance(loop.target, cst.Name):
        return True
    match loop.target, loop.iter:
        case cst.Tuple(elements=[*_, last]), cst.Call(func=cst.Name("enumerate")):
            return isinstance(last.value, cst.Name) and last.value.value == name
    return False


def _own_classes(file: File) -> Iterator[str]:
    for text in _imported(file):
        try:
            tree = ast.parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not any("Module" in ast.unparse(base) for base in node.bases):
                methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                if "cuda" in methods and "to" not in methods:
                    yield node.name


def _imported(file: File) -> Iterator[str]:
    """The texts of the files next to this one, or above it, that it imports from and that define a `cuda`."""
    folder = file.path.absolute().parent
    for statement in file.ast.body:
        if not isinstance(statement, ast.ImportFrom) or not statement.module:
            continue
        parts = statement.module.split(".")
        homes = [folder.parents[statement.level - 2] if statement.level > 1 else folder]
        homes += (
            [] if statement.level else [above for above in folder.parents if above.is_relative_to(file.settings.root)]
        )
        for home in homes:
            text = file.other(home.joinpath(*parts).with_suffix(".py"))
            if text is not None:
                if "def cuda(" in text:
                    yield text
                break
