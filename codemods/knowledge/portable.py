"""Expressions and statements that stay silent without an accelerator where the original was silent."""

from __future__ import annotations

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.spell import spell

OPEN = (
    cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Arg, cst.Element, cst.DictElement, cst.Index,
    cst.FormattedStringExpression, cst.Expr, cst.Yield, cst.NamedExpr,
)  # fmt: skip
"""Parents in which a conditional expression needs no parentheses."""


def guarded(file: File, call: cst.CSTNode, otherwise: str) -> tuple[Edit, ...]:
    """The edits that make a call happen only where there is an accelerator; none where that is certain."""
    if has_accelerator(file, call):
        return ()
    available, edits = spell(file, "torch.accelerator.is_available", call)
    if file.is_statement(call):
        return (*edits, *file.wrap(file.statement(call), f"if {available}():"))
    bare = isinstance(file.parent(call), OPEN) or bool(getattr(call, "lpar", ()))
    opening, closing = ("", "") if bare else ("(", ")")
    start, end = file.span(call)
    before = (Edit(start, start, opening),) * bool(opening)
    return (*edits, *before, Edit(end, end, f" if {available}() else {otherwise}{closing}"))
