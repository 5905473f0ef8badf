"""House styles: how a project spells the device, the device module and the rest, read from `profiles/*.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent.with_name("profiles")


@dataclass(frozen=True)
class Profile:
    """One house style. Empty fields mean that the generic form is used."""

    name: str
    recognise: str = ""
    """A pattern on a file's text or path by which `profile = "auto"` knows the project."""


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by name."""
    return {
        path.stem: Profile(path.stem, **tomllib.loads(path.read_text(encoding="utf-8")))
        for path in sorted(FOLDER.glob("*.toml"))
    }


def profile(name: str, text: str) -> Profile:
    """The profile called `name`; for `auto`, the one that recognises the text, else the generic one."""
    found = profiles()
    if name != "auto":
        return found[name]
    return next(
        (one for one in found.values() if one.recognise and re.search(one.recognise, text)), found["generic"]
    )
