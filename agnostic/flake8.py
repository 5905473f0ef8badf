"""The findings as a flake8 plugin. It is off unless flake8 is told `enable-extensions = AGN`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from agnostic import __version__
from agnostic.check import check_text
from agnostic.options import settings_for


class Plugin:
    """What flake8 makes for each file."""

    name = "torch-agnostic"
    version = __version__
    off_by_default = True

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]) -> None:
        self._path = Path(filename)
        self._text = "".join(lines)

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        """Row from 1, column from 0, text."""
        settings = settings_for(self._path.absolute(), None, None)
        if not settings.excludes(self._path):
            for one in check_text(self._path, self._text, settings)[0]:
                yield one.start.row, one.start.column - 1, f"{one.code} {one.message}", Plugin
