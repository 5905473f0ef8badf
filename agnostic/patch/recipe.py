"""A recipe: how the series for one project is made, and the figures recorded when it was made last."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from agnostic.config import ConfigError, Settings
from agnostic.patch.cover import Left
from agnostic.patch.figures import Figures

FIGURES = "figures.json"
"""The file beside the recipes that holds the recorded figures of all of them."""


@dataclass(frozen=True)
class Recipe:
    """One file of `patches`; its keys are these fields."""

    name: str
    pypi: str = ""
    """The distribution that has the source."""
    git: str = ""
    """Where the project lives."""
    packages: tuple[str, ...] = ()
    """The folders of a plain source that are meant."""
    version: str = ""
    """The version for which the recipe was made."""
    profile: str = "auto"
    conventions: str = "auto"
    target_torch: str = "auto"
    split: str = ""
    order: tuple[str, ...] = ()
    """Rules in the order of the series."""
    ignore: tuple[str, ...] = ()
    """Rules that the series does not apply, for the reasons in `leave`."""
    exclude: tuple[str, ...] = ()
    """Files and folders that the series does not touch, for the reasons in `leave`."""
    leave: tuple[Mapping[str, str], ...] = ()
    """What is left on purpose: `what` and `why`."""
    verify: tuple[str, ...] = ()
    """What to test."""
    proof: tuple[str, ...] = ()
    """The tests of this repository that run the project on a device."""

    @property
    def on_purpose(self) -> list[Left]:
        return [Left(one["what"], one["why"]) for one in self.leave]

    def applied(self, settings: Settings) -> Settings:
        """Settings of a run with what the recipe says on top."""
        return replace(
            settings,
            profile=self.profile,
            target_torch=self.target_torch,
            ignore=(*settings.ignore, *self.ignore),
            extend_exclude=(*settings.extend_exclude, *self.exclude),
        )


def read(path: Path) -> Recipe:
    """Read a recipe. Raises ConfigError for an unknown key or a value of the wrong type."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    known = {item.name.replace("_", "-"): item for item in fields(Recipe) if item.name != "name"}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            raise ConfigError(f"{path}: unknown key `{key}`" + (f"; did you mean `{close[0]}`?" if close else ""))
        wanted = list if isinstance(known[key].default, tuple) else str
        if not isinstance(value, wanted):
            raise ConfigError(f"{path}: `{key}` must be a {wanted.__name__}")
        values[known[key].name] = tuple(value) if isinstance(value, list) else value
    for one in values.get("leave", ()):
        if not isinstance(one, dict) or set(one) != {"what", "why"}:
            raise ConfigError(f"{path}: each of `leave` has `what` and `why`")
    return Recipe(path.stem, **values)


def recorded(path: Path) -> Figures | None:
    """The recorded figures of a recipe; None if there are none yet."""
    file = path.with_name(FIGURES)
    if not file.is_file():
        return None
    table = json.loads(file.read_text(encoding="utf-8")).get(path.stem)
    return Figures(**{item.name: table[item.name] for item in fields(Figures)}) if table else None
