"""`torch-agnostic run`: a program on the reference device, with one setting changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--on", "device", metavar="DEVICE", default="neuron", show_default=True, help="neuron, tpu, ..., or cpu.")
@click.option("--nproc", type=click.IntRange(1), default=1, help="Start N processes with torchrun.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="SCRIPT.py|-m MODULE [ARGS]...")
@click.pass_context
def command(context: click.Context, device: str, nproc: int, program: tuple[str, ...]) -> None:
    """Run a program with the reference backend as its accelerator, under the name given by --on.

    Its output and exit status are its own. At the end stderr lists the places where it still reaches for CUDA,
    and says so if it ended well without ever having used the device; `verify` makes that a failure.
    """
    import tempfile

    from agnostic.proof.agreement import agreement
    from agnostic.proof.autoload import RECORD
    from agnostic.proof.program import Run, command_line, environment, prepare, ranks_in
    from agnostic.proof.usage import is_unused, why_unused

    prepare([device])
    with tempfile.TemporaryDirectory(prefix="torch-agnostic-") as folder:
        given = {**environment(device, exact=False), RECORD: folder}
        try:
            result = subprocess.run(command_line(program, nproc), env=given)
        except (OSError, ValueError) as error:
            raise click.UsageError(str(error)) from None
        status = "failed" if result.returncode else "ended"
        run = Run(device, status, result.returncode, ranks=ranks_in(Path(folder)))
    for touch in agreement([run]).touched:
        click.echo(f"torch-agnostic: reached for CUDA: {touch}", err=True)
    if run.status == "ended" and is_unused(run):
        click.echo(f"torch-agnostic: {why_unused(run)}", err=True)
    context.exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)
