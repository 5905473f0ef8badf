"""`torch-agnostic patch`: the fixes of a repository as a series of commits for `git am`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import click

from agnostic import config
from agnostic.config import ConfigError, Settings
from agnostic.git import GitError, ask
from agnostic.output import shown
from agnostic.patch import recipe as recipes
from agnostic.patch.base import Base, from_checkout, from_folder
from agnostic.patch.cover import cover_letter
from agnostic.patch.figures import Figures, figures
from agnostic.patch.message import Wording
from agnostic.patch.recipe import Recipe
from agnostic.patch.series import Series, make
from agnostic.patch.split import Split, Splitter
from agnostic.patch.verify import verify_each
from agnostic.patch.write import COVER, Person, commit_all, mails, write_out
from codemods.knowledge.conventions import Conventions, conventions_of

TEST_PLAN = (
    "the project's own tests on a CUDA machine: nothing may be different there",
    "the same tests on a machine without an accelerator, and on one with another accelerator",
)


@dataclass(frozen=True)
class Wanted:
    """What a series is asked to be."""

    recipe: Recipe
    split: str = ""
    unsafe: bool = False
    author: Person | None = None
    sign_off: bool = False
    jobs: int | None = None


@dataclass(frozen=True)
class Result:
    """A series as files, with what is known about it."""

    files: dict[str, bytes]
    figures: Figures
    series: Series
    settings: Settings


@click.command("patch")
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder for the series.")
@click.option("--split", type=click.Choice(["rule", "api", "folder", "owner"]), help="What one commit is about.")
@click.option("--recipe", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file of `patches`.")
@click.option("--revision", default="HEAD", show_default=True, help="The commit to start from.")
@click.option("--allow-dirty", is_flag=True, help="Leave out uncommitted changes knowingly.")
@click.option("--unsafe-fixes", is_flag=True, help="With fixes that may change something; each commit says what.")
@click.option("--signoff", is_flag=True, help="Add Signed-off-by with the author.")
@click.option("--author", metavar="'NAME <MAIL>'", help="Default: your git configuration.")
@click.option("--select", metavar="CODES", help="Only these rules.")
@click.option("--verify", metavar="COMMAND", help="Run in a checkout of each commit; if it fails, so does the run.")
@click.option("--jobs", type=click.IntRange(1), help="Processes to use; default: one per processor.")
def command(
    source: Path,
    output: Path,
    split: str | None,
    recipe: Path | None,
    revision: str,
    allow_dirty: bool,
    unsafe_fixes: bool,
    signoff: bool,
    author: str | None,
    select: str | None,
    verify: str | None,
    jobs: int | None,
) -> None:
    """Write a series of patches that makes SOURCE device-generic, for a person to review and send.

    SOURCE is a git checkout, of which only objects are read, or with --recipe also a plain folder.
    """
    wanted = Wanted(
        recipes.read(recipe) if recipe else Recipe(""),
        split or "",
        unsafe_fixes,
        person(author, source),
        signoff,
        jobs,
    )
    with base_of(source, wanted.recipe, revision, allow_dirty) as base:
        result = make_series(base, wanted, source, select)
        if verify:
            verify_each(base, verify)
        write_out(output, result.files)
    size = result.figures
    click.echo(
        f"{shown(output)}: {size.commits} commit{'s' * (size.commits != 1)} to {size.files} files "
        f"(+{size.added} -{size.removed}); findings {size.before} -> {size.after}. Read {COVER} first.",
        err=True,
    )
    if recipe and (old := recipes.recorded(recipe)) is not None:
        drift = size.drift(old)
        click.echo("\n".join(["Since the recorded figures:", *drift]) if drift else "As recorded.", err=True)


def base_of(source: Path, recipe: Recipe, revision: str = "HEAD", dirty: bool = False) -> Base:
    """The base for a source. Raises GitError for a plain folder without a recipe."""
    try:
        ask(source, "rev-parse", "--git-dir")
    except GitError as error:
        if not recipe.packages or "not a git repository" not in str(error):
            raise
    else:
        if not recipe.packages or not ask(source, "rev-parse", "--show-prefix").strip():
            return from_checkout(source, revision, dirty)
    return from_folder(source, recipe.packages)


def make_series(base: Base, wanted: Wanted, source: Path, select: str | None = None) -> Result:
    """The series for a base, committed in its borrowed repository."""
    recipe = wanted.recipe
    own = base.folder / "pyproject.toml"
    settings = config.load(base.folder, own) if own.is_file() else Settings(root=base.folder)
    codes = tuple(code.strip().upper() for code in (select or "").split(",") if code.strip())
    settings = recipe.applied(replace(settings, select=codes or settings.select))
    conventions = conventions_of(recipe.conventions, base.entries)
    by = cast(Split, wanted.split or recipe.split or conventions.split)
    splitter = Splitter(by, recipe.order, base.owners)
    series = make(base, settings, wanted.unsafe, splitter, wanted.jobs)
    author = wanted.author or person(None, source)
    wording = Wording(by, conventions, recipe.verify or TEST_PLAN, str(author) if wanted.sign_off else "")
    commit_all(base, series, author, wording.message)
    size = figures(base, series, version_of(source, recipe))
    name = recipe.name or (conventions.name if conventions != Conventions() else source.resolve().name)
    letter = cover_letter(base, series, size, wording, settings, name, recipe.on_purpose)
    return Result({**mails(base), COVER: letter.encode()}, size, series, settings)


def person(author: str | None, source: Path) -> Person:
    """Who the commits are by: as given, or as the user's git says. Raises ConfigError if it says nothing."""
    if author is not None:
        found = re.fullmatch(r"\s*(.*?)\s*<([^<>]*)>\s*", author)
        return Person(found[1], found[2]) if found else Person("", author)
    try:
        name, mail = (ask(source, "config", key).decode().strip() for key in ("user.name", "user.email"))
    except GitError:
        raise ConfigError("git does not know who you are; write `--author 'A Name <mail@example.org>'`") from None
    return Person(name, mail)


def version_of(source: Path, recipe: Recipe) -> str:
    """The version of a plain source, by the metadata that came with it."""
    for pattern in (f"{recipe.pypi.replace('-', '[-_]')}-*.dist-info/METADATA", "PKG-INFO", "version.txt"):
        for path in sorted(source.glob(pattern)):
            found = re.search(r"^(?:Version: )?(\d\S*)$", path.read_text(errors="replace"), re.MULTILINE)
            if found:
                return found[1]
    return ""
