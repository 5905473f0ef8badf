"""`torch-agnostic init`: a first configuration and baseline for a repository, shown before written."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from functools import partial
from pathlib import Path

import click

from agnostic import baseline
from agnostic.check import Diagnostic
from agnostic.commands.check import check_file, failed
from agnostic.config import DEFAULT_TARGET_TORCH, ConfigError, Settings, find_root, required_torch
from agnostic.discover import discover
from agnostic.output import shown
from agnostic.pool import each
from codemods.knowledge.profile import profiles


@click.command("init")
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--jobs", type=click.IntRange(1), help="Processes to use; default: one per processor.")
def command(path: Path, yes: bool, jobs: int | None) -> None:
    """Propose a configuration and a baseline for the repository at PATH, and write them."""
    root, configured = find_root(path)
    if configured is not None:
        raise ConfigError(f"{shown(configured)} has [tool.torch-agnostic] already")
    files = discover(root)
    profile = propose_profile(root)
    settings = Settings(root=root, profile=profile, target_torch=required_torch(root) or DEFAULT_TARGET_TORCH)
    work = partial(check_file, dict.fromkeys(files, settings))
    found = [one for of_file in each(work, files, failed, jobs) for one in of_file]
    table = configuration(root, profile, bool(found))
    project, text = with_table(root / "pyproject.toml", table)
    click.echo(_plan(root, project, table, found))
    if not yes and not (sys.stdin.isatty() and click.confirm("Write this?")):
        click.echo("Nothing is written; `torch-agnostic init --yes` does.", err=True)
        return
    project.write_bytes(text)
    if found:
        baseline.write(root / baseline.NAME, baseline.count(found, root))
    click.echo("Written. Next: `torch-agnostic fix`, which shows what can be rewritten now.", err=True)


def propose_profile(root: Path) -> str:
    """The profile of the project whose package this repository holds, or `auto`.

    Styles of tests only are left to `auto`, which goes by the path of each file.
    """
    for one in profiles().values():
        homes = [root / folder / package for folder in ("", "src", "python") for package in one.packages]
        if not one.path and any(home.is_dir() for home in homes):
            return one.name
    return "auto"


def configuration(root: Path, profile: str, with_baseline: bool) -> str:
    """The table for pyproject.toml, with what differs from the defaults only."""
    lines = ["[tool.torch-agnostic]"]
    if required_torch(root) is None:
        lines.append(f'target-torch = "{DEFAULT_TARGET_TORCH}"  # the oldest torch to support')
    if profile != "auto":
        lines.append(f'profile = "{profile}"')
    if with_baseline:
        lines.append(f'baseline = "{baseline.NAME}"')
    return "\n".join(lines) + "\n"


def with_table(path: Path, table: str) -> tuple[Path, bytes]:
    """A pyproject.toml with the table at its end. Raises ConfigError if the file is no TOML."""
    old = path.read_bytes() if path.is_file() else b""
    newline = b"\r\n" if b"\r\n" in old else b"\n"
    gap = b"" if not old else newline if old.endswith(b"\n") else newline * 2
    new = old + gap + table.encode().replace(b"\n", newline)
    try:
        tomllib.loads(new.decode("utf-8"))["tool"]["torch-agnostic"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
        raise ConfigError(f"{shown(path)}: cannot be extended: {error}") from None
    return path, new


def _plan(root: Path, project: Path, table: str, found: list[Diagnostic]) -> str:
    what = "Append to" if project.is_file() else "Create"
    parts = [f"{what} {shown(project)}:", "\n".join(f"    {line}" for line in table.splitlines())]
    if required := required_torch(root):
        parts.append(f"The oldest torch is {required}, by the project's requirements.")
    if not found:
        return "\n\n".join([*parts, "Nothing is found, so no baseline is needed."])
    safe = sum(one.applicability == "safe" for one in found)
    rules = Counter(f"{one.code} {one.name}" for one in found).most_common(8)
    parts.append(
        f"Create {shown(root / baseline.NAME)} with {len(found)} findings in "
        f"{len({one.path for one in found})} files, so that only new ones fail; "
        f"{safe} of them `torch-agnostic fix --apply` can rewrite safely:"
    )
    parts.append("\n".join(f"    {count:>6}  {name}" for name, count in rules))
    return "\n\n".join(parts)
