"""`torch-agnostic run`: a program on the reference device, with one setting changed."""

from __future__ import annotations

import subprocess

import click


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--on", "device", metavar="DEVICE", default="neuron", show_default=True, help="neuron, tpu, ..., or cpu.")
@click.option("--nproc", type=click.IntRange(1), default=1, help="Start N processes with torchrun.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="SCRIPT.py|-m MODULE [ARGS]...")
@click.pass_context
def command(context: click.Context, device: str, nproc: int, program: tuple[str, ...]) -> None:
    """Run a program with the reference backend as its accelerator, under the name given by --on.

    Its output and exit status are its own. Places where it still reaches for CUDA are listed at the end.
    """
    import tempfile

    from agnostic.proof.agreement import touches_in
    from agnostic.proof.autoload import RECORD
    from agnostic.proof.program import command_line, environment, prepare

    prepare([device])
    with tempfile.TemporaryDirectory(prefix="torch-agnostic-") as folder:
        given = {**environment(device, exact=False), RECORD: folder}
        try:
            result = subprocess.run(command_line(program, nproc), env=given)
        except (OSError, ValueError) as error:
            raise click.UsageError(str(error)) from None
        touches = touches_in(folder)
    for touch in touches:
        click.echo(f"torch-agnostic: reached for CUDA: {touch}", err=True)
    context.exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)
