"""Commits and mail files of a series, made in the borrowed repository and written to a folder."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agnostic.config import ConfigError
from agnostic.git import quoted
from agnostic.patch.base import Base
from agnostic.patch.series import Commit, Series

COVER = "cover-letter.md"
BRANCH = "refs/heads/series"
PLAIN_DIFF = ("--text", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--full-index")


@dataclass(frozen=True)
class Person:
    """Who the commits are by. Raises ConfigError for a name or address that git cannot hold."""

    name: str
    mail: str

    def __post_init__(self) -> None:
        for part in (self.name, self.mail):
            if not part.strip() or re.search(r"[<>\x00-\x1f]", part):
                raise ConfigError(f"`{self}` is no author; write `--author 'A Name <mail@example.org>'`")

    def __str__(self) -> str:
        return f"{self.name} <{self.mail}>"


def commit_all(base: Base, series: Series, author: Person, message: Callable[[Commit], str]) -> None:
    """Put the series on the branch of the borrowed repository, by one stream and without a work tree.

    All dates are that of the base, so that the same input gives the same bytes.
    """
    base.repository.git("update-ref", BRANCH, "refs/heads/base")
    start = base.repository.git("rev-parse", "refs/heads/base").strip()
    stamp = b"%s %d +0000" % (str(author).encode(), base.date)
    stream = []
    for mark, commit in enumerate(series.commits, 1):
        text = message(commit).encode()
        stream.append(b"commit %s\nmark :%d\n" % (BRANCH.encode(), mark))
        stream.append(b"author %s\ncommitter %s\ndata %d\n%s\n" % (stamp, stamp, len(text), text))
        stream.append(b"from %s\n" % (start if mark == 1 else b":%d" % (mark - 1)))
        for name, data in commit.files.items():
            path = quoted(os.fsencode(name))
            stream.append(b"M %s inline %s\ndata %d\n%s\n" % (base.entries[name].mode.encode(), path, len(data), data))
    base.repository.git("fast-import", "--quiet", given=b"".join(stream))


def mails(base: Base) -> dict[str, bytes]:
    """The patches by file name, as `git am` takes them."""
    with tempfile.TemporaryDirectory(prefix="torch-agnostic-") as folder:
        base.repository.git(
            *("format-patch", "--quiet", "--no-signature", "--zero-commit", "--numbered", "--no-thread"),
            *("--no-base", "--subject-prefix=PATCH", "--encode-email-headers", *PLAIN_DIFF, "-o", folder),
            f"refs/heads/base..{BRANCH}",
        )
        return {path.name: _sealed(path.read_bytes()) for path in sorted(Path(folder).iterdir())}


def _sealed(mail: bytes) -> bytes:
    """A mail whose carriage returns survive: `git am` drops those at ends of lines unless encoded."""
    if b"\r" not in mail:
        return mail
    header, _, body = mail.partition(b"\n\n")
    lines = [line for line in header.split(b"\n") if not re.match(rb"(MIME-Version|Content-)", line)]
    lines += [
        b"MIME-Version: 1.0",
        b"Content-Type: text/plain; charset=UTF-8",
        b"Content-Transfer-Encoding: quoted-printable",
    ]
    encoded = re.sub(rb"[=\r\x80-\xff]|[ \t](?=\n)", lambda found: b"=%02X" % found[0][0], body)
    return b"\n".join(lines) + b"\n\n" + encoded


def numbers(base: Base) -> tuple[int, int, int]:
    """How many files the series changes, and how many lines it adds and takes."""
    listing = base.repository.git("diff", "-z", "--numstat", *PLAIN_DIFF, "refs/heads/base", BRANCH)
    rows = [line.split(b"\t", 2) for line in listing.split(b"\0") if line]
    return len(rows), sum(int(row[0]) for row in rows), sum(int(row[1]) for row in rows)


def write_out(folder: Path, files: dict[str, bytes]) -> None:
    """Write a series to a folder: a new or empty one, or one that holds an earlier series, which goes.

    Raises ConfigError if the folder holds anything else. A link in it is replaced and never followed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.name != COVER and not re.fullmatch(r"\d{4,}-.*\.patch", path.name):
            raise ConfigError(f"{folder}: holds {path.name!r}, which is no part of a series; name an empty folder")
    for path in folder.iterdir():
        path.unlink()
    for name, data in files.items():
        with open(folder / name, "xb") as file:
            file.write(data)
