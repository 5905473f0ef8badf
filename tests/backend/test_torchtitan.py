"""torchtitan, unmodified, under torchrun with FSDP2 on two processes (needs torchtitan 0.2.2 and triton
installed)."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

missing = [name for name in ("torchtitan", "triton", "datasets") if importlib.util.find_spec(name) is None]


@pytest.mark.slow
@pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
def test_learns_the_same_in_two_processes_in_one_and_in_a_plain_loop(tmp_path):
    program = Path(__file__).with_name("torchtitan_train.py")
    result = subprocess.run([sys.executable, str(program), str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
