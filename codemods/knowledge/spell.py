"""How a generic name is written at a place: through the file's own import of torch, or a new one."""

from __future__ import annotations

import ast

import libcst as cst

from agnostic.file import File
from agnostic.names import Binding
from agnostic.rule import Edit


def root(file: File, node: cst.CSTNode) -> tuple[str, tuple[Edit, ...]]:
    """The name by which `torch` can be reached at a node, and the import to add if there is none."""
    name, statement = torch_import(file, node)
    return name, () if statement is not None else (import_edit(file, "import torch"),)


def torch_import(file: File, node: cst.CSTNode) -> tuple[str, cst.CSTNode | None]:
    """The name of `torch` at a node and the statement that imports it; None if nothing does.

    An optional import counts, be it `torch = None` where it fails.
    """
    seen = set()
    for scope in file.names.visible(node):
        for name, bindings in file.names.bound_in(scope).items():
            origins = {one.origin for one in bindings if not _is_none(one)}
            if name not in seen and origins == {"torch"}:
                return name, next(file.statement(one.node) for one in bindings if one.origin)
            seen.add(name)
    return "torch", None


def _is_none(binding: Binding) -> bool:
    return isinstance(binding.value, cst.Name) and binding.value.value == "None"


def spell(file: File, name: str, node: cst.CSTNode) -> tuple[str, tuple[Edit, ...]]:
    """`torch.x.y` as it is written at a node."""
    torch, edits = root(file, node)
    return torch + name.removeprefix("torch"), edits


def member(file: File, module: str, name: str) -> tuple[str, tuple[Edit, ...]]:
    """A member of a module of the standard library as the file can write it, with the import if there is none."""
    for statement in file.ast.body:
        for alias in statement.names if isinstance(statement, (ast.Import, ast.ImportFrom)) else ():
            if isinstance(statement, ast.Import) and alias.name == module:
                return f"{alias.asname or module}.{name}", ()
            if isinstance(statement, ast.ImportFrom) and (statement.module, alias.name) == (module, name):
                return alias.asname or name, ()
    return f"{module}.{name}", (import_edit(file, f"import {module}"),)


def import_edit(file: File, line: str) -> Edit:
    """Put an import where it belongs: in order behind the file's plain imports, else in front of all others.

    An empty line stands for no import, and gives the place behind the docstring and the `__future__` imports.
    """
    row = 0
    name = line.removeprefix("import ")
    for statement in file.ast.body:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) if row == 0:
                row = statement.end_lineno or row
            case ast.ImportFrom(module="__future__"):
                row = statement.end_lineno or row
            case ast.Import(names=[first, *_]) if line and first.name < name:
                row = statement.end_lineno or row
            case _:
                at = file.lines[statement.lineno - 1]
                if line and isinstance(statement, (ast.Import, ast.ImportFrom)):
                    return Edit(at, at, f"{line}{file.newline}")
                break
    at = file.lines[row] if row < len(file.lines) else len(file.text)
    start = "" if at == 0 or file.text[at - 1] in "\r\n" else file.newline
    return Edit(at, at, f"{start}{line}{file.newline}")
