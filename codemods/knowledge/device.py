"""The device at a place: one that is in scope, or one made for the file, once.

In this order: a name in scope that holds the accelerator, `self.device`, the project's own expression, one hoisted
`device = ...`. Reviewers take a variable and refuse the same long expression at each site.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from agnostic.file import File
from agnostic.names import Binding
from agnostic.rule import Edit
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.profile import guess, own_imports
from codemods.knowledge.spell import import_edit, root

Kind = Literal["device", "type", "string", "unknown"]
"""What an expression gives: a torch.device, a device's type, a string that may have an index, or one of these."""

NAMES = (
    "device", "dev", "DEVICE", "torch_device", "_device", "DEV", "_DEVICE", "device_type", "accelerator_device",
    "ACCELERATOR",
)  # fmt: skip
"""What people, and this tool, call the device, likeliest first."""

INDEX = re.compile(
    r"(^|_|\.)(i|idx|index|rank|gpu|gpu_id|id|ordinal|device_id|device_idx|device_index|local_rank|current_device)(\(\))?$"
)
"""Expressions that sound like the index of a device."""

PARAMETER = "`{0}` is a parameter here; a caller may pass another device"
SITE = re.compile(
    r"^(?![ \t]*(?:#|from|import)\b).*?(?:\.cuda\b|[\"']cuda|[\"']nccl|cuda\.|autocast|GradScaler|custom_[fb]wd)",
    re.MULTILINE,
)
"""A line that may need a device."""


@dataclass(frozen=True)
class Device:
    """An expression for the accelerator, or the CPU where there is none."""

    text: str
    kind: Kind
    unsafe: str = ""
    edits: tuple[Edit, ...] = ()
    torch: str = "torch"

    @property
    def type(self) -> str:
        """The device type as a string, for what takes no torch.device."""
        if self.kind in ("device", "type"):
            return self.text if self.kind == "type" else f"{self.text}.type"
        return f"{self.torch}.device({self.text}).type"

    @property
    def object(self) -> str:
        """A torch.device, for what takes no string."""
        return self.text if self.kind == "device" else f"{self.torch}.device({self.text})"

    def at(self, index: str) -> str:
        """A torch.device with an index."""
        return f"{self.torch}.device({self.type}, {index})"


def device_at(file: File, node: cst.CSTNode) -> Device:
    """The device to use at a node, with the edits that bring it there."""
    return in_scope(file, node) or project_device(file, node) or _hoisted(file, node)


def project_device(file: File, node: cst.CSTNode) -> Device | None:
    """The expression that the project's profile has for the device."""
    text = file.profile.device
    if not text:
        return None
    return Device(text, file.profile.device_kind, guess(file, text), own_imports(file, text), root(file, node)[0])


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
    kinds = {_kind(file, value) for value in values if value is not None}
    if len(kinds) != 1 or (kind := kinds.pop()) is None:
        return None
    unsure = [value for value in values if value is not None and not _is_accelerator(file, value)]
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
                values = list(_assigned(file, above, name))
                kinds = {_kind(file, value) for _, value in values}
                inits = [function for function, _ in values if function and function.name.value == "__init__"]
                if not inits or None in kinds or len(kinds) != 1:
                    continue
                if method in inits and file.span(values[0][1])[1] > file.span(node)[0]:
                    continue
                sure = all(_is_accelerator(file, value) for _, value in values)
                kind = kinds.pop()
                assert kind is not None
                return Device(f"self.{name}", kind, "" if sure else f"`self.{name}` may be another device", (), torch)
            return None
    return None


def _assigned(
    file: File, owner: cst.ClassDef, name: str
) -> Iterator[tuple[cst.FunctionDef | None, cst.BaseExpression]]:
    for node in file.below(owner):
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(cst.Attribute(value=cst.Name("self"), attr=cst.Name(attribute)))],
                value=value,
            ) if attribute == name:
                yield file.function(node), value


# ---- a device made for the file ----------------------------------------------------------------------------------


def expression(file: File, node: cst.CSTNode, torch: str = "torch") -> str:
    """The accelerator, or the CPU where there is none, as a torch.device."""
    if file.profile.device:
        text = file.profile.device
        return text if file.profile.device_kind == "device" else f"{torch}.device({text})"
    if has_accelerator(file, node):
        return f"{torch}.accelerator.current_accelerator()"
    if file.settings.torch >= (2, 7):
        return f'{torch}.accelerator.current_accelerator(check_available=True) or {torch}.device("cpu")'
    return f'{torch}.accelerator.current_accelerator() if {torch}.accelerator.is_available() else {torch}.device("cpu")'


def type_expression(file: File, node: cst.CSTNode, torch: str = "torch", index: str | None = None) -> str:
    """The accelerator's type, or "cpu", as a string; with an index other than 0, as "type:index"."""
    text = file.profile.device or f"{torch}.accelerator.current_accelerator().type"
    if file.profile.device:
        return f'f"{{{text}}}:{index}"' if index not in (None, "0") else text
    if index not in (None, "0"):
        text = f'f"{{{text}}}:{index}"'
    return text if has_accelerator(file, node) else f'{text} if {torch}.accelerator.is_available() else "cpu"'


def _hoisted(file: File, node: cst.CSTNode) -> Device:
    """One `device = ...` in the only function that needs it, or for the whole module."""
    torch, edits = root(file, file.module)
    profile = file.profile
    value = profile.expression or expression(file, file.module, torch)
    first = None if profile.expression else _first_in_only_function(file, node)
    if first is not None:
        name = _free_name(file, ("device", "accelerator_device"))
        at = file.lines[first.lineno - 1]
        indent = file.text[at : at + first.col_offset]
        line = Edit(at, at, f"{indent}{name} = {value}{file.newline}")
        return Device(name, "device", "", (*edits, line), torch)
    name = _free_name(file, (profile.constant, "device", "DEVICE", "ACCELERATOR"))
    made = _module_edits(file, f"{name} = {value}{file.newline}", edits)
    if profile.expression:
        unsafe = guess(file, profile.expression)
        return Device(name, profile.device_kind, unsafe, (*own_imports(file, value), *made), torch)
    return Device(name, "device", "", made, torch)


def _free_name(file: File, wanted: tuple[str, ...]) -> str:
    """The first of these names, with `_` in front if it must be, that nothing in the file binds."""
    if "bound names" not in file.facts:
        taken = file.facts["bound names"] = set()
        for node in ast.walk(file.ast):
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                    taken.add(name)
                case ast.alias(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    taken.add(name)
    names = [name for name in wanted if name]
    return next(name for name in [*names, *(f"_{name}" for name in names)] if name not in file.facts["bound names"])


def _sites(file: File) -> list[int]:
    if "sites" not in file.facts:
        file.facts["sites"] = [file.line_at(match.start()) for match in SITE.finditer(file.text)]
    return file.facts["sites"]


def _first_in_only_function(file: File, node: cst.CSTNode) -> ast.stmt | None:
    """The first statement that may need a device, if all that may are in the body of one outermost function."""
    row = file.line(node)
    sites = _sites(file)
    for function in _outermost(file.ast.body):
        first, last = function.body[0].lineno, function.end_lineno or 0
        if first <= row <= last and all(first <= site <= last for site in sites):
            for statement in function.body:
                if any(statement.lineno <= site <= (statement.end_lineno or 0) for site in sites):
                    alone = not file.text[file.lines[statement.lineno - 1] :][: statement.col_offset].strip()
                    return statement if statement.lineno <= row and alone else None
    return None


def _outermost(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from _outermost(statement.body)


def _module_edits(file: File, text: str, imports: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Behind the imports that stand before the first place that needs it."""
    sites = _sites(file)
    row = 0
    for statement in file.ast.body:
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
        prose = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if any(first <= site <= (statement.end_lineno or 0) for site in sites) and not (prose or _imports(statement)):
            break
        if _imports(statement):
            row = statement.end_lineno or 0
    if not row:
        place = import_edit(file, "")
        added = "".join(edit.text for edit in imports)
        text = f"{added}{file.newline if added else place.text}{text}{file.newline}"
        return (Edit(place.start, place.end, text),)
    at = file.lines[row] if row < len(file.lines) else len(file.text)
    blank = "" if file.text[at:].lstrip(" \t")[:1] in "\r\n" else file.newline
    return (*imports, Edit(at, at, f"{file.newline}{text}{blank}"))


def _imports(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    return isinstance(statement, (ast.Try, ast.If)) and any(_imports(one) for one in statement.body)
