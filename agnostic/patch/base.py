"""What a series starts from: the commit of a checkout, or a plain folder made into one."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agnostic.discover import SKIPPED, SUFFIXES
from agnostic.git import LINK, SUBMODULE, Borrowed, Entry, GitError, ask, parse_entries, quoted, resolve, top

SETTINGS = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "requirements/common.txt",
)
"""Files in the top folder from which a run reads what is wanted."""
OWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
EPOCH = 1_000_000_000
"""The date of a base that is no commit: any will do, if it is always the same."""


@dataclass
class Base:
    """The tree on which a series builds; close it when done."""

    repository: Borrowed
    """Holds the objects; its branch `base` is a commit of the tree without parents."""
    folder: Path
    """Has the files of SETTINGS and the usable Python files at their places, and nothing else."""
    entries: dict[str, Entry]
    """The Python files by name, in order."""
    revision: str = ""
    """The commit of the checkout, if the base is one."""
    date: int = EPOCH
    skipped: dict[str, str] = field(default_factory=dict)
    """Python files that the series cannot touch, and why."""
    owners: str = ""
    """The text of the CODEOWNERS file."""

    def close(self) -> None:
        self.repository.close()

    def __enter__(self) -> Base:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def from_checkout(checkout: Path, revision: str = "HEAD", dirty: bool = False) -> Base:
    """The base at a commit of a git repository, of which only objects are read.

    Raises GitError for a checkout with uncommitted changes to Python files or settings, unless `dirty` says
    that they are left out knowingly.
    """
    commit = resolve(checkout, revision)
    in_work_tree = ask(checkout, "rev-parse", "--is-inside-work-tree").strip() == b"true"
    repository = Borrowed(checkout)
    try:
        if not dirty and revision == "HEAD" and in_work_tree:
            _refuse_dirty(top(checkout), repository.entries(commit))
        return _base(repository, commit, commit)
    except BaseException:
        repository.close()
        raise


def from_folder(source: Path, packages: Iterable[str] = ()) -> Base:
    """The base that holds the Python files and settings of a plain folder, or of some packages in it."""
    repository = Borrowed()
    try:
        names = sorted(_python_files(source, list(packages)))
        names += [name for name in SETTINGS if (source / name).is_file() and name not in names]
        stream = [b"commit refs/heads/folder\ncommitter base <base> %d +0000\ndata 0\n" % EPOCH]
        for name in names:
            data = (source / name).read_bytes()
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (quoted(os.fsencode(name)), len(data), data))
        repository.git("fast-import", "--quiet", given=b"".join(stream))
        return _base(repository, repository.git("rev-parse", "refs/heads/folder").decode().strip(), "")
    except BaseException:
        repository.close()
        raise


def _python_files(source: Path, packages: list[str]) -> Iterator[str]:
    for package in packages or ["."]:
        if not (source / package).is_dir():
            raise GitError(f"{source}: there is no folder `{package}` in it")
        for root, folders, files in os.walk(source / package):
            folders[:] = [name for name in folders if name not in SKIPPED]
            for name in files:
                path = Path(root, name)
                if name.endswith(SUFFIXES) and not path.is_symlink():
                    yield os.path.relpath(path, source)


def _base(repository: Borrowed, commit: str, revision: str) -> Base:
    header = repository.git("cat-file", "commit", commit)
    committer = re.search(rb"^committer .*> (\d+)", header, re.MULTILINE)
    folder = repository.folder.parent / "base"
    folder.mkdir()
    base = Base(repository, folder, {}, revision, int(committer[1]) if committer else EPOCH)
    everything = repository.entries(commit)
    base.entries, base.skipped = _usable(everything)
    wanted = dict.fromkeys((*SETTINGS, *OWNERS))
    found = {
        entry.path: data
        for entry, data in repository.blobs(
            {entry.path: entry for entry in everything if entry.is_file and entry.path in wanted}.values()
        )
    }
    for name in SETTINGS:
        if name in found:
            _put(folder / name, found[name])
    for entry, data in repository.blobs(base.entries.values()):
        try:
            _put(folder / entry.path, data)
        except OSError as error:
            base.skipped[entry.path] = f"it cannot be written here: {error.strerror}"
            del base.entries[entry.path]
    base.owners = next((found[name].decode("utf-8", "replace") for name in OWNERS if name in found), "")
    stamp = f"{base.date} +0000"
    root = repository.git(
        "commit-tree",
        f"{commit}^{{tree}}",
        "-m",
        "base",
        GIT_AUTHOR_NAME="base",
        GIT_AUTHOR_EMAIL="base",
        GIT_AUTHOR_DATE=stamp,
        GIT_COMMITTER_NAME="base",
        GIT_COMMITTER_EMAIL="base",
        GIT_COMMITTER_DATE=stamp,
    )
    repository.git("update-ref", "refs/heads/base", root.decode().strip())
    return base


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _usable(everything: list[Entry]) -> tuple[dict[str, Entry], dict[str, str]]:
    """The Python files that can be changed, and why others cannot."""
    usable: dict[str, Entry] = {}
    skipped: dict[str, str] = {}
    no_folders = {entry.path for entry in everything}
    for entry in everything:
        if not entry.path.endswith(SUFFIXES):
            continue
        parts = entry.path.split("/")
        above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        if leaves_tree(entry.path):
            skipped[entry.path] = "its path leaves the tree"
        elif entry.path in usable or above & no_folders:
            skipped[entry.path] = "the tree has two things at this place"
        elif entry.mode == LINK:
            skipped[entry.path] = "a symbolic link; what it points to is changed where it is"
        elif entry.mode == SUBMODULE:
            skipped[entry.path] = "a submodule; it has a repository of its own"
        elif entry.is_file:
            usable[entry.path] = entry
        else:
            skipped[entry.path] = f"its mode {entry.mode} is none of a file"
    return dict(sorted(usable.items())), dict(sorted(skipped.items()))


def leaves_tree(name: str) -> bool:
    """Whether a path of a tree, as it may be planted, is none to write to."""
    return any(part in ("", ".", "..") or part.lower() == ".git" for part in name.split("/"))


def _refuse_dirty(checkout: Path, committed: list[Entry]) -> None:
    """Compare commit, index and files by their contents, as asking for the status would run filters."""
    index = parse_entries(ask(checkout, "ls-files", "-s", "-z"))
    sparse = {os.fsdecode(line[2:]) for line in ask(checkout, "ls-files", "-t", "-z").split(b"\0") if line[:1] == b"S"}
    dirty = {entry.path for entry in {*index} ^ {*committed} if _matters(entry.path)}
    dirty |= {
        entry.path
        for entry in index
        if entry.is_file and _matters(entry.path) and entry.path not in sparse and _edited(checkout, entry)
    }
    if dirty:
        some = ", ".join(repr(name) for name in sorted(dirty)[:3])
        raise GitError(
            f"{checkout}: uncommitted changes in {some}{' and others' * (len(dirty) > 3)}; the series would "
            "be without them: commit them, or leave them out with `--allow-dirty`"
        )


def _matters(name: str) -> bool:
    return name.endswith(SUFFIXES) or name in SETTINGS


def _edited(checkout: Path, entry: Entry) -> bool:
    path = checkout / entry.path
    try:
        if any(one.is_symlink() for one in (path, *path.parents) if one != checkout and one.is_relative_to(checkout)):
            return True
        data = path.read_bytes()
    except OSError:
        return True
    digest = hashlib.sha1 if len(entry.object) == 40 else hashlib.sha256
    return all(
        digest(b"blob %d\0%s" % (len(text), text)).hexdigest() != entry.object
        for text in (data, data.replace(b"\r\n", b"\n"))
    )
