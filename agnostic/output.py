"""How findings are written: for people here, for programs in `formats`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from agnostic import formats
from agnostic.check import Diagnostic, read
from agnostic.formats import shown

__all__ = ["FORMATS", "concise", "full", "shown"]


def concise(diagnostics: Sequence[Diagnostic]) -> str:
    """`path:line:col: CODE [safe] message`, one line each."""
    return "".join(f"{_line(one)}\n" for one in diagnostics)


def _line(one: Diagnostic) -> str:
    mark = f" [{one.applicability}]" if one.applicability else ""
    place = f"{shown(one.path)}:{one.start.row}:{one.start.column}"
    return f"{click.style(place, bold=True)}: {click.style(one.code, fg='red')}{mark} {one.message}"


def full(diagnostics: Sequence[Diagnostic]) -> str:
    """Each finding with its line of source, and why its fix is unsafe or stays."""
    pieces = []
    sources: dict[Path, list[str]] = {}
    for one in diagnostics:
        if one.path not in sources:
            sources[one.path] = _source_lines(one.path)
        pieces.append(_line(one) + "\n")
        lines = sources[one.path]
        if 0 < one.start.row <= len(lines):
            pieces.append(_excerpt(one, lines[one.start.row - 1]))
        if one.stays:
            pieces.append(f"   = left: {one.stays}\n")
        elif one.unsafe:
            pieces.append(f"   = unsafe: {one.unsafe}\n")
        pieces.append("\n")
    return "".join(pieces)


def _excerpt(one: Diagnostic, line: str) -> str:
    """The line of a finding with a mark below it."""
    end = one.end.column if one.end.row == one.start.row else len(line) + 1
    marks = click.style("^" * max(1, end - one.start.column), fg="red")
    indent = "".join("\t" if char == "\t" else " " for char in line[: one.start.column - 1])
    gutter = " " * len(str(one.start.row))
    return f" {one.start.row} | {line}\n {gutter} | {indent}{marks}\n"


def _source_lines(path: Path) -> list[str]:
    from agnostic.mask import NEWLINE

    try:
        return NEWLINE.split(read(path, path.read_bytes()).text)
    except (OSError, ValueError, SyntaxError, LookupError):
        return []


FORMATS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "full": full,
    "concise": concise,
    "json": formats.as_json,
    "sarif": formats.sarif,
    "github": formats.github,
    "gitlab": formats.gitlab,
    "junit": formats.junit,
    "lintrunner": formats.lintrunner,
}
