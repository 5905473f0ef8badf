"""`torch-agnostic verify`: whether a program learns the same on several devices."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command("verify", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--on",
    "devices",
    metavar="DEVICES",
    default="cpu,neuron",
    show_default=True,
    help="The first is the yardstick.",
)
@click.option("--nproc", type=click.IntRange(1), default=1, help="Start N processes with torchrun.")
@click.option("--rtol", type=click.FloatRange(0), help="Relative tolerance; default by precision, see below.")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Stop the program after N optimizer steps.")
@click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Kill a run that takes longer.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    metavar="JSON",
    help="Compare with an earlier report, too.",
)
@click.option("--output", type=click.Path(path_type=Path), default=Path("torch-agnostic-proof"), show_default=True)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="SCRIPT.py|-m MODULE [ARGS]...")
@click.pass_context
def command(
    context: click.Context,
    devices: str,
    nproc: int,
    rtol: float | None,
    steps: int | None,
    timeout: float | None,
    reference: Path | None,
    output: Path,
    program: tuple[str, ...],
) -> None:
    """Run a program once per device, unchanged, and compare what it learns.

    Each scalar loss that is back-propagated, the norm of the gradients and the parameters at each optimizer
    step, and the numbers that the program reads from tensors are compared. They are the same, the same
    within the tolerance from some step on, or different. Tolerance by default: 1e-4 in float32, 2e-2 where
    one of the runs used float16 or bfloat16; `--rtol 0` asks for equality bit by bit.

    A program that never used a device that it was given (nothing at all was placed on it) has proved nothing
    about it: that is a failure, with the line that asked for CUDA instead.

    Standard input is closed. Exit status: 0 if the same, 1 if not, 2 if verify itself failed.
    """
    from agnostic.proof import page, reports
    from agnostic.proof.agreement import agreement
    from agnostic.proof.autoload import STEPS
    from agnostic.proof.compare import compare
    from agnostic.proof.program import prepare, record

    names = list(dict.fromkeys(name.strip() for name in devices.split(",") if name.strip()))
    if len(names) < 2 and reference is None:
        raise click.UsageError("--on needs two devices to compare, or one and a --reference")
    earlier = reports.read_runs(reference) if reference else {}
    extra = {STEPS: str(steps)} if steps else {}
    prepare(names)
    runs = []
    for name in names:
        click.echo(f"torch-agnostic: {shlex.join(program)} on {name} ...", err=True)
        try:
            runs.append(record(program, name, nproc, timeout, extra))
        except (OSError, ValueError) as error:
            raise click.UsageError(str(error)) from None
    verdicts = [compare(runs[0], run, rtol) for run in runs[1:]]
    for run in runs:
        if earlier:
            before = earlier.get(run.device) or next(iter(earlier.values()))
            verdicts.append(compare(before, run, rtol, (f"{before.device} in {reference}", run.device)))
    agreed = agreement(runs)
    for verdict in verdicts:
        click.echo(click.style(str(verdict), fg="green" if verdict.good else "red"))
    for run in runs:
        if run.status != "ended":
            click.echo(f"\n{run.device}: {run.traceback}{run.stacks}", err=True)
    click.echo(str(agreed))
    output.mkdir(parents=True, exist_ok=True)
    title = f"{shlex.join(program)} on {', '.join(names)}"
    (output / "verify.html").write_text(page.page(title, verdicts, [(r.device, r) for r in runs], agreed), "utf-8")
    (output / "verify.json").write_text(reports.to_json(program, verdicts, runs, agreed), "utf-8")
    (output / "verify.xml").write_text(reports.to_junit(program, verdicts, runs), "utf-8")
    click.echo(f"Curves: {output / 'verify.html'}", err=True)
    context.exit(0 if all(verdict.good for verdict in verdicts) else 1)
