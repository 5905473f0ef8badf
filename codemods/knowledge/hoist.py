"""The device at a place: one that is in scope, the project's own, or one made for the file, once.

Reviewers take a variable, and refuse the same long expression at each site.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.device import Device, expression, project_device
from codemods.knowledge.profile import guess, own_imports
from codemods.knowledge.scope import in_scope
from codemods.knowledge.spell import import_edit, root

SITE = re.compile(
    r"^(?![ \t]*(?:#|from|import)\b).*?(?:\.cuda\b|[\"']cuda|[\"']nccl|cuda\.|autocast|GradScaler|custom_[fb]wd)",
    re.MULTILINE,
)
"""A line that may need a device."""


def device_at(file: File, node: cst.CSTNode) -> Device:
    """The device to use at a node, with the edits that bring it there."""
    return in_scope(file, node) or project_device(file, node) or _hoisted(file, node)


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
