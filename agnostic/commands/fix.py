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
    results = list(each(partial(fix_file, settings, unsafe_fixes), list(settings), _failed, jobs))
    failed = 0
    for result in results:
        if result.changed and (diff or not apply):
            click.echo(unified_diff(result), nl=False)
        if result.changed and apply:
            try:
                write(result.path, result.after)
            except OSError as error:
                failed += 1
                click.echo(f"torch-agnostic: {shown(result.path)}: not written: {error.strerror}", err=True)
    broken = [
        one for result in results for one in result.left if one.code in ENGINE_RULES and one.code != UNUSED
    ]
    click.echo(concise(broken), nl=False, err=True)
    click.echo(_summary(results, apply, unsafe_fixes), err=True)
    if failed:
        context.exit(2)
    left = not fix_only and any(result.left for result in results)
    context.exit(1 if left or (not apply and any(result.changed for result in results)) else 0)


def _failed(path: Path, why: str) -> Fixed:
    return Fixed(path, b"", b"", (), (about(FAILED, path, f"was not fixed: {why}; please report it"),))


def unified_diff(result: Fixed) -> bytes:
    """The change as `git apply` takes it."""
    name = shown(result.path).replace("\\", "/").encode()
    before, after = (data.splitlines(keepends=True) for data in (result.before, result.after))
    before, after = (
        [
            line if line.endswith((b"\n", b"\r")) else line + b"\n\\ No newline at end of file\n"
            for line in lines
        ]
        for lines in (_split(result.before), _split(result.after))
    )
    return b"".join(difflib.diff_bytes(difflib.unified_diff, before, after, b"a/" + name, b"b/" + name))


def _split(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + [lines[-1]] * bool(lines[-1])


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
    return text
