"""What was found in a file the last time, kept until the file, the rules or the settings change.

An entry is one small file, replaced in one step, so that runs at the same time do not disturb each other; one
that cannot be read counts as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from agnostic import __version__
from agnostic.check import Diagnostic, Place, check_bytes, may_concern
from agnostic.config import Settings
from agnostic.rule import Edit, folder

FOLDER = ".torch_agnostic_cache"


def check_cached(path: Path, data: bytes, settings: Settings) -> list[Diagnostic]:
    """What `check_bytes` gives, without the work if that was done before."""
    if not may_concern(data):
        return []
    entry = settings.root / FOLDER / hashlib.blake2b(os.fsencode(path.absolute()), digest_size=16).hexdigest()
    key = _key(path, data, settings)
    found = _read(entry, key, path)
    if found is None:
        consulted: set[Path] = set()
        found = check_bytes(path, data, settings, consulted=consulted)
        _write(entry, key, found, {str(other): _state(other) for other in sorted(consulted)})
    return found


def _key(path: Path, data: bytes, settings: Settings) -> str:
    """Changes with everything that the findings depend on."""
    given = {name: value for name, value in vars(settings).items() if name != "root"}
    parts = [_rules(), repr(settings.torch), repr(sorted(given.items())), str(path.absolute())]
    digest = hashlib.blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=16)
    digest.update(data)
    return digest.hexdigest()


@cache
def _rules() -> str:
    """The state of this tool: its version, and the text of its rules and of the engine."""
    digest = hashlib.blake2b(__version__.encode(), digest_size=16)
    for package in (folder("agnostic"), folder("codemods")):
        for path in sorted(package.rglob("*")):
            if path.suffix in (".py", ".toml"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _state(other: Path) -> str:
    """Changes with another file that findings depend on; empty if there is none."""
    try:
        return hashlib.blake2b(other.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def _read(entry: Path, key: str, path: Path) -> list[Diagnostic] | None:
    try:
        stored = json.loads(entry.read_bytes())
        same = stored["key"] == key and all(_state(Path(name)) == state for name, state in stored["others"].items())
        return [_restored(one, path) for one in stored["found"]] if same else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _restored(stored: dict[str, Any], path: Path) -> Diagnostic:
    edits = tuple((Edit(*edit), Place(*start), Place(*end)) for edit, start, end in stored.pop("edits"))
    start, end = Place(*stored.pop("start")), Place(*stored.pop("end"))
    return Diagnostic(path=path, start=start, end=end, edits=edits, **stored)


def _write(entry: Path, key: str, found: list[Diagnostic], others: dict[str, str]) -> None:
    """Nothing happens where the folder cannot be written to."""
    records = []
    for one in found:
        record = asdict(one) | {"start": [*vars(one.start).values()], "end": [*vars(one.end).values()]}
        del record["path"]
        record["edits"] = [
            [[*vars(edit).values()], [*vars(start).values()], [*vars(end).values()]] for edit, start, end in one.edits
        ]
        records.append(record)
    try:
        _make(entry.parent)
        handle, temporary = tempfile.mkstemp(dir=entry.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({"key": key, "others": others, "found": records}, stream)
        os.replace(temporary, entry)
    except OSError:
        return


def _make(home: Path) -> None:
    if not home.is_dir():
        home.mkdir(exist_ok=True)
        (home / ".gitignore").write_text("*\n", encoding="utf-8")
