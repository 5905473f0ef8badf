"""Configuration: `[tool.torch-agnostic]` in the nearest pyproject.toml, and what the command line adds."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

DEFAULT_TARGET_TORCH = "2.10"


class ConfigError(Exception):
    """The configuration cannot be used; the message says where and why."""


@dataclass(frozen=True)
class Settings:
    """What a run is told; one field for each key of the configuration."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)
    target_torch: str = "auto"
    target: str = ""
    profile: str = "auto"
    assume_accelerator: bool = False
    comments: bool = False
    baseline: str = ""
    ignore_comments: tuple[str, ...] = ()
    root: Path = field(default_factory=Path.cwd)
    """The folder of the configuration; patterns are relative to it."""

    @property
    def torch(self) -> tuple[int, ...]:
        """The oldest torch that the project supports, as (major, minor)."""
        return version(self.stated_torch or DEFAULT_TARGET_TORCH)

    @property
    def stated_torch(self) -> str | None:
        """What the configuration, or else the project's requirements, say about the oldest torch."""
        return required_torch(self.root) if self.target_torch == "auto" else self.target_torch

    def selects(self, code: str) -> bool:
        """Whether findings with this code are wanted at all; the longest matching prefix decides."""

        def longest(prefixes: tuple[str, ...]) -> int:
            return max((len(prefix) for prefix in prefixes if prefix == "ALL" or code.startswith(prefix)), default=0)

        return (not self.select or longest(self.select) > 0) and longest(self.ignore) <= longest(self.select)

    def ignored_in(self, code: str, path: Path) -> bool:
        """Whether a `per-file-ignores` pattern silences the code in this file."""
        return any(
            matches(pattern, path, self.root) and any(code.startswith(prefix) for prefix in codes)
            for pattern, codes in self.per_file_ignores.items()
        )

    def looks_for(self, code: str, path: Path) -> bool:
        """Whether findings with this code would be reported in this file."""
        return self.selects(code) and not self.ignored_in(code, path)

    def excludes(self, path: Path) -> bool:
        return any(matches(pattern, path, self.root) for pattern in (*self.exclude, *self.extend_exclude))


KEYS = {item.name.replace("_", "-"): item for item in fields(Settings) if item.name != "root"}
"""What a configuration may set."""


def version(text: str) -> tuple[int, ...]:
    """(2, 10) for "2.10" or "2.10.1"."""
    found = re.match(r"(\d+)\.(\d+)", text)
    if not found:
        raise ConfigError(f"target-torch: `{text}` is no version; write it as `2.10`")
    return int(found[1]), int(found[2])


def matches(pattern: str, path: Path, root: Path) -> bool:
    """Whether a path below the root, or one of its folders, fits a glob pattern, as in a .gitignore."""
    path = path.absolute()
    if not path.is_relative_to(root):
        return False
    relative = path.relative_to(root)
    candidates = [relative, *(parent for parent in relative.parents if parent.name)]
    pattern = pattern.rstrip("/")
    if "/" in pattern:
        return any(glob(pattern.removeprefix("./")).fullmatch(candidate.as_posix()) for candidate in candidates)
    return any(glob(pattern).fullmatch(part) for part in relative.parts)


@cache
def glob(pattern: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    try:
        return re.compile(
            "".join(parts.get(piece) or (piece if piece.startswith("[") else re.escape(piece)) for piece in pieces)
        )
    except re.error as error:
        raise ConfigError(f"the pattern `{pattern}` is none: {error}") from None


def find_root(start: Path) -> tuple[Path, Path | None]:
    """The folder whose configuration counts for `start`, and its pyproject.toml if it has our table."""
    start = start.absolute()
    for folder in (start, *start.parents) if start.is_dir() else start.parents:
        candidate = folder / "pyproject.toml"
        if has_table(candidate):
            return folder, candidate
        if (folder / ".git").exists():
            return folder, None
    return (start if start.is_dir() else start.parent), None


def has_table(path: Path) -> bool:
    """Whether a pyproject.toml configures this tool."""
    return path.is_file() and "torch-agnostic" in _table(path).get("tool", {})


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path}: {error}") from None


def load(start: Path, config: Path | None = None, **overrides: Any) -> Settings:
    """The settings for a path. Raises ConfigError for an unknown key or a value of the wrong type."""
    root, found = find_root(start)
    if config is not None:
        root, found = config.absolute().parent, config
    settings = Settings(root=root)
    if found is not None:
        table = _table(found)
        ours = table.get("tool", {}).get("torch-agnostic", {}) if found.name == "pyproject.toml" else table
        settings = _read(ours, settings, found)
    given = {key: value for key, value in overrides.items() if value not in (None, (), "")}
    return replace(settings, **given)


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _read(table: dict[str, Any], settings: Settings, path: Path) -> Settings:
    known = KEYS
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; known keys: {', '.join(sorted(known))}"
            raise ConfigError(f"{path}: unknown key `{key}` in [tool.torch-agnostic]{hint}")
        default = getattr(settings, known[key].name)
        match default, value:
            case tuple(), list() if _is_strings(value):
                values[known[key].name] = tuple(value)
            case dict(), dict() if all(_is_strings(codes) for codes in value.values()):
                values[known[key].name] = {name: tuple(codes) for name, codes in value.items()}
            case (str(), str()) | (bool(), bool()):
                values[known[key].name] = value
            case _:
                wanted = {
                    tuple: "a list of strings",
                    dict: "a table of lists of strings",
                    str: "a string",
                    bool: "true or false",
                }
                raise ConfigError(f"{path}: `{key}` must be {wanted[type(default)]}")
    settings = replace(settings, **values)
    if settings.target_torch != "auto":
        version(settings.target_torch)
    return settings


@cache
def required_torch(root: Path) -> str | None:
    """The lower bound of torch in a project's own requirements; None if it names none."""
    found = []
    for name in ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "requirements/common.txt"):
        path = root / name
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            found += re.findall(r"""(?m)(?:^|["'\s])torch\s*(?:>=|==|~=)\s*(\d+\.\d+)""", text)
    return max(found, key=version, default=None)
