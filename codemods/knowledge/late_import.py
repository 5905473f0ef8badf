"""Imports of a project's own words that cannot stand at the top of a file: the project would import itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst

    from agnostic.file import File
    from agnostic.rule import Edit

Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_late(file: File, module: str, name: str) -> bool:
    """Whether a name is imported inside of functions: the file does so already, or has to."""
    key = f"late import of {name}"
    if key not in file.facts:
        file.facts[key] = _does_so(file, name) or _is_circular(file, module)
    return file.facts[key]


def late_import(file: File, node: cst.CSTNode, module: str, name: str) -> tuple[Edit, ...] | None:
    """The import at the head of the function around a node; nothing if it is there, None if there is no function."""
    from agnostic.rule import Edit

    row = file.line(node)
    function = _function_at(file.ast.body, row)
    if function is None:
        return None
    if _is_imported(function.body, row, name):
        return ()
    prose = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    first = function.body[1] if prose and len(function.body) > 1 else function.body[0]
    at = file.lines[_first_row(first) - 1]
    indent = file.text[at : at + first.col_offset]
    return None if indent.strip() else (Edit(at, at, f"{indent}from {module} import {name}{file.newline}"),)


def is_another(file: File, module: str, name: str) -> bool:
    """Whether a name stands for something else here: the file imports it from a module that is called otherwise."""
    key = f"another {name}"
    if key not in file.facts:
        file.facts[key] = any(
            isinstance(one, ast.ImportFrom)
            and not one.level
            and name in (alias.asname or alias.name for alias in one.names)
            and not f"{one.module}.".startswith(f"{module}.")
            and (one.module or "").rpartition(".")[2] != module.rpartition(".")[2]
            for one in file.syntax
        )
    return file.facts[key]


def _does_so(file: File, name: str) -> bool:
    return any(
        isinstance(one, ast.ImportFrom) and one.col_offset and name in (alias.name for alias in one.names)
        for one in file.syntax
    )


def _function_at(body: list[ast.stmt], row: int) -> Function | None:
    """The outermost function in whose body a row is."""
    for statement in body:
        if _first_row(statement) <= row <= (statement.end_lineno or 0):
            if isinstance(statement, Function):
                return statement if row >= _first_row(statement.body[0]) else None
            for block in _blocks(statement):
                if found := _function_at(block, row):
                    return found
    return None


def _is_imported(body: list[ast.stmt], row: int, name: str) -> bool:
    """Whether a block imports a name before a row, or one of the blocks in it that the row is in does."""
    for statement in body:
        if _first_row(statement) > row:
            return False
        if isinstance(statement, ast.ImportFrom) and name in (alias.asname or alias.name for alias in statement.names):
            return True
        if row <= (statement.end_lineno or 0):
            inside = [block for block in _blocks(statement) if block and block[0].lineno <= row]
            return any(_is_imported(block, row, name) for block in inside if row <= (block[-1].end_lineno or 0))
    return False


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _first_row(statement: ast.stmt) -> int:
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])


def _is_circular(file: File, module: str) -> bool:
    """Whether a module comes, by what it imports when it is imported itself, to the file that wants it."""
    package = module.partition(".")[0]
    own = file.path.absolute()
    root = next((one.parent for one in own.parents if one.name == package and _source(one.parent, module)), None)
    if root is None:
        return False
    above = {one / "__init__.py" for one in own.parents}  # they are being imported already
    todo, seen = [module], set[Path]()
    while todo:
        parts = todo.pop().split(".")
        for depth in range(1, len(parts) + 1):
            path = _source(root, ".".join(parts[:depth]))
            if path is None or path in seen or path in above:
                continue
            if path == own:
                return True
            seen.add(path)
            file.consulted.add(path)
            state = path.stat()
            within = path.relative_to(root).with_suffix("").parts
            todo += _imported(path, within[:-1], package, state.st_mtime_ns, state.st_size)
    return False


def _source(root: Path, module: str) -> Path | None:
    path = root.joinpath(*module.split("."))
    return next((one for one in (path / "__init__.py", path.with_name(f"{path.name}.py")) if one.is_file()), None)


@lru_cache(maxsize=4096)
def _imported(path: Path, folder: tuple[str, ...], package: str, changed: int, size: int) -> tuple[str, ...]:
    """The modules of its own package that a file imports when it is imported; `changed` and `size` tell its state."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return ()
    found: list[str] = []
    while body:
        statement = body.pop()
        match statement:
            case ast.Import(names=names):
                found += [alias.name for alias in names]
            case ast.ImportFrom(module=origin, names=names, level=level):
                base = ".".join([*(folder[: len(folder) - level + 1] if level else ()), *([origin] if origin else ())])
                found += [base, *(f"{base}.{alias.name}" for alias in names)]
            case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=orelse):
                body += orelse
            case ast.If() | ast.Try() | ast.With() | ast.ClassDef():
                body += [inner for block in _blocks(statement) for inner in block]
    return tuple(one for one in found if one.partition(".")[0] == package)
