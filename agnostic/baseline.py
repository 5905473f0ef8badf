"""The baseline: how many old findings each file may keep, by rule, so that only new ones fail.

Counts rather than lines, so that edits elsewhere in a file do not touch it; one count to a line and in order,
so that branches merge.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from agnostic.check import Diagnostic
from agnostic.config import ConfigError, Settings

NAME = "agnostic-baseline.json"
VERSION = 1

Counts = dict[str, dict[str, int]]
"""Findings by file, relative to the folder of the baseline, and by code."""


def name_of(path: Path, root: Path) -> str:
    """A file's name in the baseline."""
    return Path(os.path.relpath(path.absolute(), root.absolute())).as_posix()


def count(diagnostics: Iterable[Diagnostic], root: Path) -> Counts:
    """The findings of a run as counts."""
    found: Counts = {}
    for one in diagnostics:
        row = found.setdefault(name_of(one.path, root), {})
        row[one.code] = row.get(one.code, 0) + 1
    return found


def read(path: Path) -> Counts:
    """The counts in a baseline file. Raises ConfigError if it is none."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        version, counts = table["version"], table["counts"]
        wrong = [
            name
            for name, row in counts.items()
            if not all(isinstance(number, int) and number > 0 for number in row.values())
        ]
    except FileNotFoundError:
        raise ConfigError(f"there is no baseline {path}; write it with `torch-agnostic baseline`") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: not a baseline ({error}); write it anew with `torch-agnostic baseline`") from None
    if version != VERSION:
        raise ConfigError(f"{path}: baseline of version {version}; this torch-agnostic reads version {VERSION}")
    if wrong:
        raise ConfigError(f"{path}: the counts of {wrong[0]} are not whole numbers above zero")
    return counts


def write(path: Path, counts: Counts) -> None:
    """Write counts in a stable order; files and rules without findings are left out."""
    table = {
        name: {code: number for code, number in sorted(row.items()) if number > 0}
        for name, row in sorted(counts.items())
        if any(number > 0 for number in row.values())
    }
    path.write_text(json.dumps({"version": VERSION, "counts": table}, indent=1) + "\n", encoding="utf-8")


def total(counts: Counts) -> int:
    return sum(sum(row.values()) for row in counts.values())


@dataclass(frozen=True)
class Comparison:
    """A run beside its baseline."""

    above: list[Diagnostic]
    """The findings of each file and rule of which there are more than the baseline allows."""
    excess: int
    """How many of them are too many; counts do not tell which."""
    known: int
    """Findings that the baseline allows."""
    tightened: Counts
    """The baseline without what is gone: nothing is higher than before, moved files have their new name."""
    gone: int
    """Findings that the baseline allows and that are there no more."""


def compare(
    allowed: Counts,
    diagnostics: Sequence[Diagnostic],
    looked_at: Iterable[Path],
    root: Path,
    wanted: Callable[[Path, str], bool] = lambda path, code: True,
) -> Comparison:
    """Hold a run against a baseline.

    `looked_at` are the files of the run, and `wanted` says whether it looked for a code in a file: what was
    not looked for is not gone. A file that left the place where the baseline has it hands its counts on to
    the new file that is most like it.
    """
    found = count(diagnostics, root)
    here = {name_of(path, root): path for path in looked_at}
    gone = [name for name in allowed if name not in here and not (root / name).exists()]
    origin = _moved(allowed, found, gone)
    tightened: Counts = {}
    for name, row in allowed.items():
        if name in here:
            kept = found.get(name, {})
            tightened[name] = {
                code: min(number, kept.get(code, 0)) if wanted(here[name], code) else number
                for code, number in row.items()
            }
        elif name not in gone:
            tightened[name] = dict(row)
    for new, old in origin.items():
        tightened[new] = {code: min(number, found[new].get(code, 0)) for code, number in allowed[old].items()}
    excess = {
        (name, code): number - tightened.get(name, {}).get(code, 0)
        for name, row in found.items()
        for code, number in row.items()
        if number > tightened.get(name, {}).get(code, 0)
    }
    above = [one for one in diagnostics if (name_of(one.path, root), one.code) in excess]
    return Comparison(
        above=above,
        excess=sum(excess.values()),
        known=len(diagnostics) - sum(excess.values()),
        tightened=tightened,
        gone=total(allowed) - total(tightened),
    )


def _moved(allowed: Counts, found: Counts, gone: Sequence[str]) -> dict[str, str]:
    """For each file that is new to the baseline the one it was before, by name and by findings."""

    def likeness(new: str, old: str) -> tuple[int, bool, int]:
        shared = sum((Counter(found[new]) & Counter(allowed[old])).values())
        parts = zip(reversed(new.split("/")), reversed(old.split("/")), strict=False)
        tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))
        return tail, shared == sum(allowed[old].values()), shared

    pairs = [(likeness(new, old), new, old) for new in found if new not in allowed for old in gone]
    origin: dict[str, str] = {}
    for (_, _, shared), new, old in sorted(pairs, key=lambda pair: (*(-int(part) for part in pair[0]), pair[1:])):
        if shared and new not in origin and old not in origin.values():
            origin[new] = old
    return origin


def above(diagnostics: Sequence[Diagnostic], settings: Mapping[Path, Settings]) -> tuple[list[Diagnostic], str]:
    """The findings of a run that the baselines of its files do not allow, and what to tell the user."""
    kept: set[int] = set()
    notes = []
    for path, files in by_baseline(settings).items():
        here = set(files)
        of_files = [one for one in diagnostics if one.path in here]
        if path is None:
            kept.update(map(id, of_files))
            continue
        compared = compare(
            read(path), of_files, files, path.parent, lambda file, code: settings[file].looks_for(code, file)
        )
        kept.update(map(id, compared.above))
        notes.append(_note(path, compared))
    return [one for one in diagnostics if id(one) in kept], "".join(notes)


def _note(path: Path, compared: Comparison) -> str:
    text = f"{path.name}: {compared.known} old finding{'s' * (compared.known != 1)}"
    if compared.excess:
        text += f", {compared.excess} above it (all findings of the files and rules concerned are listed)"
    if compared.gone:
        text += f"; {compared.gone} gone since, it can be tightened: `torch-agnostic baseline --prune`"
    return text + ".\n"


def by_baseline(settings: Mapping[Path, Settings]) -> dict[Path | None, list[Path]]:
    """The files of a run by the baseline that counts for them, None without one."""
    groups: dict[Path | None, list[Path]] = {}
    for file, of_file in settings.items():
        path = of_file.root / of_file.baseline if of_file.baseline else None
        groups.setdefault(path, []).append(file)
    return groups
