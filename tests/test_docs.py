"""The README says what is so."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from agnostic.__main__ import torch_agnostic
from agnostic.config import KEYS, Settings
from agnostic.docs import filled
from agnostic.fix import fix_bytes
from agnostic.output import FORMATS

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_rule_table_is_current() -> None:
    assert filled(README) == README, "write it with `python -m agnostic.docs`"


@pytest.mark.parametrize("name", FORMATS)
def test_every_output_format_is_named(name: str) -> None:
    assert f"`{name}`" in README


@pytest.mark.parametrize("key", KEYS)
def test_every_key_of_the_configuration_is_explained(key: str) -> None:
    assert f"`{key}`" in README


@pytest.mark.parametrize("command", ["check", "fix", "rule"])
def test_every_option_is_named(command: str) -> None:
    done = CliRunner().invoke(torch_agnostic, [command, "--help"])
    assert done.exit_code == 0
    options = {word.strip(",") for word in done.output.split() if word.startswith("--")} - {"--help"}
    assert sorted(option for option in options if option.split("/")[0] not in README) == []


def test_the_example_is_what_happens() -> None:
    block = README.partition("```diff\n")[2].partition("```")[0].splitlines()
    before, after = ("".join(f"{line[2:]}\n" for line in block if line[:1] in f" {mark}" or not line) for mark in "-+")
    settings = Settings(root=Path("/nowhere"), profile="generic")
    assert fix_bytes(Path("train.py"), before.encode(), settings, unsafe=True).after.decode() == after
