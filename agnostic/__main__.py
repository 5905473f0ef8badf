"""The command line. Each command is a file in `commands`, imported when it is called for."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import click

from agnostic import __version__, commands


class Commands(click.Group):
    """A group whose commands are the modules of `commands`."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        return importlib.import_module(f"{commands.__name__}.{name}").command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="torch-agnostic")
def torch_agnostic() -> None:
    """Find CUDA lock-in in PyTorch code and rewrite it to the device-generic API."""


def main() -> None:
    """Run the command line; the exit status is 0 (clean), 1 (findings) or 2 (the run itself failed)."""
    from agnostic.config import ConfigError

    try:
        sys.exit(torch_agnostic(prog_name="torch-agnostic", standalone_mode=False))
    except (click.ClickException, ConfigError) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo(f"torch-agnostic: {message}", err=True)
        sys.exit(2)
    except click.Abort:
        click.echo("torch-agnostic: interrupted", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
