"""Which files a run is about."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (".py", ".pyi")
SKIPPED = {
    ".git", ".hg", ".svn", ".venv", "venv", "env", "__pycache__", "node_modules", ".tox", ".nox",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".eggs", "build", "dist", "site-packages",
}  # fmt: skip
"""Folders never looked into unless named on the command line."""


def discover(folder: Path) -> list[Path]:
    """The Python files below a folder, sorted: in a git checkout those that git tracks or would track.

    Links are left out: what they lead to is looked at where it stands.
    """
    found = _from_git(folder)
    listed = _walk(folder) if found is None else found
    return sorted(file for file in listed if file.is_file() and not file.is_symlink())


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
    return [folder / name for name in names if name.endswith(SUFFIXES)] or None


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        yield from (Path(root, name) for name in files if name.endswith(SUFFIXES))
