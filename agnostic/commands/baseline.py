"""`torch-agnostic baseline`: write down the old findings, so that `check` fails only on new ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from agnostic import baseline
from agnostic.check import Diagnostic
from agnostic.commands.check import check_file, failed
from agnostic.config import ConfigError, Settings
from agnostic.options import file_options, files
from agnostic.output import shown
from agnostic.pool import each


@click.command("baseline")
@file_options
@click.option("--baseline", "file", type=click.Path(path_type=Path), help="The file to write.")
@click.option("--prune", is_flag=True, help="Only take out what is gone; add nothing.")
def command(file: Path | None, prune: bool, jobs: int | None, **given: Any) -> None:
    """Count the findings in PATHS (default: the current folder) and write them down.

    The counts of files outside PATHS stay as they are.
    """
    settings = dict(files(**given))
    if not settings:
        raise ConfigError("no Python files found under the given paths, so there is nothing to count")
    found = [
        one for each_file in each(partial(check_file, settings), list(settings), failed, jobs) for one in each_file
    ]
    targets = {
        path: file.absolute() if file else one.root / (one.baseline or baseline.NAME) for path, one in settings.items()
    }
    for target in dict.fromkeys(targets.values()):
        here = {path: one for path, one in settings.items() if targets[path] == target}
        click.echo(_write(target, here, [one for one in found if one.path in here], prune), err=True)


def _write(target: Path, settings: dict[Path, Settings], found: list[Diagnostic], prune: bool) -> str:
    old = baseline.read(target) if prune or target.is_file() else {}
    compared = baseline.compare(
        old, found, settings, target.parent, lambda path, code: settings[path].looks_for(code, path)
    )
    new = compared.tightened
    if not prune:
        for name, row in baseline.count(found, target.parent).items():
            new[name] = {**new.get(name, {}), **row}
    baseline.write(target, new)
    total = baseline.total(new)
    text = f"{shown(target)}: {total} finding{'s' * (total != 1)}"
    text += f" in {sum(1 for row in new.values() if any(row.values()))} files (before: {baseline.total(old)})."
    if prune and compared.excess:
        text += f" {compared.excess} more are not in it; see them with `torch-agnostic check`."
    elif not any(one.baseline for one in settings.values()):
        text += f' Set `baseline = "{shown(target)}"` in [tool.torch-agnostic] and commit the file.'
    return text
