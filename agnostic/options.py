"""What the commands that look at files have in common: their options, settings and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from agnostic import config
from agnostic.config import ConfigError, Settings
from agnostic.discover import discover

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS = [
    click.option("--select", metavar="CODES", help="Only these rules: codes or prefixes, or ALL; by comma."),
    click.option("--ignore", metavar="CODES", help="Not these rules."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out files and folders; repeatable."),
    click.option("--force-exclude", is_flag=True, help="Leave them out even where they are named as PATHS."),
    click.option("--target-torch", metavar="VERSION", help="Oldest torch to support, for example 2.10."),
    click.option("--profile", metavar="NAME", help="House style of the project, or `auto`."),
    click.option("--assume-accelerator/--no-assume-accelerator", default=None, help="No need to run without one."),
    click.option("--comments/--no-comments", default=None, help="Comments and messages next to a fix too; unsafe."),
    click.option("--config", type=click.Path(path_type=Path), help="A TOML file instead of pyproject.toml."),
    click.option("--jobs", type=click.IntRange(1), help="Processes to use; default: one per processor."),
]

ONLY_NEW_OPTIONS = [
    click.option("--baseline", type=click.Path(path_type=Path), help="Fail only above the counts in this file."),
    click.option("--no-baseline", is_flag=True, help="Report everything, whatever the configuration says."),
    click.option("--diff-base", metavar="REF", help="Report only what stands on lines added since REF."),
]


def only_new_options(function: Function) -> Function:
    """Add the options by which only new findings count."""
    for option in reversed(ONLY_NEW_OPTIONS):
        function = option(function)
    return function


def with_baseline(settings: dict[Path, Settings], baseline: Path | None, without: bool) -> dict[Path, Settings]:
    """Settings of a run with the baseline of the command line, or without any."""
    if baseline is None and not without:
        return settings
    given = "" if without or baseline is None else str(baseline.absolute())
    return {path: replace(one, baseline=given) for path, one in settings.items()}


def file_options(function: Function) -> Function:
    """Add PATHS and the options that choose rules and files."""
    for option in reversed(OPTIONS):
        function = option(function)
    return click.argument("paths", nargs=-1, type=click.Path(path_type=Path))(function)


def settings_for(start: Path, select: str | None, ignore: str | None, **given: Any) -> Settings:
    """The settings for a path; the command line wins over the configuration.

    Raises ConfigError for rules that do not exist.
    """
    codes = {"select": _codes(select), "ignore": _codes(ignore)}
    options = ("target_torch", "profile", "assume_accelerator", "comments", "exclude")
    settings = config.load(start, given.get("config"), **codes, **{name: given.get(name) for name in options})
    _refuse_unknown(settings)
    config.version(settings.target_torch if settings.target_torch != "auto" else config.DEFAULT_TARGET_TORCH)
    return settings


def _codes(text: str | None) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in (text or "").split(",") if code.strip())


def _refuse_unknown(settings: Settings) -> None:
    prefixes = {
        *settings.select,
        *settings.ignore,
        *(c for codes in settings.per_file_ignores.values() for c in codes),
    }
    if prefixes - {"ALL"}:
        from agnostic.check import ENGINE_RULES
        from agnostic.rule import declared

        known = [*ENGINE_RULES, *declared()]
        for prefix in sorted(prefixes - {"ALL"}):
            if not any(code.startswith(prefix) for code in known):
                raise ConfigError(f"there is no rule `{prefix}`; see them all with `torch-agnostic rule`")


def files(paths: tuple[Path, ...], **given: Any) -> Iterator[tuple[Path, Settings]]:
    """Each file to look at with the settings of the nearest configuration.

    A file that is named is always meant, unless `--force-exclude` says that the excludes count for it too.
    Raises ConfigError for a path that does not exist.
    """
    seen = set()
    for path in paths or (Path("."),):
        if not path.exists():
            raise ConfigError(f"no such file or folder: {path}")
        settings = settings_for(path, **given)
        known = {settings.root: settings}
        for file in [path] if path.is_file() else discover(path):
            if file in seen:
                continue
            seen.add(file)
            nearest = settings if given.get("config") else _nearest(file.absolute().parent, known, given)
            if not nearest.excludes(file) or (path.is_file() and not given.get("force_exclude")):
                yield file, nearest


def _nearest(folder: Path, known: dict[Path, Settings], given: dict[str, Any]) -> Settings:
    """The settings of a folder: those of a configuration in it, or of the folder above."""
    if folder not in known:
        if config.has_table(folder / "pyproject.toml"):
            known[folder] = settings_for(folder, **given)
        elif folder.parent == folder:
            known[folder] = next(iter(known.values()))
        else:
            known[folder] = _nearest(folder.parent, known, given)
    return known[folder]
