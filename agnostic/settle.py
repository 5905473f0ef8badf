"""Which fixes may be applied: those that depend on each other together, or none of them."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agnostic.rule import Edit, Span


@dataclass
class Candidate:
    """A finding as far as settling is concerned."""

    span: Span
    line: int
    edits: tuple[Edit, ...]
    unsafe: str = ""
    together: tuple[Span, ...] = ()
    blocks: bool = True
    key: tuple[str, ...] = ()
    """What it is known by in another round, when it has moved."""
    place: int | None = None
    """Its place among the diagnostics; None for what is silenced."""
    alone: bool = False
    follows: bool = False
    """It needs a partner, nothing needs it, and it is worth no word where it cannot be fixed."""
    due: bool = False
    """It needs no partner, since what it follows was fixed before."""
    stays: str = ""
    """Why it is not fixed; empty if it may be."""
    partners: set[int] = field(default_factory=set)
    neighbours: set[int] = field(default_factory=set)
    """Those on the same line; each can be applied in a round of its own."""
    """The numbers of those it has to be fixed with."""

    @property
    def is_open(self) -> bool:
        """Whether there is something to apply."""
        return bool(self.edits) and not self.stays

    @property
    def is_moot(self) -> bool:
        """Whether it follows others and does not go ahead with them, so that it is worth no word."""
        return self.follows and not self.is_open


def settle(candidates: Sequence[Candidate]) -> None:
    """Fill in `partners`, `stays` and `unsafe` of candidates that are sorted by their place."""
    starts = [candidate.span[0] for candidate in candidates]
    for number, candidate in enumerate(candidates):
        for start, end in candidate.together:
            for other in range(bisect.bisect_left(starts, start), bisect.bisect_right(starts, end)):
                if other != number and candidates[other].span[1] <= end and _is_partner(candidate, candidates[other]):
                    candidate.partners.add(other)
        if candidate.follows and not (candidate.partners or candidate.due or candidate.stays):
            candidate.stays = "nothing next to it is fixed"
    by_line: dict[int, set[int]] = {}
    for number, candidate in enumerate(candidates):
        if candidate.blocks and not candidate.alone:
            by_line.setdefault(candidate.line, set()).add(number)
    for number, candidate in enumerate(candidates):
        candidate.neighbours = set() if candidate.alone else by_line.get(candidate.line, set()) - {number}
    _spread(candidates)
    while stuck := _stuck(candidates):
        for number in stuck:
            candidates[number].stays = "its edits and those it goes together with change the same text"
        _spread(candidates)


def _is_partner(candidate: Candidate, other: Candidate) -> bool:
    """Whether a candidate goes together with another in its stretch of text; one that follows does with every fix."""
    return not other.follows and (other.blocks or (candidate.follows and bool(other.edits)))


def _spread(candidates: Sequence[Candidate]) -> None:
    """A candidate stays with a partner that stays, and is as unsafe as its partners.

    So does one with another on its line: a line that is changed by half is worse than one that stays.
    """
    changed = True
    while changed:
        changed = False
        for candidate in candidates:
            for other in sorted(candidate.partners | candidate.neighbours) if candidate.is_open else ():
                partner = candidates[other]
                if not partner.is_open:
                    candidate.stays = f"it goes together with line {partner.line}, which stays"
                    changed = True
                    break
                if partner.unsafe and not candidate.unsafe:
                    candidate.unsafe = f"it goes together with line {partner.line}: {partner.unsafe}"
                    changed = True


def _stuck(candidates: Sequence[Candidate]) -> list[int]:
    """Candidates that can never be applied, because the edits of their group touch each other."""
    edits = sorted({edit for candidate in candidates if candidate.is_open for edit in candidate.edits})
    if is_sound(edits):
        return []
    groups: dict[int, set[int]] = {}
    for number, candidate in enumerate(candidates):
        if candidate.is_open and number not in groups:
            members = group(candidates, number)
            groups |= dict.fromkeys(_equals(candidates, number, members), members)
    sound = {number for number, members in groups.items() if is_sound(edits_of(candidates, members))}
    return [number for number, members in groups.items() if not members & sound]


def group(candidates: Sequence[Candidate], number: int) -> set[int]:
    """A candidate with all that have to be fixed together with it."""
    members: set[int] = set()
    todo = [number]
    while todo:
        member = todo.pop()
        if member not in members:
            members.add(member)
            todo += candidates[member].partners
    return members


def _equals(candidates: Sequence[Candidate], number: int, members: set[int]) -> set[int]:
    """Those of a candidate's group that have the same group, because they need it in turn."""
    return {member for member in members if member == number or number in candidates[member].partners}


def edits_of(candidates: Sequence[Candidate], members: Iterable[int]) -> list[Edit]:
    return sorted({edit for member in members for edit in candidates[member].edits})


def choose(candidates: Sequence[Candidate]) -> list[set[int]]:
    """Groups that can be applied at once, first come first served; what touches them waits."""
    chosen: list[set[int]] = []
    done: set[int] = set()
    taken: list[Edit] = []
    for number, candidate in enumerate(candidates):
        if number in done or not candidate.is_open:
            continue
        members = group(candidates, number)
        wanted = [edit for edit in edits_of(candidates, members) if not _holds(taken, edit)]
        if is_sound(wanted) and not any(_touches(taken, edit) for edit in wanted):
            chosen.append(members)
            done |= members
            for edit in wanted:
                bisect.insort(taken, edit)
        else:
            done |= _equals(candidates, number, members)
    return chosen


def is_sound(edits: Sequence[Edit]) -> bool:
    """Whether sorted edits of one group do not touch; lines at the same place follow each other."""
    reaching: Edit | None = None  # the one that ends last so far
    for edit in edits:
        if reaching is not None and touch(reaching, edit) and not (_is_line(reaching) and _is_line(edit)):
            return False
        if reaching is None or (edit.end, edit.start) >= (reaching.end, reaching.start):
            reaching = edit
    return True


def touch(one: Edit, other: Edit) -> bool:
    """Whether two edits change the same text, or put something at the same place."""
    if (one.start, one.end) == (other.start, other.end):
        return not (_is_entry(one) and _is_entry(other))
    return one.start < other.end and other.start < one.end


def _is_entry(edit: Edit) -> bool:
    """Whether an insertion is an entry of a list, so that another at the same place may follow it."""
    return edit.start == edit.end and (edit.text.startswith(",") or edit.text.rstrip().endswith(","))


def _is_import(edit: Edit) -> bool:
    return edit.text.startswith(("import ", "from "))


def _is_line(edit: Edit) -> bool:
    """Whether an insertion is a line of its own."""
    return edit.start == edit.end and edit.text.rstrip(" \t").endswith(("\n", "\r"))


def _holds(taken: list[Edit], edit: Edit) -> bool:
    at = bisect.bisect_left(taken, edit)
    return at < len(taken) and taken[at] == edit


def _touches(taken: list[Edit], edit: Edit) -> bool:
    """Whether an edit touches one of these, which are sorted and do not touch each other."""
    at = bisect.bisect_left(taken, edit)
    before, behind = at - 1, at
    while before >= 0 and taken[before].end >= edit.start:
        if touch(taken[before], edit):
            return True
        before -= 1
    while behind < len(taken) and taken[behind].start <= edit.end:
        if touch(taken[behind], edit):
            return True
        behind += 1
    return False


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with edits that do not touch each other applied; at the same place, imports come first."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end, not _is_import(edit), edit.text)):
        pieces += text[position : edit.start], edit.text
        position = edit.end
    return "".join([*pieces, text[position:]])
