"""A device that is in scope: a variable that certainly holds it, a parameter, `self.device`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.names import Binding
from codemods.knowledge.device import Device, Kind
from codemods.knowledge.spell import root

NAMES = (
    "device", "dev", "DEVICE", "torch_device", "_device", "DEV", "_DEVICE", "device_type", "accelerator_device",
    "ACCELERATOR",
)  # fmt: skip
"""What people, and this tool, call the device, likeliest first."""

CPU = re.compile(r"(?:\w+\.device\()?[\"']cpu[\"']\)?")
PARAMETER = "`{0}` is a parameter here; a caller may pass another device"


def in_scope(file: File, node: cst.CSTNode) -> Device | None:
    """A variable or attribute that holds the accelerator whenever a node is reached."""
    torch, edits = root(file, node)
    for scope in file.names.visible(node):
        bound = file.names.bound_in(scope)
        for name in (*filter(None, [file.profile.constant]), *NAMES):
            if name == file.profile.device and {one.origin for one in bound.get(name, ())} - {None}:
                return Device(name, file.profile.device_kind, "", (), torch)
            if name in bound:
                found = _variable(file, name, bound[name], scope, node)
                if found and not (found.kind != "device" and edits):
                    return Device(found.text, found.kind, found.unsafe, (), torch)
        if any(name in bound for name in NAMES[:1]):
            return None
    return _attribute(file, node, torch)


def _variable(file: File, name: str, bindings: list[Binding], scope: cst.CSTNode, node: cst.CSTNode) -> Device | None:
    first = bindings[0]
    if len(bindings) == 1 and isinstance(first.node, cst.Param):
        return _parameter(file, name, first.node)
    values = [binding.value for binding in bindings]
    if any(value is None for value in values) or not _dominates(file, bindings, scope, node):
        return None
    placed = [binding.value for binding in bindings if not _is_alternative(file, binding, bindings)]
    kinds = {_kind(file, value) for value in placed if value is not None}
    if len(kinds) != 1 or (kind := kinds.pop()) is None:
        return None
    unsure = len(placed) < len(values) or any(not _is_accelerator(file, value) for value in placed if value is not None)
    return Device(name, kind, f"`{name}` may be another device" if unsure else "")


def _parameter(file: File, name: str, parameter: cst.Param) -> Device | None:
    annotation = file.source(parameter.annotation.annotation) if parameter.annotation else ""
    match parameter.default:
        case cst.Name("None" | "False" | "True") | cst.Integer() | cst.UnaryOperation():
            return None
        case cst.SimpleString() as default if not (file.string(default) or "").startswith("cuda"):
            return None
    if "None" in annotation or "Optional" in annotation or "int" in annotation:
        return None
    if name == "device_type":
        return None
    kind: Kind = "device" if annotation == "torch.device" else "string" if annotation == "str" else "unknown"
    return Device(name, kind, PARAMETER.format(name))


def _kind(file: File, value: cst.BaseExpression) -> Kind | None:
    """What a device expression gives; None if it is no device, or the CPU on purpose."""
    match value:
        case cst.SimpleString():
            found = re.fullmatch(r"cuda(:\d+)?", (file.string(value) or ""))
            return None if found is None else "string" if found[1] else "type"
        case cst.FormattedString():
            return "string" if file.source(value)[2:].startswith("cuda") else None
        case cst.IfExp(body=body, orelse=orelse):
            kinds = {_kind(file, body), _kind(file, orelse)} - {None}
            return kinds.pop() if len(kinds) == 1 else None
        case cst.BooleanOperation(left=left, operator=cst.Or()):
            return _kind(file, left)
        case cst.Call() if file.source(value) == file.profile.expression:
            return file.profile.device_kind
        case cst.Call(func=func, args=args):
            called = file.name(func) or ""
            if called == "torch.device":
                return "device" if args and file.string(args[0].value) != "cpu" else None
            if called == "torch.accelerator.current_accelerator":
                return "device"
            if "device" in (called or file.source(func)) and not called.startswith("torch."):
                return "unknown"
        case cst.Attribute(attr=cst.Name("type"), value=inner) if _kind(file, inner) == "device":
            return "type"
        case cst.Attribute(attr=cst.Name("device")):
            return "unknown" if isinstance(value.value, cst.Name) and value.value.value != "self" else None
    return None


def _is_accelerator(file: File, value: cst.BaseExpression) -> bool:
    """Whether a value is the accelerator if there is one, by what it is made of."""
    text = file.source(value)
    indexed = re.search(r"cuda:(?!0[\"'])|[\"']cuda[\"'],", text)
    if text == file.profile.expression or text == file.profile.device:
        return True
    return ("torch.accelerator" in text or "accelerator." in text or "cuda" in text) and not indexed


def _is_alternative(file: File, binding: Binding, bindings: list[Binding]) -> bool:
    """Whether it is the CPU, in the `else` of an `if` whose other branch sets the same variable."""
    block = file.parent(file.statement(binding.node))
    branch = file.parent(block) if block is not None else None
    if not isinstance(branch, cst.Else) or binding.value is None or not CPU.fullmatch(file.source(binding.value)):
        return False
    above = file.parent(branch)
    return isinstance(above, cst.If) and any(
        file.parent(file.statement(other.node)) is above.body for other in bindings
    )


def _dominates(file: File, bindings: list[Binding], scope: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a variable is certainly set when a node is reached.

    One assignment in a block around the node and before it, or one in each branch of such an `if`.
    """
    start = file.span(node)[0]
    elsewhere = file.function(node) is not (scope if isinstance(scope, cst.FunctionDef) else None)
    for binding in bindings:
        statement = file.statement(binding.node)
        block = file.parent(statement)
        if file.span(statement)[1] > start and not (elsewhere and isinstance(scope, cst.Module)):
            continue
        if file.inside(node, statement):
            continue
        if elsewhere and isinstance(scope, cst.Module) and _runs_before(file, node, file.line(statement)):
            continue
        if block is scope or (isinstance(scope, cst.FunctionDef) and block is scope.body):
            return True
        if block is not None and block in file.ancestors(node):
            return True
    return _every_branch(file, bindings, scope, start)


def _every_branch(file: File, bindings: list[Binding], scope: cst.CSTNode, start: int) -> bool:
    blocks = {file.parent(file.statement(binding.node)) for binding in bindings}
    for block in blocks:
        top = block
        while isinstance(file.parent(top), (cst.If, cst.Else)) if top is not None else False:
            top = file.parent(top)  # type: ignore[arg-type]
        home = file.parent(top) if top is not None else None
        if not isinstance(top, cst.If) or file.span(top)[1] > start:
            continue
        if home is scope or (isinstance(scope, cst.FunctionDef) and home is scope.body):
            branches = list(_branches(top))
            if None not in branches and all(branch in blocks for branch in branches):
                return True
    return False


def _branches(statement: cst.If) -> Iterator[cst.BaseSuite | None]:
    yield statement.body
    match statement.orelse:
        case cst.If() as other:
            yield from _branches(other)
        case cst.Else(body=body):
            yield body
        case None:
            yield None


def _attribute(file: File, node: cst.CSTNode, torch: str) -> Device | None:
    """`self.device`, if the class sets it in `__init__` and the node stands in another method."""
    for above in file.ancestors(node):
        if isinstance(above, cst.ClassDef):
            method = next((one for one in file.ancestors(node) if isinstance(one, cst.FunctionDef)), None)
            if method is None or not method.params.params or method.params.params[0].name.value != "self":
                return None
            for name in ("device", "torch_device"):
                values = list(assigned(file, above, name))
                kinds = {None if value is None else _kind(file, value) for _, value in values}
                inits = [function for function, _ in values if function and function.name.value == "__init__"]
                if not inits or None in kinds or len(kinds) != 1:
                    continue
                placed = [value for _, value in values if value is not None]
                if method in inits and file.span(placed[0])[1] > file.span(node)[0]:
                    continue
                if method not in inits and _calls_before(file, file.line(placed[0]), above):
                    continue
                sure = all(_is_accelerator(file, value) for value in placed)
                kind = kinds.pop()
                assert kind is not None
                return Device(f"self.{name}", kind, "" if sure else f"`self.{name}` may be another device", (), torch)
            return None
    return None


def _calls_before(file: File, row: int, owner: cst.ClassDef) -> bool:
    """Whether a class calls methods of its own in the function that a row is in, before that row."""
    methods = {one.name.value for one in owner.body.body if isinstance(one, cst.FunctionDef)}
    for function in file.syntax:
        if isinstance(function, ast.FunctionDef) and function.lineno <= row <= (function.end_lineno or 0):
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name("self"), attr=name)) if node.lineno < row:
                        if name in methods:
                            return True
    return False


def _runs_before(file: File, node: cst.CSTNode, row: int) -> bool:
    """Whether the module uses the function around a node, or the class, before a row."""
    names = {one.name.value for one in file.ancestors(node) if isinstance(one, (cst.FunctionDef, cst.ClassDef))}
    for statement in file.ast.body:
        if statement.lineno < row and not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            if any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(statement)):
                return True
    return False


def assigned(
    file: File, owner: cst.ClassDef, name: str
) -> Iterator[tuple[cst.FunctionDef | None, cst.BaseExpression | None]]:
    """(the method, the value) wherever a class sets `self.<name>`; None for a value that is not written there."""
    for node in file.below(owner):
        match node:
            case cst.Assign(targets=targets, value=value):
                for target in targets:
                    if _is_own(target.target, name):
                        yield file.function(node), value
                    elif isinstance(target.target, cst.Tuple):
                        if any(_is_own(one.value, name) for one in target.target.elements):
                            yield file.function(node), None
            case cst.AnnAssign(target=target, value=value) if value is not None and _is_own(target, name):
                yield file.function(node), value


def _is_own(target: cst.BaseExpression, name: str) -> bool:
    match target:
        case cst.Attribute(value=cst.Name("self"), attr=cst.Name(attribute)):
            return attribute == name
    return False
