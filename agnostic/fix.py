"""Fix one file: apply what may be applied until nothing changes, and let the result through the gate."""

from __future__ import annotations

import os
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agnostic.check import (
    REFUSED,
    UNREADABLE,
    Diagnostic,
    about,
    check_text,
    may_concern,
    read,
    unreadable,
)
from agnostic.config import Settings
from agnostic.gate import objection
from agnostic.rule import load
from agnostic.settle import Candidate, apply, choose, edits_of

ROUNDS = 12
"""More rounds than any file needs; one that is not stable by then is left as it was."""
RETRIES = 4
"""How often the groups that the gate refuses are left out before the file is."""

Chooser = Callable[[Sequence[Candidate]], list[set[int]]]
"""Picks groups of candidates, by their numbers."""
Refused = dict[tuple[str, ...], str]
"""The key of a candidate -> why its fix is not applied."""


@dataclass(frozen=True)
class Fixed:
    """What fixing a file gave: its bytes before and after, and what is still to be said about it."""

    path: Path
    before: bytes
    after: bytes
    fixed: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass
class Attempt:
    """A text after all rounds; `why` says what is wrong with it."""

    text: str
    first: list[Diagnostic]
    left: list[Diagnostic]
    fixed: list[Diagnostic] = field(default_factory=list)
    why: str = ""


def fix_bytes(path: Path, data: bytes, settings: Settings, unsafe: bool = False, choose: Chooser = choose) -> Fixed:
    """Fix a file's bytes; they come back untouched if the result would not pass the gate.

    `choose` picks the groups of each round from the candidates; another one can fix a part of the file.
    """
    if not may_concern(data):
        return Fixed(path, data, data, (), ())
    try:
        source = read(path, data)
    except (SyntaxError, ValueError, LookupError) as error:
        return Fixed(path, data, data, (), (unreadable(path, str(error)),))
    fixer = Fixer(path, settings, unsafe, choose)
    result = fixer.fix(source.text)
    try:
        after = source.encode(result.text)
    except UnicodeEncodeError as error:
        result.why = str(error)
    if result.why:
        left = (*result.first, about(REFUSED, path, f"left as it was: {result.why}"))
        return Fixed(path, data, data, (), left)
    return Fixed(path, data, after, tuple(result.fixed), tuple(result.left))


class Fixer:
    """Fixes the texts of one file, round by round."""

    def __init__(self, path: Path, settings: Settings, unsafe: bool, choose: Chooser = choose) -> None:
        self.path = path
        self.settings = settings
        self.unsafe = unsafe
        self._choose = choose

    def fix(self, text: str) -> Attempt:
        """All rounds, without the groups of fixes that would not pass the gate."""
        refused: Refused = {}
        for _ in range(RETRIES):
            result = self._rounds(text, refused)
            if not result.why:
                break
            guilty = self._guilty(text, refused)
            if not guilty:
                break
            refused |= guilty
        return result

    def _check(self, text: str, refused: Mapping) -> tuple[list[Diagnostic], list[Candidate]]:
        return check_text(self.path, text, self.settings, unsafe=self.unsafe, refused=refused)

    def _rounds(self, text: str, refused: Refused) -> Attempt:
        diagnostics, candidates = self._check(text, refused)
        result = Attempt(text, diagnostics, diagnostics)
        for _ in range(ROUNDS):
            chosen = self._choose(candidates)
            if not chosen:
                if result.text != text:
                    result.why = self._objection(text, result.text, result.first, diagnostics)
                return result
            members = set().union(*chosen)
            places = [candidates[member].place for member in sorted(members)]
            result.fixed += [diagnostics[place] for place in places if place is not None]
            result.text = apply(result.text, edits_of(candidates, members))
            diagnostics, candidates = self._check(result.text, refused)
            result.left = diagnostics
        result.why = "the fixes do not come to an end"
        return result

    def _guilty(self, text: str, refused: Refused) -> Refused:
        """Replay the rounds up to the first whose result does not pass, and try each of its groups alone."""
        before = text
        diagnostics, candidates = self._check(text, refused)
        for _ in range(ROUNDS):
            chosen = self._choose(candidates)
            after = apply(before, edits_of(candidates, set().union(*chosen)))
            new_diagnostics, new_candidates = self._check(after, refused)
            if self._objection(before, after, diagnostics, new_diagnostics):
                found: Refused = {}
                for members in chosen:
                    alone = apply(before, edits_of(candidates, members))
                    why = self._objection(before, alone, diagnostics, self._check(alone, refused)[0])
                    if why:
                        found |= {candidates[member].key: why for member in members}
                return found
            if not chosen:
                break
            before, diagnostics, candidates = after, new_diagnostics, new_candidates
        return {}

    def _objection(self, before: str, after: str, first: list[Diagnostic], then: list[Diagnostic]) -> str:
        """Why a text must not become another one; empty if it may."""
        if why := objection(before, after, load(), self.settings.torch):
            return why
        for one in then:
            if one.code == UNREADABLE:
                return f"the result {one.message}"
        new = Counter(one.code for one in then) - Counter(one.code for one in first)
        return f"the result would have new findings: {', '.join(sorted(new))}" if new else ""


def write(path: Path, data: bytes) -> None:
    """Replace a file in one step, keeping its mode; a link is followed, so that it stays a link."""
    target = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
