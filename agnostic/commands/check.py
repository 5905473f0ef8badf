"""`torch-agnostic check`: say what is wrong; change nothing."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from agnostic.baseline import above
from agnostic.cache import check_cached
from agnostic.check import FAILED, Diagnostic, about, check_bytes, unreadable
from agnostic.config import Settings
from agnostic.diff_base import Added
from agnostic.options import file_options, files, only_new_options, with_baseline
from agnostic.output import FORMATS
from agnostic.pool import each


def check_file(settings: dict[Path, Settings], path: Path, cached: bool = False) -> list[Diagnostic]:
    """The diagnostics of one file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return [unreadable(path, error.strerror or str(error))]
    return (check_cached if cached else check_bytes)(path, data, settings[path])


@click.command("check")
@file_options
@click.option("--output-format", type=click.Choice(list(FORMATS)), default="full", show_default=True)
@click.option("--statistics", is_flag=True, help="Count the findings by rule instead of listing them.")
@only_new_options
@click.option("--no-cache", is_flag=True, help="Look at every file, and remember nothing.")
@click.pass_context
def command(
    context: click.Context,
    output_format: str,
    statistics: bool,
    no_cache: bool,
    jobs: int | None,
    diff_base: str | None,
    **given: Any,
) -> None:
    """Report CUDA lock-in in PATHS (default: the current folder)."""
    settings = dict(files(**given))
    settings = with_baseline(settings, given["baseline"], given["no_baseline"] or diff_base is not None)
    found: list[Diagnostic] = []
    with Added(diff_base, list(settings)) if diff_base else nullcontext() as added:
        concerned = list(settings) if added is None else added.changed
        for diagnostics in each(partial(check_file, settings, cached=not no_cache), concerned, failed, jobs):
            found += diagnostics
        found, note = above(found, settings) if added is None else (added.only(found), "")
    if statistics:
        click.echo(_statistics(found), nl=False)
    else:
        click.echo(FORMATS[output_format](found), nl=False)
    if not settings:
        click.echo("torch-agnostic: no Python files found under the given paths", err=True)
    elif output_format in ("full", "concise"):
        click.echo(_summary(found, len(settings)), err=True)
    click.echo(note, nl=False, err=True)
    context.exit(1 if found else 0)


def failed(path: Path, why: str) -> list[Diagnostic]:
    """What is said about a file on which the tool itself failed."""
    return [about(FAILED, path, f"could not be checked: {why}; please report it")]


def _statistics(found: list[Diagnostic]) -> str:
    counts: dict[tuple[str, str], list[int]] = {}
    for one in found:
        row = counts.setdefault((one.code, one.name), [0, 0, 0])
        row[0] += 1
        row[1] += one.applicability == "safe"
        row[2] += one.applicability == "unsafe"
    lines = [f"{'count':>7} {'safe':>6} {'unsafe':>7}  rule"]
    for (code, name), row in sorted(counts.items(), key=lambda item: (-item[1][0], item[0])):
        lines.append("{:7} {:6} {:7}  {} {}".format(*row, code, name))
    return "\n".join(lines) + "\n"


def _summary(found: list[Diagnostic], files: int) -> str:
    if not found:
        return f"{files} file{'s' * (files != 1)} checked: nothing found."
    safe = sum(one.applicability == "safe" for one in found)
    unsafe = sum(one.applicability == "unsafe" for one in found)
    concerned = len({one.path for one in found})
    text = f"{len(found)} finding{'s' * (len(found) != 1)} in {concerned} of {files} files."
    if not safe and not unsafe:
        return f"{text} None can be fixed automatically: see `torch-agnostic rule {found[0].code}`."
    fixes = [f"{safe} with `torch-agnostic fix --apply`"] * bool(safe)
    fixes += [f"{unsafe}{' more' * bool(safe)} with `torch-agnostic fix --apply --unsafe-fixes`"] * bool(unsafe)
    return f"{text} Fixable: {', '.join(fixes)}."
