"""The flake8 plugin reports what `check` reports, once it is asked to."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["flake8.extension"]


@pytest.fixture
def flake8(tmp_path: Path):
    """Runs flake8 in a folder of a file with one finding, with the plugin as the entry point names it."""
    pytest.importorskip("flake8", reason="flake8 is not installed")
    (tmp_path / "a.py").write_text("import torch\n\nif True:\n    torch.cuda.synchronize()\n")
    plugin = f"AGN = {ENTRY['AGN']}"
    (tmp_path / ".flake8").write_text(f"[flake8:local-plugins]\nextension = {plugin}\npaths = {ROOT}\n")

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "flake8", *arguments, "a.py"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    return run


def test_it_reports_when_selected(flake8) -> None:
    assert flake8("--enable-extensions=AGN").startswith("a.py:4:5: AGN101 `torch.cuda.synchronize` is CUDA only;")


def test_it_is_silent_until_then(flake8) -> None:
    assert flake8() == ""
