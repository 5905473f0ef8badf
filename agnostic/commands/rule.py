"""`torch-agnostic rule`: explain a rule, or say what becomes of an API."""

from __future__ import annotations

import click

from agnostic.check import ENGINE_RULES
from agnostic.config import ConfigError
from agnostic.rule import load


@click.command("rule")
@click.argument("wanted", metavar="[CODE|NAME|API]", required=False)
def command(wanted: str | None) -> None:
    """Explain a rule by its code or name, or an API such as torch.cuda.synchronize; or list all."""
    rules = load().rules
    if wanted is None:
        for code, (name, summary) in ENGINE_RULES.items():
            click.echo(f"{code}  {name:24} {summary}")
        for rule in rules.values():
            click.echo(f"{rule.code}  {rule.name:24} {rule.summary}")
        return
    for rule in rules.values():
        if wanted.upper() == rule.code or wanted == rule.name:
            click.echo(f"# {rule.code} {rule.name}\n\n{rule.doc}")
            return
    for code, (name, summary) in ENGINE_RULES.items():
        if wanted.upper() == code or wanted == name:
            click.echo(f"# {code} {name}\n\n{summary}")
            return
    from codemods.knowledge.api import explain

    text = explain(wanted)
    if text is None:
        raise ConfigError(f"no rule and no known API is called `{wanted}`; see all rules with `torch-agnostic rule`")
    click.echo(text)
