"""Which fixes may be applied: those that depend on each other together, or none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agnostic.rule import Edit, Span


@dataclass
class Candidate:
    """A finding as far as settling is concerned."""

    span: Span
    line: int
    edits: tuple[Edit, ...]
    unsafe: str
    together: tuple[Span, ...]
    blocks: bool
    code: str = ""
    message: str = ""
    stays: str = ""
    """Why it is not fixed; empty if it may be."""
    partners: set[int] = field(default_factory=set)


def settle(candidates: Sequence[Candidate]) -> None:
    """Fill in `stays`, `unsafe` and `partners` of each candidate from those it has to be fixed with."""
    for number, candidate in enumerate(candidates):
        candidate.partners = {
            other
            for other, found in enumerate(candidates)
            if other != number and any(start <= found.span[0] and found.span[1] <= end for start, end in candidate.together)
        }
        partners = [candidates[other] for other in candidate.partners]
        if candidate.edits and partners and not any(partner.edits or partner.blocks for partner in partners):
            candidate.stays = "what depends on it concerns nothing else"
    changed = True
    while changed:
        changed = False
        for candidate in candidates:
            for other in sorted(candidate.partners):
                partner = candidates[other]
                if candidate.edits and not candidate.stays and partner.blocks and (partner.stays or not partner.edits):
                    candidate.stays = f"it goes together with line {partner.line}, which stays"
                    changed = True
                if partner.unsafe and partner.edits and not candidate.unsafe:
                    candidate.unsafe = f"it goes together with line {partner.line}: {partner.unsafe}"
                    changed = True


def choose(candidates: Sequence[Candidate]) -> list[Edit]:
    """The edits of a largest first-come set of fixes that do not touch each other, partners together."""
    taken: set[Edit] = set()
    done: set[int] = set()
    for number, candidate in enumerate(candidates):
        if number in done or candidate.stays or not candidate.edits:
            continue
        group, todo = set(), [number]
        while todo:
            member = todo.pop()
            if member not in group and candidates[member].edits and not candidates[member].stays:
                group.add(member)
                todo += candidates[member].partners
        done |= group
        wanted = {edit for member in group for edit in candidates[member].edits}
        if not any(_touch(edit, other) for edit in wanted for other in (taken | wanted) if edit != other):
            taken |= wanted
    return sorted(taken)


def _touch(one: Edit, other: Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        return True
    return one.start < other.end and other.start < one.end or (one.start, one.end) == (other.start, other.end)


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits that do not touch each other applied."""
    pieces, position = [], 0
    for edit in sorted(edits):
        pieces += text[position : edit.start], edit.text
        position = edit.end
    return "".join([*pieces, text[position:]])
