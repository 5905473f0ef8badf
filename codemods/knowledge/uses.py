"""Where a file uses a name of the map, in whatever form it was imported."""

from __future__ import annotations

import libcst as cst

from agnostic.file import File
from codemods.knowledge.api import Entry, entries, lookup

ROOTS = ("torch.cuda", "torch.backends.cuda", "torch.backends.cudnn")


def is_reference(file: File, node: cst.CSTNode) -> bool:
    """Whether a name or attribute is read, rather than imported, bound or the name of a keyword."""
    match file.parent(node):
        case cst.ImportAlias() | cst.AsName() | cst.ImportFrom() | cst.AssignTarget() | cst.Del():
            return False
        case cst.Attribute(attr=bound) | cst.Arg(keyword=bound) | cst.Param(name=bound) if bound is node:
            return False
        case cst.FunctionDef(name=bound) | cst.ClassDef(name=bound) | cst.NamedExpr(target=bound) if bound is node:
            return False
        case cst.AugAssign(target=bound) | cst.AnnAssign(target=bound) if bound is node:
            return False
        case cst.For(target=bound) | cst.CompFor(target=bound) if bound is node:
            return False
    return not any(isinstance(one, (cst.ImportAlias, cst.ImportFrom)) for one in file.ancestors(node))


def use(file: File, node: cst.Attribute | cst.Name) -> Entry | None:
    """The map's line for what a node names, if the node is the longest that has one and is read."""
    known = file.facts.setdefault("uses", {})
    if id(node) not in known:
        known[id(node)] = _use(file, node)
    return known[id(node)]


def _use(file: File, node: cst.Attribute | cst.Name) -> Entry | None:
    name = file.name(node)
    if name is None or not name.startswith(ROOTS) or not is_reference(file, node):
        return None
    parent = file.parent(node)
    if isinstance(parent, cst.Attribute) and lookup(f"{name}.{parent.attr.value}") is not lookup(name):
        return None
    if name in entries():
        if isinstance(parent, cst.Attribute) and entries()[name].keep:
            return None  # the whole chain is one finding
        return entries()[name]
    if isinstance(parent, cst.Attribute):
        return None
    entry = lookup(name)
    if entry is not None and entry.keep:
        return entry
    return Entry(name, keep="it is not in the map of the public API")


def call_of(file: File, node: cst.CSTNode) -> cst.Call | None:
    """The call whose function a node is."""
    parent = file.parent(node)
    return parent if isinstance(parent, cst.Call) and parent.func is node else None


def argument(call: cst.Call, position: int, keyword: str) -> cst.Arg | None:
    """An argument by its position or its keyword; None if it is not given, or hidden in `*` or `**`."""
    for number, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is not None and arg.keyword.value == keyword:
            return arg
        if arg.keyword is None and number == position:
            return arg
    return None


def patches(file: File, name: str) -> tuple[cst.CSTNode, ...]:
    """Where a file names a function in quotes, as tests do to put something else in its place."""
    if f'{name}"' not in file.text and f"{name}'" not in file.text:
        return ()
    return tuple(one for one in file.tree.nodes if isinstance(one, cst.SimpleString) and file.string(one) == name)


def sources(file: File, call: cst.Call) -> tuple[cst.CSTNode, ...]:
    """What the variables among the arguments of a call are set to: a device there must become generic, too."""
    values = []
    for arg in call.args:
        if isinstance(arg.value, cst.Name):
            values += [binding.value for binding in file.bindings(arg.value) if binding.value is not None]
    return tuple(values)


def has_star(call: cst.Call) -> bool:
    return any(arg.star for arg in call.args)
