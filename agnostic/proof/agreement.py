"""Set what a program was seen to touch of CUDA beside what the linter says about the same lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agnostic.check import Diagnostic, check_bytes
from agnostic.options import settings_for
from agnostic.output import shown
from agnostic.proof.program import Run

QUIET = ("AGN3", "AGN6", "AGN7", "AGN9", "AGN206", "AGN208", "AGN408", "AGN503")
"""Findings that no run can confirm: comparisons, switches, environment, tests, defaults and names in
strings.
"""

NAMING = ("AGN2", "AGN3", "AGN5")
"""Findings about a device or a backend that is named: what reaches for it may stand in another line."""


@dataclass(frozen=True, order=True)
class Touch:
    """The program's code in a line used something of CUDA."""

    file: str
    line: int
    end: int
    what: str
    fatal: bool = False
    elsewhere: bool = False
    """Whether what it used is named in another line."""

    def __str__(self) -> str:
        return f"{shown(Path(self.file))}:{self.line}: {self.what}{' (the program ended there)' * self.fatal}"


@dataclass(frozen=True)
class Agreement:
    """Touches at run time and findings of the linter, side by side."""

    found: tuple[tuple[Touch, tuple[str, ...]], ...]
    """Touches with the codes of the findings in their line; no codes means that the linter missed it."""
    unconfirmed: tuple[tuple[str, int, str], ...]
    """Findings (file, line, code) in lines that ran and touched nothing."""
    confirmed: int

    @property
    def touched(self) -> list[str]:
        """A line of text for each touch, with what the linter says about it."""
        return [
            f"{touch}  [{', '.join(codes) or f'MISSED by the linter: {should_have_seen(touch.what)} should report it'}]"
            for touch, codes in self.found
        ]

    @property
    def missed(self) -> list[Touch]:
        return [touch for touch, codes in self.found if not codes]

    @property
    def recall(self) -> float | None:
        """The share of the touched lines that the linter reports."""
        lines = {(touch.file, touch.line): bool(codes) for touch, codes in self.found}
        return sum(lines.values()) / len(lines) if lines else None

    @property
    def precision(self) -> float | None:
        """The share of the findings in lines that ran which touched CUDA; None where no lines were
        recorded.
        """
        total = self.confirmed + len(self.unconfirmed)
        return self.confirmed / total if total else None

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        touches = [{**vars(touch), "codes": list(codes)} for touch, codes in self.found]
        return {"touches": touches, "recall": self.recall, "precision": self.precision}

    def __str__(self) -> str:
        if not self.found:
            return "CUDA at run time: nothing reached for it."
        lines = self.touched
        share = f"recall {self.recall:.1%}"
        if self.precision is not None:
            share += f", precision {self.precision:.1%}"
        count = len({(touch.file, touch.line) for touch, _ in self.found})
        lines.append(f"CUDA at run time: {count} lines reached for it, {len(self.missed)} touches unreported; {share}.")
        lines += [f"{shown(Path(file))}:{line}: {code} touched nothing" for file, line, code in self.unconfirmed]
        return "\n".join(lines)


def should_have_seen(what: str) -> str:
    """The name of the rule that is there for a touch."""
    from codemods.knowledge.api import lookup

    if what == ".cuda()":
        return "cuda-method"
    if "nccl" in what.lower():
        return "nccl-backend"
    entry = lookup(what)
    if entry is not None:
        return entry.rule or ("cuda-only-api" if entry.keep else "renamed-api")
    return "cuda-only-api" if what.startswith("torch.cuda") else "device-string"


def _touches(runs: Sequence[Run]) -> list[Touch]:
    events = [event for run in runs for event in run.events if event["kind"] == "touch"]
    return sorted(
        {Touch(e["file"], e["line"], e["end"], e["what"], e["fatal"], e.get("elsewhere", False)) for e in events}
    )


def agreement(runs: Sequence[Run]) -> Agreement:
    """Check the files that ran and compare."""
    touches = _touches(runs)
    ran = {(event["file"], event["line"]) for run in runs for event in run.events if event["kind"] == "line"}
    touched = {(touch.file, line) for touch in touches for line in range(touch.line, touch.end + 1)}
    files = sorted({event["file"] for run in runs for event in run.events if "file" in event})
    findings = {file: findings_in(Path(file)) for file in files}

    def codes(touch: Touch) -> tuple[str, ...]:
        near = (one for one in findings[touch.file] if one.start.row <= touch.end and touch.line <= one.end.row)
        codes = tuple(dict.fromkeys(one.code for one in near))
        if codes or not touch.elsewhere:
            return codes
        named = [one for file in files for one in findings[file] if one.code.startswith(NAMING)]
        return tuple(f"{one.code} in {shown(one.path)}:{one.start.row}" for one in named[:2])

    unconfirmed, confirmed = set(), 0
    for file in files:
        for one in findings[file]:
            rows = {(file, row) for row in range(one.start.row, one.end.row + 1)}
            if one.code.startswith(QUIET) or not rows & ran:
                continue
            if rows & touched:
                confirmed += 1
            else:
                unconfirmed.add((file, one.start.row, one.code))
    found = tuple((touch, codes(touch)) for touch in touches)
    return Agreement(found, tuple(sorted(unconfirmed)), confirmed)


def findings_in(path: Path) -> list[Diagnostic]:
    """What the linter reports in a file."""
    settings = settings_for(path, None, None)
    return check_bytes(path, path.read_bytes(), settings)
