"""`torch-agnostic backend`: build, check and question the reference backend."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from . import SETTING


@click.group()
def backend() -> None:
    """Build, check and question the reference accelerator that programs are verified on."""


@backend.command()
@click.option("--jobs", type=int, help="Files compiled at a time (default: one per CPU).")
def build(jobs: int | None) -> None:
    """Compile the backend for this torch and this Python, unless that has been done."""
    os.environ.pop(SETTING, None)  # a backend that has yet to be built cannot be loaded
    from . import build as building

    try:
        path = building.build(building.print_progress, jobs)
    except building.BuildError as error:
        click.echo(f"\n{error}", err=True)
        raise SystemExit(2) from None
    click.echo(f"{path}")
    click.echo(f"Next: {SETTING}=neuron python your_program.py", err=True)


@backend.command()
def doctor() -> None:
    """Check the installation and say what to do."""
    from .doctor import examine

    wrong = 0
    for check in examine():
        click.echo(f"{'ok  ' if check.good else 'BAD '} {check.name}: {check.found}")
        if not check.good:
            wrong += 1
            click.echo(f"     do: {check.cure}")
    raise SystemExit(1 if wrong else 0)


@backend.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", help="Mark what this chip's documentation does not list: trn2, trn3, tpu.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
def ops(target: str | None, program: Sequence[str]) -> None:
    """Run PROGRAM (a script and its arguments) on the backend and list the operators it used.

    The list is sorted by how often an operator was called. PROGRAM runs unchanged; its exit code is returned.
    """
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts.json")
        result = subprocess.run(
            [sys.executable, "-m", "backend_ref.operator_run", str(counts), *program],
            env={**os.environ, SETTING: os.environ.get(SETTING) or "neuron"},
        )
        if not counts.exists():
            click.echo("the program ended before its operators could be counted", err=True)
            raise SystemExit(result.returncode or 2)
        from .operator_report import report

        try:
            click.echo(report(counts, target))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--target") from None
    raise SystemExit(result.returncode)
