"""What cannot be parsed is refused here, before it can harm the process."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings

from agnostic.mask import Lines
from agnostic.tree import Unreadable

DEPTH = 150
"""How deep an expression may nest: libcst's parser dies of a stack overflow beyond a few thousand levels,
and takes seconds beyond a few hundred."""


def parse(text: str) -> ast.Module:
    """The syntax tree of a text, as Python reads it. Raises Unreadable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise Unreadable(f"Python cannot parse it: {error.msg} (line {error.lineno})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"Python cannot parse it: {error or 'too deeply nested'}") from None


def refuse_deep(lines: Lines, statements: list[ast.stmt]) -> None:
    """Raises Unreadable for what would overflow the stack of the parser, which no one could catch."""
    todo: list[tuple[ast.AST, int]] = [(statement, 0) for statement in statements]
    while todo:
        node, depth = todo.pop()
        match node:
            case ast.BoolOp(values=values):  # `a and b and c` is flat here, and nested in libcst
                depth += len(values)
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                depth += _parts(lines, node)
        if depth > DEPTH:
            raise Unreadable(f"line {getattr(node, 'lineno', '?')} is nested more than {DEPTH} levels deep")
        for child in ast.iter_child_nodes(node):
            # An `elif` is a statement in the `orelse` of another.
            if not isinstance(child, ast.stmt) or (isinstance(node, ast.If) and [child] == node.orelse):
                todo.append((child, depth + 1))


def _parts(lines: Lines, node: ast.Constant | ast.JoinedStr) -> int:
    """How many literals are joined to one by standing next to each other, as far as that matters."""
    first, last = node.lineno, node.end_lineno or node.lineno
    start, end = lines.start(first), lines.start(last + 1)
    if lines.text.count('"', start, end) + lines.text.count("'", start, end) < 2 * DEPTH:
        return 0
    *before, behind = (lines.text[lines.start(row) : lines.start(row + 1)] for row in range(first, last + 1))
    source = "".join(before) + behind.encode()[: node.end_col_offset].decode()
    source = source.encode()[node.col_offset :].decode()
    tokens = tokenize.generate_tokens(io.StringIO(f"({source})").readline)
    return sum(token.type == tokenize.STRING for token in tokens)
