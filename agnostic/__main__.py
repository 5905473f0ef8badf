"""The command line. Each command is a file in `commands`, imported when it is called for."""

from __future__ import annotations

import os
import sys

if sys.path and sys.path[0] in ("", os.getcwd()) and not __file__.startswith(os.getcwd()):
    del sys.path[0]  # `python -m` would import what lies in the folder that is only to be looked at

import importlib
import pkgutil

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
@click.pass_context
def torch_agnostic(context: click.Context) -> None:
    """Find CUDA lock-in in PyTorch code and rewrite it to the device-generic API."""
    context.color = False if os.environ.get("NO_COLOR") else None


def main() -> None:
    """Run the command line; the exit status is 0 (clean), 1 (findings) or 2 (the run itself failed)."""
    from agnostic.config import ConfigError

    try:
        sys.exit(torch_agnostic(prog_name="torch-agnostic", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
    except click.ClickException as error:
        click.echo(f"torch-agnostic: {error.format_message()}", err=True)
    except ConfigError as error:
        click.echo(f"torch-agnostic: {error}", err=True)
    except click.Abort:
        click.echo("torch-agnostic: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if os.environ.get("TORCH_AGNOSTIC_TRACEBACK"):
            raise
        hint = "set TORCH_AGNOSTIC_TRACEBACK=1 for the traceback, and please report it"
        click.echo(f"torch-agnostic: internal error: {type(error).__name__}: {error}; {hint}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
