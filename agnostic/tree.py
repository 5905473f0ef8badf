"""A syntax tree with its parents and its places in the text, without libcst's metadata providers.

The providers cost ten to sixty times the parse; one walk and one code generation give the same here.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
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


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes right below a node in the order of its fields, without those that are only layout."""
    for name in _parts(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if isinstance(item, cst.CSTNode))


class Tree:
    """A parsed text: walk, parents, spans.

    `text` is what was parsed, line for line as long as `original`; spans are offsets into `original`.
    """

    def __init__(self, text: str, original: str) -> None:
        self.module = cst.parse_module(text)
        self._text = text
        self._original = original
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._spans: dict[cst.CSTNode, Span] | None = None
        self.nodes = list(self._walk())

    def _walk(self) -> Iterator[cst.CSTNode]:
        todo: list[cst.CSTNode] = [self.module]
        while todo:
            node = todo.pop()
            yield node
            below = list(children(node))
            for child in below:
                self._parents[child] = node
            todo += reversed(below)

    def below(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The node and everything under it, in order."""
        todo = [node]
        while todo:
            found = todo.pop()
            yield found
            todo += reversed(list(children(found)))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The node's parent, its parent, and so on up to the module."""
        above = self._parents.get(node)
        while above is not None:
            yield above
            above = self._parents.get(above)

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands in the original text, parentheses around it left out.

        Raises ValueError if libcst does not write the text as it read it, so that no place can be trusted.
        """
        if self._spans is None:
            self._spans = self._locate()
        return self._spans[node]

    def _locate(self) -> dict[cst.CSTNode, Span]:
        state = _Recorder(self.module.default_indent, self.module.default_newline)
        self.module._codegen(state)
        if "".join(state.tokens) != self._text:
            raise ValueError("the parser does not reproduce this text exactly")
        if self._text == self._original:
            return state.spans
        ours = [0, *(newline.end() for newline in NEWLINE.finditer(self._text))]
        theirs = [0, *(newline.end() for newline in NEWLINE.finditer(self._original))]

        def moved(offset: int) -> int:
            line = bisect.bisect_right(ours, offset) - 1
            return theirs[line] + offset - ours[line]

        return {node: (moved(start), moved(end)) for node, (start, end) in state.spans.items()}


class _Recorder(CodegenState):
    """Notes where each node begins and ends while the code is written."""

    __slots__ = ("_starts", "length", "spans")

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.length = 0
        self.spans: dict[cst.CSTNode, Span] = {}
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
        self.spans.setdefault(node, (self._starts.pop(), self.length))

    @contextmanager
    def record_syntactic_position(self, node, *, start_node=None, end_node=None):  # type: ignore[override]
        start = self.length
        yield
        self.spans[node] = (
            self.spans[start_node][0] if start_node in self.spans else start,
            self.spans[end_node][1] if end_node in self.spans else self.length,
        )
