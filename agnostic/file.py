"""One parsed file: its text, its names, and the edits a rule may make."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import libcst as cst

from agnostic.config import DEFAULT_TARGET_TORCH, Settings, version
from agnostic.mask import NEWLINE, Lines, mask, triggers
from agnostic.names import Binding, Names, dotted
from agnostic.parse import parse, refuse_deep
from agnostic.rule import Edit, Ruleset, Span
from agnostic.tree import Tree, Unreadable


class File:
    """What a rule may ask about a source file, and the edits it may make.

    `text` is the decoded file; every place is an offset into it, in characters.

    Raises Unreadable if Python could not read the text either.
    """

    def __init__(self, text: str, path: Path, ruleset: Ruleset, settings: Settings, whole: bool = False) -> None:
        self.text = text
        self.path = path
        self.settings = settings
        self.ruleset = ruleset
        self.ast = parse(text)
        self._lines = lines = Lines(text)
        self.lines = lines.starts
        """The offset at which each line begins."""
        rows = triggers(lines, ruleset.tokens, ruleset.packages, ruleset.evidence)
        masked, kept = mask(lines, self.ast, rows)
        refuse_deep(lines, self.ast.body if whole else kept)
        try:
            self.tree = Tree(text if whole else masked, self.lines)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise Unreadable(f"libcst cannot parse it: {str(error).splitlines()[0]}") from None
        self.names = Names(self.tree)
        self.facts: dict[str, Any] = {}
        """What rules have worked out about the whole file, by a name of their own."""
        self.consulted: set[Path] = set()
        """Other files that rules have asked for, whether they exist or not."""
        self._strings: dict[int, str | None] = {}
        self._claimed: set[int] = set()

    @property
    def module(self) -> cst.Module:
        return self.tree.module

    @cached_property
    def profile(self) -> Any:
        """The house style of the project that the file belongs to, as the rules' package knows it."""
        return self.ruleset.profile(self)

    @cached_property
    def torch(self) -> tuple[int, ...]:
        """The oldest torch that the file has to run with; where nothing states it, what the house style knows."""
        return version(self.settings.stated_torch or self.profile.oldest_torch or DEFAULT_TARGET_TORCH)

    @cached_property
    def syntax(self) -> list[ast.AST]:
        """Every node of `ast`, from the outside to the inside."""
        return list(ast.walk(self.ast))

    @cached_property
    def newline(self) -> str:
        """The file's own line end."""
        found = NEWLINE.search(self.text)
        return found[0] if found else "\n"

    # ---- names and places --------------------------------------------------------------------------------

    def name(self, node: cst.CSTNode) -> str | None:
        """The dotted name an expression has through its imports: `t.cuda.x` is torch.cuda.x."""
        return self.names.origin(node)

    def string(self, node: cst.CSTNode) -> str | None:
        """The value of a string literal; None for any other node, and for bytes."""
        if not isinstance(node, cst.SimpleString):
            return None
        if id(node) not in self._strings:
            value = node.evaluated_value
            self._strings[id(node)] = value if isinstance(value, str) else None
        return self._strings[id(node)]

    def other(self, path: Path) -> str | None:
        """The text of another file of the project; None if there is none to read."""
        self.consulted.add(path)
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def bindings(self, name: cst.Name) -> list[Binding]:
        return self.names.bindings(name)

    def span(self, node: cst.CSTNode) -> Span:
        return self.tree.span(node)

    def source(self, node: cst.CSTNode) -> str:
        """The text of a node; a dotted name in one piece, however it is broken into lines."""
        if name := dotted(node):
            return name  # without finding out where all nodes are
        start, end = self.span(node)
        return self.text[start:end]

    def line(self, node: cst.CSTNode) -> int:
        """The line on which a node begins, from 1."""
        return self.line_at(self.span(node)[0])

    def line_at(self, offset: int) -> int:
        return bisect.bisect_right(self.lines, offset)

    def text_of_line(self, row: int) -> str:
        """A line of the text, from 1."""
        return self._lines.line(row)

    def offset(self, row: int, column: int) -> int:
        """The offset of a place in `ast`, whose columns count bytes."""
        return self.lines[row - 1] + len(self.text_of_line(row).encode()[:column].decode())

    def location(self, offset: int) -> tuple[int, int]:
        """Row and column of an offset, both from 1."""
        row = self.line_at(offset)
        return row, offset - self.lines[row - 1] + 1

    # ---- the neighbourhood of a node ---------------------------------------------------------------------

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self.tree.parent(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        return self.tree.ancestors(node)

    def below(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        return self.tree.below(node)

    def inside(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        """Whether a node is `outer` or stands in it."""
        return node is outer or any(above is outer for above in self.ancestors(node))

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The whole line or compound statement that a node belongs to."""
        for above in (node, *self.ancestors(node)):
            if isinstance(above, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return above
        return self.module

    def suite(self, block: cst.CSTNode) -> list[ast.stmt]:
        """The statements of an indented block as they are in the file; the tree may hold them blanked out."""
        if "suites" not in self.facts:
            suites = (
                body
                for node in self.syntax
                for name in ("body", "orelse", "finalbody")
                if isinstance(body := getattr(node, name, None), list) and body and isinstance(body[0], ast.stmt)
            )
            self.facts["suites"] = {(body[0].lineno, body[0].col_offset): body for body in suites}
        first = block.body[0] if isinstance(block, cst.IndentedBlock) else block
        row, column = self.location(self.span(first)[0])
        return self.facts["suites"].get((row, column - 1), [])

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function in whose body a node stands."""
        below = node
        for above in self.ancestors(node):
            if isinstance(above, cst.FunctionDef) and below is above.body:
                return above
            below = above
        return None

    def is_statement(self, node: cst.CSTNode) -> bool:
        """Whether an expression is all there is of its line, so that a compound statement may replace it."""
        expression = self.parent(node)
        line = self.parent(expression) if expression is not None else None
        return isinstance(expression, cst.Expr) and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1

    # ---- claims ------------------------------------------------------------------------------------------

    def claim(self, *nodes: cst.CSTNode) -> None:
        """Keep what is inside these nodes from the rules: it is part of a finding already made."""
        self._claimed.update(id(below) for node in nodes for below in self.below(node))

    def is_claimed(self, node: cst.CSTNode) -> bool:
        return id(node) in self._claimed

    # ---- edits -------------------------------------------------------------------------------------------

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        return Edit(*self.span(node), text)

    def insert_before(self, node: cst.CSTNode, text: str) -> Edit:
        start, _ = self.span(node)
        return Edit(start, start, text)

    def insert_after(self, node: cst.CSTNode, text: str) -> Edit:
        _, end = self.span(node)
        return Edit(end, end, text)

    def insert_argument(self, call: cst.Call, text: str) -> Edit:
        """Put an argument in front of all others."""
        at = self.text.index("(", self._end(call.func)) + 1
        return Edit(at, at, f"{text}, " if call.args else text)

    def append_argument(self, call: cst.Call, text: str) -> Edit:
        """Put an argument behind all others."""
        if not call.args:
            return self.insert_argument(call, text)
        end = self._end(call.args[-1].value)
        return Edit(end, end, f", {text}")

    def delete_argument(self, call: cst.Call, argument: cst.Arg) -> Edit:
        """Take an argument out together with the comma that then is one too many."""
        at = call.args.index(argument)
        start, end = self.span(argument)
        if at + 1 < len(call.args):
            end = self.span(call.args[at + 1])[0]
        elif at:
            start = self._end(call.args[at - 1].value)
            end = self._end(argument.value)
        else:
            end = self._end(argument.value)
            comma = re.compile(r"\s*,").match(self.text, end)
            end = comma.end() if comma else end
        return Edit(start, end, "")

    def name_keyword(self, argument: cst.Arg, keyword: str) -> Edit:
        """Turn a positional argument into a keyword argument."""
        start = self.span(argument)[0]
        return Edit(start, start, f"{keyword}=")

    def _end(self, node: cst.CSTNode) -> int:
        """Where an expression ends, parentheses around it included."""
        end = self.span(node)[1]
        for _ in getattr(node, "rpar", ()):
            end = self.text.index(")", end) + 1
        return end

    def indent(self, statement: cst.CSTNode) -> str:
        """The white space in front of a statement."""
        start = self.span(statement)[0]
        return self.text[self.lines[self.line_at(start) - 1] : start]

    def wrap(self, statement: cst.CSTNode, header: str) -> tuple[Edit, ...]:
        """Put a simple statement under a header such as `if x:`, all of its lines indented one step more.

        An empty header only indents it, under the one that the statement before gets.
        """
        start, end = self.span(statement)
        step = self.module.default_indent
        first = self.line_at(start)
        above = f"{header}{self.newline}{self.indent(statement)}" if header else ""
        edits = [Edit(start, start, above + step)]
        inside = [self.span(node) for node in self.below(statement) if isinstance(node, STRINGS)]
        for row in range(first, self.line_at(end - 1)):
            at = self.lines[row]
            if not any(a < at <= b for a, b in inside) and not NEWLINE.match(self.text, at):
                edits.append(Edit(at, at, step))
        return tuple(edits)

    def delete_statement(self, statement: cst.CSTNode) -> Edit:
        """Take out the lines of a statement that stands alone on them."""
        start, end = self.span(statement)
        first, last = self.line_at(start), self.line_at(end)
        after = self.lines[last] if last < len(self.lines) else len(self.text)
        return Edit(self.lines[first - 1], after, "")


STRINGS = (cst.SimpleString, cst.FormattedString)
