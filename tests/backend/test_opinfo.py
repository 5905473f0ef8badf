"""PyTorch's own operator samples, through PyTorch's own device-generic machinery: what passes on the CPU
passes here.

A fixed sample by default; `opinfo_table.py` and `pytest -m ''` run all.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
pytest.importorskip("expecttest", reason="PyTorch's test machinery needs expecttest")


def compare(*options):
    return subprocess.run([sys.executable, str(HERE / "opinfo_table.py"), *options], capture_output=True, text=True)


def test_sample_of_the_operators():
    result = compare("--one-in", "60")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_all_operators():
    result = compare()
    assert result.returncode == 0, result.stdout + result.stderr


def test_few_operators_are_skipped_and_each_has_a_reason():
    skips = tomllib.loads((HERE / "opinfo_skips.toml").read_text())["skip"]
    assert len(skips) <= 15
    assert all(len(entry["reason"]) > 20 for entry in skips)
