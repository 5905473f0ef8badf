"""What a rewritten text must be before it is written: valid, with no name that does not exist."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings

from agnostic.mask import Lines, imports
from agnostic.rule import Ruleset

KNOWN = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__package__", "__spec__", "__loader__", "__path__", "__annotations__",
    "__builtins__", "__class__", "__module__", "__qualname__", "WindowsError",
}  # fmt: skip
"""What every module has without binding it."""


def objection(before: str, after: str, ruleset: Ruleset, torch: tuple[int, ...]) -> str | None:
    """Why `after` must not replace `before`; None if it may."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(after, "<result>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"the result would not compile: {error}"
    if new := undefined(after) - undefined(before):
        return f"the result would use undefined names: {', '.join(sorted(new))}"
    if new := early(after) - early(before):
        return f"the result would use names before they are bound: {', '.join(sorted(new))}"
    for name in sorted(_dotted(after, ruleset) - _dotted(before, ruleset)):
        if not ruleset.known(name, torch):
            return f"the result would use `{name}`, which torch {'.'.join(map(str, torch))} does not have"
    return None


def _dotted(text: str, ruleset: Ruleset) -> set[str]:
    """The dotted names of a text that lead into a package of the rules, through its imports too."""
    origins = {package: package for package in ruleset.packages}
    for name, origin in imports(Lines(text)):
        if origin.partition(".")[0] in ruleset.packages:
            origins[name] = origin
    names = "|".join(map(re.escape, sorted(origins, key=len, reverse=True)))
    found = re.findall(rf"(?<![\w.])({names})((?:\.\w+)+)", text)
    return {origins[name] + rest for name, rest in found} | set(origins.values())


def undefined(text: str) -> set[str]:
    """Global names that a module reads but never binds; empty if a star import may bind anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(ast.parse(text))):
            return set()
        top = symtable.symtable(text, "<text>", "exec")
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    read: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global() or table is top:
                if symbol.is_assigned() and symbol.is_declared_global():
                    bound.add(symbol.get_name())
                if symbol.is_referenced():
                    read.add(symbol.get_name())
            if symbol.is_namespace() and table is top:
                bound.add(symbol.get_name())
    return read - bound - KNOWN


def early(text: str) -> set[str]:
    """Names that the top level of a module reads in an earlier statement than the first that binds them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(text).body
    read: set[str] = set()
    found: set[str] = set()
    bound: set[str] = set()
    for statement in body:
        loads, stores = _at_once(statement)
        read |= loads - bound - stores - KNOWN
        found |= read & stores
        bound |= stores
    return found


def _at_once(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement reads and binds when it is reached, so not in the functions it defines."""
    loads, stores = set(), set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                loads.add(name)
            case ast.Name(id=name):
                stores.add(name)
            case ast.alias():
                stores.add(node.asname or node.name.partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                stores.add(name)
                todo += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
                continue
            case ast.Lambda():
                todo += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
                continue
            case ast.ClassDef(name=name):
                stores.add(name)
        todo += ast.iter_child_nodes(node)
    return loads, stores
