"""Which files a run is about."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from agnostic.config import Settings

SUFFIXES = (".py", ".pyi")
SKIPPED = {
    ".git", ".hg", ".svn", ".venv", "venv", "env", "__pycache__", "node_modules", ".tox", ".nox",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".eggs", "build", "dist", "site-packages",
}  # fmt: skip
"""Folders never looked into unless named on the command line."""


def discover(path: Path, settings: Settings, force_exclude: bool = False) -> Iterator[Path]:
    """The Python files below a path, or the path itself; sorted.

    Inside a git checkout those that git tracks or would track; a file named explicitly is always meant,
    unless `force_exclude` says that the excludes count for it too.
    """
    if path.is_file():
        if not (force_exclude and settings.excludes(path)):
            yield path
        return
    found = _from_git(path)
    for file in sorted(_walk(path) if found is None else found):
        if file.suffix in SUFFIXES and not settings.excludes(file):
            yield file


def _from_git(folder: Path) -> list[Path] | None:
    """What git lists below a folder; None outside of a checkout. No hook, filter or monitor of it is run."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files"]
    try:
        done = subprocess.run(
            [*command, "-co", "--exclude-standard", "-z"],
            cwd=folder,
            capture_output=True,
            check=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    names = dict.fromkeys(os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
    files = [folder / name for name in names if name.endswith(SUFFIXES)]
    files = [file for file in files if file.is_file() and not file.is_symlink()]
    return files or None


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from (Path(root, name) for name in files if name.endswith(SUFFIXES))
