"""What the commits of a series are called, and what each project wants of them: `conventions.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from agnostic.config import ConfigError


@dataclass(frozen=True)
class Conventions:
    """The wishes of one project; the file says what each field means."""

    name: str = "generic"
    folder: str = ""
    subject: str = "{title}"
    area: str = ""
    split: str = "rule"
    sections: tuple[str, ...] = ()
    sign_off: bool = False
    remind: tuple[str, ...] = ()


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).parent.with_name("conventions.toml").read_text(encoding="utf-8"))


@cache
def conventions() -> dict[str, Conventions]:
    """All conventions by project."""
    known = {item.name.replace("_", "-"): item.name for item in fields(Conventions)}
    found = {"generic": Conventions()}
    for name, table in _tables().items():
        if name != "titles":
            values: dict[str, Any] = {
                known[key]: tuple(one) if isinstance(one, list) else one for key, one in table.items()
            }
            found[name] = Conventions(name, **values)
    return found


def titles() -> dict[str, str]:
    """What a commit for each rule does, by the rule's name."""
    return _tables()["titles"]


def conventions_of(name: str, files: Iterable[str]) -> Conventions:
    """The conventions called `name`; for `auto` those of the project that the files belong to.

    Raises ConfigError for a name that no conventions have.
    """
    found = conventions()
    if name == "auto":
        paths = list(files)
        return next(
            (
                one
                for one in sorted(found.values(), key=lambda one: (-one.folder.count("/"), one.name))
                if one.folder and any(path.startswith(f"{one.folder}/") for path in paths)
            ),
            found["generic"],
        )
    if name not in found:
        raise ConfigError(f"there are no conventions `{name}`; there are {', '.join(sorted(found))}")
    return found[name]
