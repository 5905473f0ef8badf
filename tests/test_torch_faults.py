"""Faults of the installed torch that the rules mend, shown on a copy of it: before and after."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agnostic.config import Settings
from agnostic.fix import fix_bytes

pytestmark = pytest.mark.slow

DLPACK = """
import types, torch
torch.utils.rename_privateuse1_backend("renamed")
tensor = types.SimpleNamespace(device=torch.device("renamed", 3), is_pinned=lambda: False)
print(torch.Tensor.__dlpack_device__.__code__.co_filename)
print(*torch.Tensor.__dlpack_device__(tensor))
"""


def copy_of_torch(folder: Path, changed: dict[str, bytes]) -> Path:
    """A folder to import torch from: the installed one by links, but for some files."""
    torch = find_spec("torch")
    if torch is None:
        pytest.skip("torch is not installed")
    installed = Path(torch.origin).parent
    copy = folder / "torch"
    copy.mkdir()
    for path in installed.iterdir():
        if path.name in changed:
            (copy / path.name).write_bytes(changed[path.name])
        elif path.name != "__pycache__":
            (copy / path.name).symlink_to(path)
    return copy


def run(folder: Path, program: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_tensor_of_a_renamed_backend_has_a_dlpack_device(tmp_path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    copy = copy_of_torch(before, {})
    original = (copy / "_tensor.py").read_bytes()
    failed = run(before, DLPACK)
    assert "Unknown device type renamed for Dlpack" in failed.stderr

    settings = Settings(root=copy.parent, profile="generic", select=("AGN306",), target_torch="2.13")
    fixed = fix_bytes(copy / "_tensor.py", original, settings)
    assert len(fixed.fixed) == 1
    after = tmp_path / "after"
    after.mkdir()
    copy_of_torch(after, {"_tensor.py": fixed.after})
    done = run(after, DLPACK)
    assert done.stdout.splitlines() == [str(after / "torch/_tensor.py"), "12 3"], done.stderr
