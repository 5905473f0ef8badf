"""Which commit a fix belongs to: one for each rule, API, folder or owner."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from agnostic.config import ConfigError, glob
from agnostic.fix import Chooser
from agnostic.settle import Candidate, choose

Split = Literal["rule", "api", "folder", "owner"]
FOLDERS = 2
"""How deep the folders go by which a series is split."""


@dataclass(frozen=True, order=True)
class Unit:
    """What one commit is about; units are in the order of the series."""

    rank: int
    key: str
    """The code of a rule, `code name` of an API, a folder or owners."""


@dataclass(frozen=True)
class Splitter:
    """Sorts fixes into units."""

    by: Split
    order: tuple[str, ...]
    """Codes of rules in the order of the series; others come after, in their own order."""
    owners: str = ""
    """The text of a CODEOWNERS file."""

    def of_file(self, name: str) -> Unit | None:
        """The unit of a whole file; None if its fixes are told apart."""
        if self.by == "folder":
            parts = PurePosixPath(name).parts[:-1]
            return Unit(0, "/".join(parts[:FOLDERS]) or ".")
        if self.by == "owner":
            return Unit(0, " ".join(owners_of(name, self.owners)) or "nobody")
        return None

    def of_fix(self, fix: Candidate) -> Unit:
        """The unit of one fix by itself."""
        code, message, *_ = fix.key
        rank = self.order.index(code) if code in self.order else len(self.order)
        return Unit(rank, f"{code} {api(message)}".rstrip() if self.by == "api" else code)

    def units(self, candidates: Sequence[Candidate]) -> dict[int, Unit]:
        """The unit of each fix that may be applied, by number: the last of those that it goes together with.

        Fixes that depend on each other are one change to a reader too, so no commit has half of them.
        """
        fixes = [number for number, one in enumerate(candidates) if one.is_open]
        root = {number: number for number in fixes}

        def find(number: int) -> int:
            while root[number] != number:
                number = root[number]
            return number

        for number in fixes:
            for partner in candidates[number].partners:
                if partner in root:
                    root[find(partner)] = find(number)
        last: dict[int, Unit] = {}
        for number in fixes:
            if not (candidates[number].follows and candidates[number].partners):
                unit = self.of_fix(candidates[number])
                last[find(number)] = max(unit, last.get(find(number), unit))
        return {number: last[find(number)] for number in fixes}

    def up_to(self, unit: Unit) -> Chooser:
        """Chooses the fixes of a unit and of those before it."""

        def chooser(candidates: Sequence[Candidate]) -> list[set[int]]:
            for number, of_fix in self.units(candidates).items():
                if of_fix > unit:
                    candidates[number].stays = "it is in a later patch"
            return choose(candidates)

        return chooser

    def all(self, seen: set[Unit]) -> Chooser:
        """Chooses everything, and notes the units."""

        def chooser(candidates: Sequence[Candidate]) -> list[set[int]]:
            seen.update(self.units(candidates).values())
            return choose(candidates)

        return chooser


def api(message: str) -> str:
    """The API that a message is about: the first name in backticks, arguments left out; empty if it names none."""
    found = re.search(r"`([\w.]+)(?:\([^`]*)?`", message)
    return found[1] if found else ""


def owners_of(name: str, text: str) -> tuple[str, ...]:
    """The owners of a file by a CODEOWNERS text; the last pattern that fits decides."""
    owners: tuple[str, ...] = ()
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words and _owns(words[0], name):
            owners = tuple(words[1:])
    return owners


def _owns(pattern: str, name: str) -> bool:
    """Whether a pattern of CODEOWNERS fits a file: as in a .gitignore, from the top with an inner slash."""
    folder_only = pattern.endswith("/")
    stripped = pattern.strip("/")
    if "/" not in pattern.rstrip("/"):
        stripped = f"**/{stripped}"
    path = PurePosixPath(name)
    candidates = [parent.as_posix() for parent in path.parents if parent.name]
    if not folder_only:
        candidates.append(name)
    try:
        fits = glob(stripped)
    except ConfigError:  # a pattern that is none owns nothing, as on GitHub
        return False
    if stripped.endswith("/*"):  # `docs/*` owns the files in it, and not those further down
        return bool(fits.fullmatch(name))
    return any(fits.fullmatch(candidate) for candidate in candidates)
