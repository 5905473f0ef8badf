"""A syntax tree with its parents and its places in the text, without libcst's metadata providers.

The providers cost ten to sixty times the parse; one walk and one code generation give the same here.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache

import libcst as cst
from libcst._nodes.internal import CodegenState

from agnostic.mask import NEWLINE
from agnostic.rule import Span

_LAYOUT = (
    "whitespace",
    "leading_lines",
    "header",
    "footer",
    "trailing_whitespace",
    "lines_after",
    "lpar",
    "rpar",
    "semicolon",
    "comma",
    "equal",
    "lbracket",
    "rbracket",
    "operator",
)


@cache
def _parts(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in fields(kind)
        if not any(word in field.name for word in _LAYOUT) or (field.name == "operator" and kind is cst.AugAssign)
    )


@cache
def _is_node(kind: Hashable) -> bool:
    """Faster than isinstance: the nodes are abstract base classes."""
    return isinstance(kind, type) and issubclass(kind, cst.CSTNode)


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes right below a node in the order of its fields, without those that are only layout."""
    found: list[cst.CSTNode] = []
    for name in _parts(type(node)):
        value = getattr(node, name)
        kind = type(value)
        if kind is list or kind is tuple:
            found += [item for item in value if _is_node(type(item))]  # type: ignore[arg-type]
        elif _is_node(kind):  # type: ignore[arg-type]
            found.append(value)
    return found


class Unreadable(Exception):
    """The file cannot be analysed; the message says why."""


class Tree:
    """A parsed text: walk, parents, spans.

    `text` is what was parsed, line for line as long as the original, whose lines begin at `starts`;
    spans are offsets into the original.
    """

    def __init__(self, text: str, starts: list[int]) -> None:
        self._text = NEWLINE.sub("\n", text)  # libcst loses some of those that differ from the others
        self.module = cst.parse_module(self._text)
        self._theirs = starts
        # By id: the hash of a node is a Python function, and these are asked millions of times.
        self._parents: dict[int, cst.CSTNode] = {}
        self._spans: dict[int, Span] | None = None
        self.nodes = list(self._walk())

    def _walk(self) -> Iterator[cst.CSTNode]:
        todo: list[cst.CSTNode] = [self.module]
        parents = self._parents
        while todo:
            node = todo.pop()
            yield node
            below = children(node)
            for child in below:
                parents[id(child)] = node
            below.reverse()
            todo += below

    def below(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The node and everything under it, in order."""
        todo = [node]
        while todo:
            found = todo.pop()
            yield found
            todo += reversed(children(found))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(id(node))

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The node's parent, its parent, and so on up to the module."""
        parents = self._parents
        above = parents.get(id(node))
        while above is not None:
            yield above
            above = parents.get(id(above))

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands in the original text, parentheses around it left out.

        Raises Unreadable if libcst does not write the text as it read it, so that no place can be trusted.
        """
        if self._spans is None:
            self._spans = self._locate()
        start, end = self._spans[id(node)]
        return self._moved(start), self._moved(end)

    def _locate(self) -> dict[int, Span]:
        state = _Recorder(self.module.default_indent, self.module.default_newline)
        self.module._codegen(state)
        written = "".join(state.tokens)
        self._ours = [0, *(newline.end() for newline in NEWLINE.finditer(written))]
        self._gaps = _gaps(self._text, written)
        return state.spans

    def _moved(self, offset: int) -> int:
        """The place in the original text of a place in the written one, which has the same lines."""
        line = bisect.bisect_right(self._ours, offset) - 1
        column = offset - self._ours[line]
        if line in self._gaps:
            at, width = self._gaps[line]
            column += width if column > at else 0
        there = self._theirs[line] + column
        if line + 1 < len(self._theirs):  # what was blanked out may have been shorter than what stands for it
            there = min(there, self._theirs[line + 1] - (column > 0))
        return there


def _gaps(text: str, written: str) -> dict[int, tuple[int, int]]:
    """Where libcst loses white space, in `except OSError :` for one: line -> (column, how much).

    Raises Unreadable if it changes anything else.
    """
    found: dict[int, tuple[int, int]] = {}
    if text == written:
        return found
    lines = zip(text.split("\n"), written.split("\n"), strict=False)
    for number, (line, copy) in enumerate(lines):
        if line != copy:
            at = len(os.path.commonprefix([line, copy]))  # noqa: RUF071
            width = len(line) - len(copy)
            if width < 0 or line[at + width :] != copy[at:] or line[at : at + width].strip():
                raise Unreadable(f"the parser does not reproduce line {number + 1} exactly")
            found[number] = at, width
    if text.count("\n") != written.count("\n"):
        raise Unreadable("the parser does not reproduce its line ends exactly")
    return found


class _Recorder(CodegenState):
    """Notes where each node begins and ends while the code is written."""

    __slots__ = ("_starts", "length", "spans")

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.length = 0
        self.spans: dict[int, Span] = {}
        self._starts: list[int] = []

    def add_indent_tokens(self) -> None:
        super().add_indent_tokens()
        self.length += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        super().add_token(value)
        self.length += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append(self.length)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.spans.setdefault(id(node), (self._starts.pop(), self.length))

    @contextmanager
    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Iterator[None]:
        start = self.length
        yield
        first, last = self.spans.get(id(start_node)), self.spans.get(id(end_node))
        self.spans[id(node)] = (first[0] if first else start, last[1] if last else self.length)
