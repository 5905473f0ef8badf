"""The steps of a series: for each commit the new contents of its files, each of which passed the gate."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agnostic.check import FAILED, REFUSED, Diagnostic, about, check_bytes, may_concern
from agnostic.config import Settings
from agnostic.fix import Fixed, fix_bytes
from agnostic.patch.base import Base
from agnostic.patch.split import Splitter, Unit
from agnostic.pool import each


@dataclass(frozen=True)
class Step:
    """A file as a commit leaves it, and the findings that the commit fixed in it."""

    unit: Unit
    data: bytes
    fixed: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Steps:
    """A file's way through the series."""

    name: str
    before: tuple[Diagnostic, ...]
    steps: tuple[Step, ...]
    left: tuple[Diagnostic, ...]


@dataclass
class Commit:
    """One logical change."""

    unit: Unit
    files: dict[str, bytes] = field(default_factory=dict)
    fixed: list[Diagnostic] = field(default_factory=list)


@dataclass(frozen=True)
class Series:
    """All commits in order, and what is to be said about the whole."""

    commits: list[Commit]
    before: list[Diagnostic]
    left: list[Diagnostic]


def steps_of(settings: Settings, unsafe: bool, splitter: Splitter, path: Path) -> Steps:
    """The way of one file: a step for each unit that changes it; the last is what `fix` makes of it."""
    name, data = os.path.relpath(path, settings.root), path.read_bytes()
    units: set[Unit] = set()
    whole = fix_bytes(path, data, settings, unsafe, splitter.all(units))
    if not whole.changed:
        return Steps(name, tuple(one for one in whole.left if one.code != REFUSED), (), whole.left)
    before = tuple(check_bytes(path, data, settings))
    if (of_file := splitter.of_file(name)) is not None:
        return Steps(name, before, (Step(of_file, whole.after, whole.fixed),), whole.left)
    results: list[tuple[Unit, Fixed]] = []
    for unit in sorted(units)[:-1]:
        # A part that does not pass the gate on its own comes with the next one.
        part = fix_bytes(path, data, settings, unsafe, splitter.up_to(unit))
        if part.changed:
            results.append((unit, part))
    results.append((max(units), whole))
    steps = []
    done = Counter[tuple[str, str]]()
    for unit, result in results:
        if result.after != data:
            kinds = Counter((one.code, one.message) for one in result.fixed)
            steps.append(Step(unit, result.after, tuple(_take(result.fixed, kinds - done))))
            data, done = result.after, kinds
    return Steps(name, before, tuple(steps), whole.left)


def _take(fixed: Sequence[Diagnostic], wanted: Counter[tuple[str, str]]) -> list[Diagnostic]:
    """As many findings of each kind as are wanted, the later ones first, in order."""
    taken = []
    for one in reversed(fixed):
        if wanted[one.code, one.message] > 0:
            wanted[one.code, one.message] -= 1
            taken.append(one)
    return taken[::-1]


def make(base: Base, settings: Settings, unsafe: bool, splitter: Splitter, jobs: int | None = None) -> Series:
    """The series for a base. Commits without a file are left out."""
    paths = [base.folder / name for name in base.entries]
    concerned = [path for path in paths if not settings.excludes(path) and may_concern(path.read_bytes())]
    found = each(partial(steps_of, settings, unsafe, splitter), concerned, partial(_failed, settings), jobs)
    commits: dict[Unit, Commit] = {}
    before: list[Diagnostic] = []
    left: list[Diagnostic] = []
    for file in found:
        before += file.before
        left += file.left
        for step in file.steps:
            commit = commits.setdefault(step.unit, Commit(step.unit))
            commit.files[file.name] = step.data
            commit.fixed += step.fixed
    return Series([commits[unit] for unit in sorted(commits)], before, left)


def _failed(settings: Settings, path: Path, why: str) -> Steps:
    left = (about(FAILED, path, f"was not fixed: {why}"),)
    return Steps(os.path.relpath(path, settings.root), left, (), left)
