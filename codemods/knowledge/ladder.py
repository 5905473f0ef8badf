"""Ladders over vendors in which every branch only names its own device, and the one question that replaces them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.spell import root

ASKS = re.compile(
    r"(?:hasattr\(torch(?:\.backends)?, [\"'](\w+)[\"']\) and )?torch\.(?:backends\.)?(\w+)\.is_available\(\)"
)


@dataclass(frozen=True)
class Rung:
    """One branch: `if torch.<vendor>.is_available():` and the device it names."""

    node: cst.If | cst.IfExp
    device: cst.BaseExpression
    shape: str
    """The statement with the vendor left out; rungs of one ladder must have the same."""


def collapse(file: File, node: cst.CSTNode) -> tuple[Edit, ...]:
    """The edits that leave one rung of a ladder, for any accelerator; none if the rungs do different things."""
    rungs = []
    for branch in _chain(node):
        rung = _rung(file, branch)
        if rung is None:
            return ()
        rungs.append(rung)
    if len(rungs) < 2 or len({rung.shape for rung in rungs}) != 1:
        return ()
    torch, imports = root(file, node)
    first, *others = rungs
    text = f"{torch}.accelerator.current_accelerator()"
    if not isinstance(first.device, cst.Call):
        text += ".type"
    kept = (file.replace(first.node.test, f"{torch}.accelerator.is_available()"), file.replace(first.device, text))
    if isinstance(first.node, cst.IfExp):
        last = others[-1].node
        start, end = file.span(first.node.orelse)[0], file.span(last.orelse)[0] if last.orelse else None
        return (*imports, *kept, Edit(start, end, "")) if end is not None and not first.node.orelse.lpar else ()
    return (*imports, *kept, *(_removal(file, other.node) for other in others))


def _chain(node: cst.CSTNode) -> Iterator[cst.If | cst.IfExp]:
    while isinstance(node, (cst.If, cst.IfExp)):
        yield node
        if not isinstance(node.orelse, type(node)):
            return
        node = node.orelse


def _rung(file: File, branch: cst.If | cst.IfExp) -> Rung | None:
    asked = ASKS.fullmatch(file.source(branch.test))
    if asked is None or asked[1] not in (None, asked[2]):
        return None
    vendor = asked[2]
    if isinstance(branch, cst.IfExp):
        value: cst.BaseExpression | None = branch.body
        shape = ""
    else:
        match branch.body:
            case cst.IndentedBlock(
                body=[cst.SimpleStatementLine(body=[cst.Assign(value=found) | cst.Return(value=found) as statement])]
            ):
                value = found
                shape = file.source(statement)
            case _:
                return None
    if value is None or not _names(file, value, vendor):
        return None
    return Rung(branch, value, re.sub(rf"\b{vendor}(:0)?\b", "", shape) + type(value).__name__)


def _names(file: File, value: cst.BaseExpression, vendor: str) -> bool:
    """Whether an expression is the device of a vendor, without an index or with the first."""
    if isinstance(value, cst.Call) and file.name(value.func) == "torch.device" and len(value.args) == 1:
        value = value.args[0].value
    return file.string(value) in (vendor, f"{vendor}:0")


def _removal(file: File, branch: cst.If | cst.IfExp) -> Edit:
    """Take out the lines of an `elif`."""
    start = file.lines[file.line(branch) - 1]
    if branch.orelse is not None:
        return Edit(start, file.lines[file.line(branch.orelse) - 1], "")
    last = file.line_at(file.span(branch.body)[1] - 1)
    return Edit(start, file.lines[last] if last < len(file.lines) else len(file.text), "")
