"""What a name stands for: imports, aliases and re-bindings, looked up through Python's scopes.

Computed when the first candidate asks, because most files have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from agnostic.tree import Tree

_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_BINDERS = {
    cst.ImportAlias, cst.FunctionDef, cst.ClassDef, cst.Param, cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.AugAssign,
    cst.For, cst.Del, cst.CompFor, cst.AsName, cst.MatchAs, cst.MatchStar,
}  # fmt: skip
"""Asked by type, since isinstance is slow for nodes, which are abstract base classes."""


@dataclass(frozen=True)
class Binding:
    """One place where a name gets a meaning."""

    node: cst.CSTNode
    """The ImportAlias, statement, parameter or target that binds it."""
    origin: str | None = None
    """The dotted name that an import gives it."""
    value: cst.BaseExpression | None = None
    """The right-hand side of a plain assignment."""


def dotted(node: cst.CSTNode | None) -> str | None:
    """`a.b.c` as written, or None if the expression is anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join([node.value, *reversed(parts)]) if isinstance(node, cst.Name) else None


class Names:
    """The bindings of a tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[int, str | None] = {}
        self._resolving: set[cst.CSTNode] = set()

    def origin(self, node: cst.CSTNode) -> str | None:
        """The dotted name an expression has through its imports: `t.cuda.x` is torch.cuda.x.

        None if its root is no import, or is bound to different things.
        """
        known = self._known
        if id(node) not in known:
            known[id(node)] = self._origin(node)
        return known[id(node)]

    def _origin(self, node: cst.CSTNode) -> str | None:
        match node:
            case cst.Attribute(value=value, attr=cst.Name(attribute)):
                above = self.origin(value)
                return above and f"{above}.{attribute}"
            case cst.Name():
                return self._meaning(node)
        return None

    def _meaning(self, name: cst.Name) -> str | None:
        if name in self._resolving:
            return None
        self._resolving.add(name)
        meanings: set[str | None] = set()
        for binding in self.bindings(name):
            if binding.origin is not None:
                meanings.add(binding.origin)
            elif not (isinstance(binding.value, cst.Name) and binding.value.value == "None"):
                meanings.add(self.origin(binding.value) if binding.value is not None else None)
        self._resolving.discard(name)
        return meanings.pop() if len(meanings) == 1 else None

    def bindings(self, name: cst.Name) -> list[Binding]:
        """Every binding of the scope in which a name is found, in order; empty if there is none."""
        if name.value not in self._everywhere:
            return []
        for scope in self.visible(name):
            if found := self._bound[scope].get(name.value):
                return found
        return []

    def bound_in(self, scope: cst.CSTNode) -> dict[str, list[Binding]]:
        """The names that a module, class, function, lambda or comprehension binds itself."""
        return self._bound[scope]

    def visible(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The scopes in which Python looks for a name used at a node, innermost first."""
        function_seen = False
        below = node
        if node is self._tree.module:
            yield node
        for above in self._tree.ancestors(node):
            if isinstance(above, cst.ClassDef):
                if below is above.body and not function_seen:
                    yield above
            elif isinstance(above, (cst.FunctionDef, cst.Lambda)):
                if below is above.body:
                    yield above
                    function_seen = True
            elif isinstance(above, (cst.Module, *_COMPREHENSIONS)):
                yield above
                function_seen = True
            below = above

    @cached_property
    def _everywhere(self) -> set[str]:
        """The names that anything binds; most names of a file are not among them."""
        return {name for names in self._bound.values() for name in names}

    @cached_property
    def _bound(self) -> dict[cst.CSTNode, dict[str, list[Binding]]]:
        found: dict[cst.CSTNode, dict[str, list[Binding]]] = defaultdict(lambda: defaultdict(list))
        outer: dict[cst.CSTNode, set[str]] = defaultdict(set)  # declared global or nonlocal
        for node in self._tree.nodes:
            if isinstance(node, (cst.Global, cst.Nonlocal)):
                outer[self._home(node)] |= {item.name.value for item in node.names}
        for node in self._tree.nodes:
            for name, binding, home in self._binds(node) if type(node) in _BINDERS else ():
                if name in outer[home]:
                    home = self._tree.module
                found[home][name].append(binding)
        return found

    def _home(self, node: cst.CSTNode) -> cst.CSTNode:
        return next(self.visible(node), self._tree.module)

    def _binds(self, node: cst.CSTNode) -> Iterator[tuple[str, Binding, cst.CSTNode]]:
        match node:
            case cst.ImportAlias():
                name, origin = self._imported(node)
                yield name, Binding(node, origin), self._home(node)
            case cst.FunctionDef(name=cst.Name(name)) | cst.ClassDef(name=cst.Name(name)):
                yield name, Binding(node), self._home(node)
            case cst.Param(name=cst.Name(name)):
                function = next(
                    above for above in self._tree.ancestors(node) if isinstance(above, (cst.FunctionDef, cst.Lambda))
                )
                yield name, Binding(node), function
            case cst.Assign(targets=targets, value=value):
                for target in targets:
                    yield from self._targets(target.target, node, value)
            case cst.AnnAssign(target=target, value=value) if value is not None:
                yield from self._targets(target, node, value)
            case cst.NamedExpr(target=target, value=value):
                yield from self._targets(target, node, value)
            case cst.AugAssign(target=target) | cst.For(target=target) | cst.Del(target=target):
                yield from self._targets(target, node, None)
            case cst.CompFor(target=target):
                yield from self._targets(target, node, None)
            case cst.AsName(name=target) if not isinstance(self._tree.parent(node), cst.ImportAlias):
                yield from self._targets(target, node, None)
            case cst.MatchAs(name=cst.Name() as target) | cst.MatchStar(name=cst.Name() as target):
                yield from self._targets(target, node, None)

    def _targets(
        self, target: cst.BaseExpression, node: cst.CSTNode, value: cst.BaseExpression | None
    ) -> Iterator[tuple[str, Binding, cst.CSTNode]]:
        match target:
            case cst.Name(name):
                home = self._home(target)
                if isinstance(node, cst.NamedExpr):
                    home = next(scope for scope in self.visible(target) if not isinstance(scope, _COMPREHENSIONS))
                yield name, Binding(node, value=value), home
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                for element in elements:
                    yield from self._targets(element.value, node, None)

    def _imported(self, alias: cst.ImportAlias) -> tuple[str, str]:
        origin = dotted(alias.name) or ""
        statement = self._tree.parent(alias)
        if isinstance(statement, cst.ImportFrom):
            module = "." * len(statement.relative) + (dotted(statement.module) or "")
            name, origin = origin, f"{module}.{origin}"
        else:
            name = origin if alias.asname else origin.partition(".")[0]
            if not alias.asname:
                origin = name
        if alias.asname and isinstance(alias.asname.name, cst.Name):
            name = alias.asname.name.value
        return name, origin
