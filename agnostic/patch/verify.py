"""Run a command of the user's in a checkout of each commit of a series."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from agnostic.config import ConfigError
from agnostic.patch.base import Base, leaves_tree
from agnostic.patch.write import BRANCH


def verify_each(base: Base, command: str) -> None:
    """Raise ConfigError for the first commit in whose checkout the command fails."""
    commits = base.repository.git("rev-list", "--reverse", f"refs/heads/base..{BRANCH}").decode().split()
    for commit in commits:
        with tempfile.TemporaryDirectory(prefix="torch-agnostic-") as folder:
            check_out(base, commit, Path(folder))
            done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                subject = base.repository.git("log", "-1", "--format=%s", commit).decode("utf-8", "replace")
                last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
                raise ConfigError(f"`{command}` failed after the commit {subject.strip()!r}:\n{last}")


def check_out(base: Base, commit: str, folder: Path) -> None:
    """Write the files of a commit to an empty folder; git refuses what would leave it."""
    index = str(base.repository.folder / "checkout-index")
    lines = [
        f"{entry.mode} {entry.object}\t{entry.path}\0"
        for entry in base.repository.entries(commit)
        if not leaves_tree(entry.path)
    ]
    Path(index).unlink(missing_ok=True)
    given = os.fsencode("".join(lines))
    base.repository.git("update-index", "-z", "--index-info", given=given, GIT_INDEX_FILE=index)
    base.repository.git(f"--work-tree={folder}", "checkout-index", "--all", GIT_INDEX_FILE=index)
