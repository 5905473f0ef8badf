"""What tests of the command line and of git need: a run of a command, and a repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from repositories import Repository
from victim import SOURCE, Victim

from agnostic.__main__ import torch_agnostic
from agnostic.config import ConfigError


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    victim = Victim(Repository(tmp_path / "repository"), tmp_path / "canary", tmp_path / "program")
    victim.program.write_text("#!/bin/sh\ncat\n")
    victim.repository.write("pack/train.py", SOURCE)
    victim.repository.commit("Base")
    victim.arm()
    return victim


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run the command line in this process; what would be exit status 2 is an exception here too."""

    def run(*arguments: object, status: int = 0) -> Result:
        result = CliRunner().invoke(torch_agnostic, [str(one) for one in arguments])
        if isinstance(result.exception, ConfigError):
            result.exit_code = 2
            result.stderr_bytes = str(result.exception).encode()
        elif result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output + str(result.exception)
        return result

    return run
