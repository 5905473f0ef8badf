"""Expressions and statements that stay silent without an accelerator where the original was silent."""

from __future__ import annotations

import re

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.guard import has_accelerator
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import use

OPEN = (
    cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Arg, cst.Element, cst.DictElement, cst.Index,
    cst.FormattedStringExpression, cst.Expr, cst.Yield, cst.NamedExpr, cst.Param,
)  # fmt: skip
"""Parents in which a conditional expression needs no parentheses."""


def guarded(file: File, call: cst.Call, otherwise: str) -> tuple[tuple[Edit, ...], tuple[cst.CSTNode, ...]]:
    """(the edits that make a call happen only where there is an accelerator, the code that has to change with it).

    No edits where that is certain. A statement right behind another of this kind comes under its guard.
    """
    if has_accelerator(file, call) or re.search(rf"[\"']{re.escape(file.name(call.func) or '?')}[\"']", file.text):
        return (), ()  # there is one, or a test puts something else in the place of the function
    available, edits = spell(file, "torch.accelerator.is_available", call)
    if file.is_statement(call):
        statement = file.statement(call)
        first = statement
        while (before := _silent(file, first)) is not None:
            first = before
        if first is statement:
            return (*edits, *file.wrap(statement, f"if {available}():")), ()
        return file.wrap(statement, ""), (first,)
    bare = isinstance(file.parent(call), OPEN) or bool(getattr(call, "lpar", ()))
    opening, closing = ("", "") if bare else ("(", ")")
    start, end = file.span(call)
    before_call = (Edit(start, start, opening),) * bool(opening)
    return (*edits, *before_call, Edit(end, end, f" if {available}() else {otherwise}{closing}")), ()


def _silent(file: File, statement: cst.CSTNode) -> cst.CSTNode | None:
    """The statement right before another, if it gets a guard too."""
    block = file.parent(statement)
    if not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return None
    at = list(block.body).index(statement)  # type: ignore[arg-type]
    if not at or file.line(statement) != file.line_at(file.span(block.body[at - 1])[1]) + 1:
        return None
    match block.body[at - 1]:
        case (
            cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=cst.Attribute() | cst.Name() as func))]) as line
        ):
            entry = use(file, func)
            return line if entry is not None and (entry.cpu or entry.skip) else None
    return None
