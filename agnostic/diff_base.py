"""Which lines were added since a commit, so that `check --diff-base` speaks of those only."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from agnostic.check import Diagnostic
from agnostic.git import Borrowed, Entry, GitError, resolve, top

HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class Added:
    """The files that differ from a base commit, and their added lines.

    The base is where the branch left the revision, as in a pull request. Files that are not in the base are
    taken for renamed ones where git says so, and for new ones otherwise.
    """

    def __init__(self, revision: str, files: Sequence[Path]) -> None:
        self._top = top(Path.cwd() if not files else files[0].absolute().parent)
        self._repository = Borrowed(self._top)
        try:
            self._base = self._fork_point(revision)
            self._entries = {entry.path: entry for entry in self._repository.entries(self._base)}
        except BaseException:
            self.close()
            raise
        self._names = {path: os.path.relpath(path.absolute(), self._top) for path in files}
        self.changed = [path for path in files if self._differs(path)]

    def _fork_point(self, revision: str) -> str:
        base = resolve(self._top, revision)
        try:
            return self._repository.git("merge-base", base, resolve(self._top, "HEAD")).decode().split()[0]
        except GitError:  # no common commit, or a shallow clone that does not reach it
            return base

    def _differs(self, path: Path) -> bool:
        entry = self._entries.get(self._names[path])
        if entry is None:
            return True
        data = path.read_bytes()
        digest = hashlib.sha1 if len(entry.object) == 40 else hashlib.sha256
        return digest(b"blob %d\0%s" % (len(data), data)).hexdigest() != entry.object

    def only(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """The findings that stand on added lines, at least in part."""
        rows = self._rows({one.path for one in diagnostics})
        return [
            one
            for one in diagnostics
            if any(row in added for added in rows[one.path] for row in range(one.start.row, one.end.row + 1))
        ]

    def _rows(self, paths: set[Path]) -> dict[Path, list[range]]:
        blobs = {
            path: self._repository.git("hash-object", "-w", "--no-filters", "--stdin", given=path.read_bytes())
            .decode()
            .strip()
            for path in sorted(paths)
        }
        renamed = self._renames(blobs) if any(self._names[path] not in self._entries for path in paths) else {}
        found = {}
        for path, blob in blobs.items():
            name = self._names[path]
            old = self._entries.get(renamed.get(name, name))
            found[path] = [range(1, 1 << 31)] if old is None else self._added(old, blob)
        return found

    def _added(self, old: Entry, blob: str) -> list[range]:
        diff = self._repository.git(
            "diff",
            "--unified=0",
            "--text",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-cr-at-eol",
            old.object,
            blob,
        )
        return [
            range(int(hunk[1]), int(hunk[1]) + int(hunk[2] if hunk[2] is not None else 1))
            for hunk in HUNK.finditer(diff)
        ]

    def _renames(self, blobs: dict[Path, str]) -> dict[str, str]:
        """The name in the base of each file that was renamed since."""
        lines = [
            f"0 {'0' * len(entry.object)}\t{entry.path}\0"
            for entry in self._entries.values()
            if entry.is_file and not os.path.lexists(self._top / entry.path)
        ]
        lines += [
            f"100644 {blob}\t{self._names[path]}\0"
            for path, blob in blobs.items()
            if not self._names[path].startswith("..")
        ]
        index = str(self._repository.folder / "index")
        self._repository.git("read-tree", self._base, GIT_INDEX_FILE=index)
        self._repository.git(
            "update-index", "-z", "--index-info", given=os.fsencode("".join(lines)), GIT_INDEX_FILE=index
        )
        tree = self._repository.git("write-tree", GIT_INDEX_FILE=index).decode().strip()
        listing = self._repository.git(
            "diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", f"{self._base}^{{tree}}", tree
        )
        words = [os.fsdecode(word) for word in listing.split(b"\0") if word]
        return {new: old for _, old, new in zip(words[::3], words[1::3], words[2::3], strict=True)}

    def close(self) -> None:
        self._repository.close()

    def __enter__(self) -> Added:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
