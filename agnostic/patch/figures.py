"""The figures of a series: its size, the findings before and after, and why the rest was left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from agnostic.check import FAILED, REFUSED, UNREADABLE, Diagnostic
from agnostic.patch.base import Base
from agnostic.patch.series import Series
from agnostic.patch.write import numbers

REASONS = {
    "report": "no generic form, or a person must decide",
    "unsafe": "the fix may change something",
    "together": "goes together with what stays",
    "refused": "the result did not pass the gate",
    "unreadable": "the file could not be read",
}


@dataclass(frozen=True)
class Figures:
    """What can be counted about a series."""

    version: str
    commits: int
    files: int
    added: int
    removed: int
    before: int
    after: int
    left: dict[str, int]
    """By the keys of REASONS."""

    def drift(self, recorded: Figures) -> list[str]:
        """What is different from recorded figures, a line for each."""
        lines = []
        for item in fields(self):
            old, new = getattr(recorded, item.name), getattr(self, item.name)
            if old == new:
                continue
            if isinstance(new, dict):
                for reason in REASONS:
                    if old.get(reason, 0) != new.get(reason, 0):
                        lines.append(f"left, {REASONS[reason]}: {old.get(reason, 0)} -> {new.get(reason, 0)}")
            else:
                lines.append(f"{item.name}: {old} -> {new}")
        return lines

    def table(self) -> dict[str, Any]:
        return asdict(self)


def figures(base: Base, series: Series, version: str) -> Figures:
    """The figures of a series that is committed."""
    files, added, removed = numbers(base)
    left = Counter(reason_of(one) for one in series.left)
    return Figures(
        version=version,
        commits=len(series.commits),
        files=files,
        added=added,
        removed=removed,
        before=len(series.before),
        after=sum(one.code != REFUSED for one in series.left),
        left={reason: left[reason] for reason in REASONS if left[reason]},
    )


def reason_of(one: Diagnostic) -> str:
    """Why a finding was left: a key of REASONS."""
    match one:
        case Diagnostic(code=code) if code == REFUSED:
            return "refused"
        case Diagnostic(code=code) if code in (UNREADABLE, FAILED):
            return "unreadable"
        case Diagnostic(stays=stays) if stays.startswith("it goes together"):
            return "together"
        case Diagnostic(unsafe=unsafe, edits=edits) if unsafe and edits:
            return "unsafe"
    return "report"


def by_reason(left: Iterable[Diagnostic]) -> dict[tuple[str, str, str], list[Diagnostic]]:
    """What was left by rule and by words: why it is unsafe, what it waits for, or what there is to do."""
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for one in left:
        kind = reason_of(one)
        words = one.unsafe if kind == "unsafe" else REASONS[kind] if kind == "together" else one.message
        groups.setdefault((one.code, one.name, words), []).append(one)
    return groups
