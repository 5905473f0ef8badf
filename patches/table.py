"""Make the series of every recipe, put each to the test, and print the table.

    python -m patches.table SOURCES [NAME ...] [--on-neuron] [--record]

SOURCES has a folder for each project, called as its distribution, that holds the unpacked source. For each
recipe: the series is made twice and must be the same bytes; it is applied with `git am` to a fresh repository
that holds the base; every Python file that a commit changes must compile; the tree must be that of
`fix --apply` with the same rules. `--on-neuron` also runs what a recipe calls its proof, with the series applied to
the installed project. `--record` writes figures.json and STATUS.md, which `--status` writes from figures.json alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import click

from agnostic.commands.patch import Wanted, base_of, make_series
from agnostic.config import ConfigError
from agnostic.patch.figures import REASONS
from agnostic.patch.recipe import FIGURES, Recipe, read
from agnostic.patch.write import Person
from patches import neuron

HERE = Path(__file__).resolve().parent
AUTHOR = Person("torch-agnostic", "draft@example.org")
STATUS = HERE / "STATUS.md"
CHECKS = {
    "same bytes": "two runs give the same bytes",
    "applies": "`git am` takes every patch",
    "compiles": "after every commit each file that it changed compiles",
    "equals fix": "the tree is that of `fix --apply` with the same rules",
}


def git(folder: Path, *arguments: str) -> bytes:
    """Git in a repository of our own, with nobody's configuration. Raises CalledProcessError."""
    environment = {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_COMMITTER_NAME": AUTHOR.name,
        "GIT_COMMITTER_EMAIL": AUTHOR.mail,
    }
    return subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, check=True).stdout


def prove(recipe: Recipe, source: Path, on_neuron: bool = False) -> dict:
    """The figures of a recipe, whether its series stands each check, and what its tests on neuron gave if wanted."""
    wanted = Wanted(recipe, author=AUTHOR)
    with base_of(source, recipe) as base, tempfile.TemporaryDirectory() as scratch:
        result = make_series(base, wanted, source)
        with base_of(source, recipe) as again:
            same = make_series(again, wanted, source).files == result.files
        target = Path(scratch, "applied")
        target.mkdir()
        git(target, "init", "-q")
        git(target, "fetch", "-q", str(base.repository.folder), "refs/heads/base")
        git(target, "checkout", "-q", "-b", "main", "FETCH_HEAD")
        other = Path(scratch, "fixed")
        git(Path(scratch), "clone", "-q", "--shared", str(target), str(other))
        patches = Path(scratch, "patches")
        patches.mkdir()
        for name, data in result.files.items():
            (patches / name).write_bytes(data)
        names = sorted(str(patches / name) for name in result.files if name.endswith(".patch"))
        applies = not names or _succeeds(target, "am", "-q", "--keep-non-patch", *names)
        checks = {
            "same bytes": same,
            "applies": applies and len(names) == result.figures.commits,
            "compiles": applies and _compiles(target),
            "equals fix": applies and _fixed(other, recipe) == git(target, "rev-parse", "HEAD^{tree}"),
        }
        found = {**result.figures.table(), "checks": checks, "digest": _digest(result.files)}
        if on_neuron and recipe.proof:
            found["neuron"] = neuron.outcome(base, result.series, recipe.packages, recipe.proof)
        return found


def _digest(files: dict[str, bytes]) -> str:
    """What tells one series from another: a hash of its patches."""
    return hashlib.sha256(b"".join(files[name] for name in sorted(files) if name.endswith(".patch"))).hexdigest()[:16]


def _succeeds(folder: Path, *arguments: str) -> bool:
    try:
        git(folder, *arguments)
    except subprocess.CalledProcessError as error:
        click.echo(error.stderr.decode("utf-8", "replace"), err=True)
        return False
    return True


def _compiles(folder: Path) -> bool:
    for commit in git(folder, "rev-list", "FETCH_HEAD..HEAD").decode().split():
        changed = git(folder, "diff-tree", "-r", "-z", "--name-only", "--no-commit-id", commit).split(b"\0")
        for name in filter(None, changed):
            data = git(folder, "cat-file", "blob", f"{commit}:{os.fsdecode(name)}")
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    compile(data, os.fsdecode(name), "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                click.echo(f"{commit}: {error}", err=True)
                return False
    return True


def _fixed(folder: Path, recipe: Recipe) -> bytes:
    """The tree after `fix --apply`, with what the recipe says."""
    options = ["--profile", recipe.profile, "--target-torch", recipe.target_torch]
    options += ["--ignore", ",".join(recipe.ignore)] * bool(recipe.ignore)
    options += [part for pattern in recipe.exclude for part in ("--exclude", pattern)]
    command = [sys.executable, "-m", "agnostic", "fix", "--apply", *options, str(folder)]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, check=False)
    if done.returncode > 1:
        raise ConfigError(done.stderr.decode("utf-8", "replace"))
    git(folder, "add", "-A")
    return git(folder, "write-tree")


def row(name: str, one: dict) -> str:
    """A line of the table."""
    marks = " | ".join("yes" if one["checks"][check] else "NO" for check in CHECKS)
    return (
        f"| {name} | {one['version']} | {one['commits']} | {one['files']} "
        f"| +{one['added']} -{one['removed']} | {one['before']} | {one['after']} | {marks} "
        f"| {on_neuron_in_words(name, one)} |"
    )


def on_neuron_in_words(name: str, one: dict) -> str:
    """What is known of a series on neuron, in words."""
    if not read(HERE / f"{name}.toml").proof:
        return "no test"
    found = one.get("neuron")
    if found is None:
        return "not run"
    skipped = f", {found['skipped']} skipped" if found["skipped"] else ""
    if found["failed"] or not found["passed"]:
        return f"NO: {found['failed']} failed, {found['passed']} passed{skipped}"
    return f"yes: {found['passed']} passed{skipped}"


def status(figures: dict[str, dict]) -> str:
    """The text of STATUS.md."""
    heads = ["project", "version", "commits", "files", "lines", "findings", "after", *CHECKS, "on neuron"]
    left = ["project", *REASONS]
    lines = [
        "# What the recipes give",
        "",
        "Written by `python -m patches.table SOURCES --record`; do not edit. Safe fixes only. Each series is "
        "a draft for a person to review and send.",
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(row(name, one) for name, one in sorted(figures.items())),
        "",
        *(f"- *{name}*: {text}." for name, text in CHECKS.items()),
        "- *on neuron*: the tests of this repository that run the project on the reference device, with the "
        "series applied to the installed project (`--on-neuron`); most have no such test.",
        "- The gate is part of making a series: every file of every commit compiles, uses no new undefined "
        "name, names no function that the oldest torch lacks, and has no new finding.",
        "",
        "## Findings that are left, by reason",
        "",
        f"| {' | '.join(left)} |",
        f"|{'---|' * len(left)}",
        *(
            f"| {name} | {' | '.join(str(one['left'].get(reason, 0)) for reason in REASONS)} |"
            for name, one in sorted(figures.items())
        ),
        "",
        *(f"- *{name}*: {text}." for name, text in REASONS.items()),
    ]
    missing = sorted({path.stem for path in HERE.glob("*.toml")} - {*figures})
    if missing:
        lines += ["", f"Recipes without recorded figures: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def source_of(sources: Path, recipe: Recipe) -> Path | None:
    """The folder with the packages of a recipe: `NAME` or `NAME/NAME-VERSION` below the sources."""
    home = sources / recipe.pypi
    for folder in (home, *sorted(home.glob(f"{recipe.pypi}-*")), sources):
        if all((folder / package).is_dir() for package in recipe.packages):
            return folder
    return None


@click.command()
@click.argument("sources", type=click.Path(path_type=Path), required=False)
@click.argument("names", nargs=-1)
@click.option("--on-neuron", is_flag=True, help="Also run the tests on neuron that recipes name.")
@click.option("--record", is_flag=True, help="Write figures.json and STATUS.md.")
@click.option("--status", "only_status", is_flag=True, help="Write STATUS.md from figures.json.")
def main(sources: Path | None, names: tuple[str, ...], on_neuron: bool, record: bool, only_status: bool) -> None:
    """Make the series of every recipe from SOURCES, put each to the test, and print the table."""
    file = HERE / FIGURES
    figures = json.loads(file.read_text()) if file.is_file() else {}
    failed = False
    for path in [] if only_status or sources is None else sorted(HERE.glob("*.toml")):
        recipe = read(path)
        source = source_of(sources, recipe)
        if (names and path.stem not in names) or (source is None and not names):
            continue
        if source is None:
            raise click.ClickException(f"no source for {path.stem} below {sources}")
        found = prove(recipe, source, on_neuron)
        failed |= not all(found["checks"].values())
        old = figures.get(path.stem, {})
        if "neuron" not in found and "neuron" in old and old.get("digest") == found["digest"]:
            found["neuron"] = old["neuron"]  # of the same series
        click.echo(row(path.stem, found))
        figures[path.stem] = found
        if record:
            file.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    if record or only_status:
        STATUS.write_text(status(figures))
    sys.exit(failed)


if __name__ == "__main__":
    main()
