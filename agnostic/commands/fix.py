"""`torch-agnostic fix`: show the rewrite as a diff, or write it."""

from __future__ import annotations

import difflib
from functools import partial
from pathlib import Path
from typing import Any

import click

from agnostic.check import ENGINE_RULES, FAILED, UNUSED, about, unreadable
from agnostic.config import Settings
from agnostic.fix import Fixed, fix_bytes, write
from agnostic.options import file_options, files
from agnostic.output import concise, shown
from agnostic.pool import each


def fix_file(settings: dict[Path, Settings], unsafe: bool, path: Path) -> Fixed:
    """What fixing one file would give; nothing is written."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return Fixed(path, b"", b"", (), (unreadable(path, error.strerror or str(error)),))
    return fix_bytes(path, data, settings[path], unsafe)


@click.command("fix")
@file_options
@click.option("--apply", is_flag=True, help="Write the files; without it the diff is printed.")
@click.option("--unsafe-fixes", is_flag=True, help="Apply fixes that may change something; each says what.")
@click.option("--diff", is_flag=True, help="Print the diff, with --apply too.")
@click.option("--fix-only", is_flag=True, help="Do not fail because of findings that no fix is applied for.")
@click.pass_context
def command(
    context: click.Context,
    apply: bool,
    unsafe_fixes: bool,
    diff: bool,
    fix_only: bool,
    jobs: int | None,
    **given: Any,
) -> None:
    """Rewrite PATHS (default: the current folder) to the device-generic API."""
    settings = dict(files(**given))
    results = list(each(partial(fix_file, settings, unsafe_fixes), list(settings), failed, jobs))
    unwritten = 0
    for result in results:
        if result.changed and (diff or not apply):
            click.echo(unified_diff(result), nl=False)
        if result.changed and apply:
            try:
                write(result.path, result.after)
            except OSError as error:
                unwritten += 1
                why = error.strerror or error
                click.echo(f"torch-agnostic: {shown(result.path)} was not written: {why}", err=True)
    troubles = {*ENGINE_RULES} - {UNUSED}
    broken = [one for result in results for one in result.left if one.code in troubles]
    click.echo(concise(broken), nl=False, err=True)
    if not settings:
        click.echo("torch-agnostic: no Python files found under the given paths", err=True)
    elif not unwritten:
        click.echo(_summary(results, apply, unsafe_fixes), err=True)
    if unwritten:
        context.exit(2)
    left = any((result.left and not fix_only) or (result.changed and not apply) for result in results)
    context.exit(1 if left else 0)


def failed(path: Path, why: str) -> Fixed:
    """What is said about a file on which the tool itself failed."""
    return Fixed(path, b"", b"", (), (about(FAILED, path, f"was not fixed: {why}; please report it"),))


def unified_diff(result: Fixed) -> bytes:
    """The change as `git apply` and `patch` take it, byte for byte."""
    name = shown(result.path).replace("\\", "/").encode(errors="surrogateescape")
    end = b"\t" if b" " in name else b""  # as git does, or the name would end at the space
    before, after = _lines(result.before), _lines(result.after)
    return b"".join(difflib.diff_bytes(difflib.unified_diff, before, after, b"a/" + name + end, b"b/" + name + end))


def _lines(data: bytes) -> list[bytes]:
    """Lines as git counts them: they end with a line feed, and a last one without is marked."""
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + [last + b"\n\\ No newline at end of file\n"] * bool(last)


def _summary(results: list[Fixed], apply: bool, unsafe: bool) -> str:
    changed = [result for result in results if result.changed]
    fixes = sum(len(result.fixed) for result in changed)
    left = [one for result in results for one in result.left]
    done = "Fixed" if apply else "Would fix"
    text = f"{done} {fixes} finding{'s' * (fixes != 1)} in {len(changed)} file{'s' * (len(changed) != 1)}"
    text += f"; {len(left)} left." if left else "; none left."
    if changed and not apply:
        text += " Write the files with `--apply`."
    if not unsafe and any(one.unsafe for one in left):
        text += " More with `--unsafe-fixes`."
    elif left:
        text += " See them with `torch-agnostic check`."
    return text
