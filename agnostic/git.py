"""Git by plumbing, in a throw-away repository that borrows the objects of another.

What a repository says about itself is never obeyed: its configuration, hooks, attributes, filters and remotes
stay behind and only its objects are read. Two questions are asked in the place itself, with all that could
run a program closed: where the objects are, and what a revision or the index names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agnostic.config import ConfigError

CLOSED = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.pager=cat",
    "credential.helper=",
    "diff.external=",
    "protocol.allow=never",
]
"""Settings under which git runs nothing but itself; the environment below closes the rest."""

REGULAR, EXECUTABLE, LINK, SUBMODULE = "100644", "100755", "120000", "160000"


class GitError(ConfigError):
    """A repository cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Entry:
    """A line of a tree or an index: mode, object and the path, a string in the file system's encoding."""

    mode: str
    object: str
    path: str

    @property
    def is_file(self) -> bool:
        return self.mode in (REGULAR, EXECUTABLE)


def environment(**more: str) -> dict[str, str]:
    """The caller's environment without any variable of git's, and with all that would reach out closed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name != "PAGER"}
    return {
        **kept,
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C.UTF-8",
        **more,
    }


def ask(folder: Path, *arguments: str) -> bytes:
    """What git answers in a folder of a repository. Raises GitError with git's own words."""
    return _run(folder, arguments, environment())


def _run(folder: Path, arguments: Iterable[str], env: dict[str, str], given: bytes = b"") -> bytes:
    closed = [part for setting in CLOSED for part in ("-c", setting)]
    command = ["git", "--no-pager", *closed, *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=env, input=given, capture_output=True, check=True)
    except FileNotFoundError:
        raise GitError("git is not installed" if folder.is_dir() else f"no such folder: {folder}") from None
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise GitError(f"{folder}: {words or f'git {next(iter(arguments))} failed'}") from None
    return done.stdout


def top(folder: Path) -> Path:
    """The top folder of the checkout that a folder is in."""
    return Path(os.fsdecode(ask(folder, "rev-parse", "--show-toplevel")[:-1]))


def resolve(folder: Path, revision: str) -> str:
    """The commit that a revision names. Raises GitError if there is none."""
    try:
        found = ask(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError:
        ask(folder, "rev-parse", "--git-dir")  # if this is no repository, or one of another user, say that
        raise GitError(f"{folder}: no commit is called `{revision}` here; fetch it, or see `git log`") from None
    return found.decode().split()[-1]


def parse_entries(listing: bytes) -> list[Entry]:
    """The lines of `ls-tree -r -z` or `ls-files -s -z`."""
    found = []
    for line in listing.split(b"\0"):
        if line:
            head, path = line.split(b"\t", 1)
            words = head.decode().split()
            found.append(Entry(words[0], words[1] if len(words[1]) >= 40 else words[2], os.fsdecode(path)))
    return found


class Borrowed:
    """An empty bare repository in a temporary folder that sees the objects of another; a context manager.

    Without a repository to borrow from, one that stands for itself.
    """

    def __init__(self, lender: Path | None = None) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="torch-agnostic-"))
        self.folder = self._home / "git"
        try:
            self._set_up(lender)
        except BaseException:
            self.close()
            raise

    def _set_up(self, lender: Path | None) -> None:
        kind = "sha1"
        if lender is not None:
            kind = ask(lender, "rev-parse", "--show-object-format").decode().strip()
        _run(
            self._home,
            ("init", "--bare", "--quiet", "--template=", f"--object-format={kind}", "git"),
            self._environment(),
        )
        if lender is None:
            return
        objects, shallow = (
            (lender / os.fsdecode(ask(lender, "rev-parse", "--git-path", name)[:-1])).resolve()
            for name in ("objects", "shallow")
        )
        (self.folder / "objects/info").mkdir(exist_ok=True)
        (self.folder / "objects/info/alternates").write_bytes(quoted(os.fsencode(objects)) + b"\n")
        if shallow.is_file():
            shutil.copyfile(shallow, self.folder / "shallow")

    def _environment(self) -> dict[str, str]:
        return environment(
            GIT_CONFIG_NOSYSTEM="1",
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_ATTR_NOSYSTEM="1",
            GIT_CEILING_DIRECTORIES=str(self._home.parent),
        )

    def git(self, *arguments: str, given: bytes = b"", **more: str) -> bytes:
        """What git answers in this repository; `more` are variables of the environment."""
        return _run(self.folder, arguments, {**self._environment(), "GIT_DIR": str(self.folder), **more}, given)

    def entries(self, commit: str) -> list[Entry]:
        """Every file, link and submodule of a commit or tree."""
        return parse_entries(self.git("ls-tree", "-r", "-z", "--full-tree", commit))

    def blobs(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """The contents of files, without any filter. Raises GitError for an object that is not here."""
        entries = list(entries)
        answer = self.git("cat-file", "--batch", given="".join(f"{entry.object}\n" for entry in entries).encode())
        position = 0
        for entry in entries:
            end = answer.index(b"\n", position)
            header = answer[position:end].split()
            if header[1] != b"blob":
                raise GitError(
                    f"the contents of {entry.path!r} are not in this repository (a partial clone?); "
                    "fetch them with `git fetch --refetch`, or use a full clone"
                )
            size = int(header[2])
            yield entry, answer[end + 1 : end + 1 + size]
            position = end + 1 + size + 1

    def close(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Borrowed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def quoted(path: bytes) -> bytes:
    """A path as git reads it back in C style, so that none of its bytes means anything."""
    escaped = b"".join(bytes([byte]) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte for byte in path)
    return b'"' + escaped + b'"'
