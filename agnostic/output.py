"""How findings are written: text for people, JSON in ruff's shape for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from agnostic.check import Diagnostic, Place

URL = "https://github.com/torch-agnostic/torch-agnostic#"


def shown(path: Path) -> str:
    """The path as a person would type it."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)


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
            line = lines[one.start.row - 1].rstrip("\r\n")
            end = one.end.column if one.end.row == one.start.row else len(line) + 1
            width = max(1, end - one.start.column)
            indent = "".join("\t" if char == "\t" else " " for char in line[: one.start.column - 1])
            gutter = len(str(one.start.row))
            pieces.append(
                f" {one.start.row} | {line}\n {' ' * gutter} | {indent}{click.style('^' * width, fg='red')}\n"
            )
        if one.stays:
            pieces.append(f"   = left: {one.stays}\n")
        elif one.unsafe:
            pieces.append(f"   = unsafe: {one.unsafe}\n")
        pieces.append("\n")
    return "".join(pieces)


def _source_lines(path: Path) -> list[str]:
    from agnostic.check import read

    try:
        return read(path, path.read_bytes()).text.splitlines(keepends=True)
    except (OSError, ValueError, SyntaxError, LookupError):
        return []


def as_json(diagnostics: Sequence[Diagnostic]) -> str:
    """A list in ruff's shape, so that its readers work."""
    return json.dumps([_record(one) for one in diagnostics], indent=2, ensure_ascii=False) + "\n"


def _record(one: Diagnostic) -> dict[str, Any]:
    fix = None
    if one.applicability:
        fix = {
            "applicability": one.applicability,
            "message": one.message,
            "reason": one.unsafe or None,
            "edits": [
                {"content": edit.text, "location": _place(start), "end_location": _place(end)}
                for edit, start, end in one.edits
            ],
        }
    return {
        "code": one.code,
        "name": one.name,
        "filename": str(one.path.absolute()),
        "cell": None,
        "message": one.message + (f" (left: {one.stays})" if one.stays else ""),
        "url": f"{URL}{one.code.lower()}-{one.name}",
        "location": _place(one.start),
        "end_location": _place(one.end),
        "fix": fix,
    }


def _place(place: Place) -> dict[str, int]:
    return {"row": place.row, "column": place.column}


FORMATS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "full": full,
    "concise": concise,
    "json": as_json,
}
