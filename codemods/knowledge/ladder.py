"""Ladders over vendors in which every branch only names its own device, and the one question that replaces them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Span
from codemods.knowledge.spell import root

ASKS = re.compile(
    r"(?:hasattr\(torch(?:\.backends)?, [\"'](\w+)[\"']\) and )?torch\.(?:backends\.)?(\w+)\.is_available\(\)"
)


DEVICE = re.compile(
    r"[ \t]*(?P<use>return |[\w.]+ = )?(?P<device>(?P<object>torch\.device\()?[\"'](?P<vendor>\w+)(?::0)?[\"'](?(object)\)))"
)
"""What a branch does with its device."""
KINDS = "cuda|xpu|mps|npu|hpu|mlu|musa|mtia|xla|tpu|neuron|sdaa"
VENDOR = re.compile(rf"\b({KINDS})\b|\b(?:\w+_)?({KINDS})(?:_\w*)?_available\b")
"""A kind of device that a condition asks for: `torch.xpu`, `"mps"`, `is_npu_available`, `has_xpu_available`."""


def vendors(text: str) -> set[str]:
    """The kinds of device that a piece of code names."""
    return {one or other for one, other in VENDOR.findall(text)}


@dataclass(frozen=True)
class Rung:
    """One branch: `if torch.<vendor>.is_available():` and the device it names."""

    node: cst.If | cst.IfExp
    device: Span
    shape: tuple[str, bool]
    """What is done with the device, and whether it is a torch.device; rungs of one ladder must do the same."""


def collapse(file: File, node: cst.CSTNode) -> tuple[Edit, ...]:
    """The edits that leave one rung of a ladder, for any accelerator; none if the rungs do different things."""
    rungs: list[Rung] = []
    for branch in _chain(node):
        rung = _rung(file, branch)
        if rung is not None and (not rungs or rungs[-1].node.orelse is branch):
            rungs.append(rung)
        elif VENDOR.search(file.source(branch.test)):
            return ()
    if len(rungs) < 2 or len({rung.shape for rung in rungs}) != 1:
        return ()
    torch, imports = root(file, node)
    first, *others = rungs
    text = f"{torch}.accelerator.current_accelerator()" + ("" if first.shape[1] else ".type")
    test = file.replace(first.node.test, f"{torch}.accelerator.is_available()")
    edits = (*imports, test, Edit(*first.device, text))
    if isinstance(first.node, cst.If):
        return (*edits, *(_removal(file, other.node) for other in others if isinstance(other.node, cst.If)))
    behind = others[-1].node.orelse
    assert behind is not None
    start, end = file.span(first.node.orelse)[0], file.span(behind)[0]
    return () if first.node.orelse.lpar else (*edits, Edit(start, end, ""))


def _chain(node: cst.CSTNode) -> Iterator[cst.If | cst.IfExp]:
    while isinstance(node, (cst.If, cst.IfExp)):
        yield node
        if not isinstance(node.orelse, type(node)):
            return
        node = node.orelse


def _rung(file: File, branch: cst.If | cst.IfExp) -> Rung | None:
    """A branch as a rung. Its body is read as text, since a statement without CUDA in it is not parsed."""
    asked = ASKS.fullmatch(file.source(branch.test))
    if asked is None or asked[1] not in (None, asked[2]):
        return None
    if isinstance(branch, cst.IfExp):
        start, end = file.span(branch.body)
        found = DEVICE.fullmatch(file.text, start, end)
    else:
        if not isinstance(branch.body, cst.IndentedBlock) or len(branch.body.body) != 1:
            return None
        row = file.line(branch.body.body[0])
        if file.line_at(file.span(branch.body)[1] - 1) > row:
            return None
        line = file.text_of_line(row).rstrip()
        begin = file.lines[row - 1]
        found = DEVICE.fullmatch(file.text, begin, begin + len(line))
    if found is None or found["vendor"] != asked[2]:
        return None
    return Rung(branch, found.span("device"), (found["use"] or "", found["object"] is not None))


def _removal(file: File, branch: cst.If) -> Edit:
    """Take out the lines of an `elif`."""
    start = file.lines[file.line(branch) - 1]
    if branch.orelse is not None:
        return Edit(start, file.lines[file.line(branch.orelse) - 1], "")
    last = file.line_at(file.span(branch.body)[1] - 1)
    return Edit(start, file.lines[last] if last < len(file.lines) else len(file.text), "")
