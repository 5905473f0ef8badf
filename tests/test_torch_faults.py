"""Faults of the installed torch that the rules mend, shown on a copy of it: before and after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agnostic.config import Settings
from agnostic.fix import fix_bytes
from patches.neuron import copy, installed

pytestmark = pytest.mark.slow

DLPACK = """
import types, torch
torch.utils.rename_privateuse1_backend("renamed")
tensor = types.SimpleNamespace(device=torch.device("renamed", 3), is_pinned=lambda: False)
print(torch.Tensor.__dlpack_device__.__code__.co_filename)
print(*torch.Tensor.__dlpack_device__(tensor))
"""

GROUP = """
import torch, torch.distributed as dist
torch.utils.rename_privateuse1_backend("renamed")
torch._C._get_accelerator = lambda *_: torch.device("renamed")
def make(store, rank, size, timeout):
    return dist.ProcessGroupGloo(store, rank, size, timeout)
dist.Backend.register_backend("mine", make, devices=["renamed"])
dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
try:
    dist.group.WORLD._wait_for_pending_works()  # any function of the default backend
except RuntimeError as error:
    print(error)
"""

FLEX = """
import importlib, types, torch
torch.utils.rename_privateuse1_backend("renamed")
module = importlib.import_module("torch.nn.attention.flex_attention")
tensor = types.SimpleNamespace(device=torch.device("renamed", 0), requires_grad=False)
print(module._validate_device.__code__.co_filename)
module._validate_device(tensor, tensor, tensor)
print("accepted")
"""


def copy_of_torch(folder: Path, changed: dict[str, bytes]) -> Path:
    """A folder to import torch from: the installed one by links, but for some files."""
    copy(installed("torch"), folder / "torch", changed)
    return folder / "torch"


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


def mend(copy: Path, name: str, rule: str) -> bytes:
    """A file of torch after one rule, which has to find one thing in it."""
    settings = Settings(root=copy.parent, profile="pytorch", select=(rule,), target_torch="2.13")
    fixed = fix_bytes(copy / name, (copy / name).read_bytes(), settings)
    assert len(fixed.fixed) == 1
    return fixed.after


@pytest.fixture
def torches(tmp_path):
    """Two folders for copies of torch."""
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    return tmp_path / "before", tmp_path / "after"


def test_a_tensor_of_a_renamed_backend_has_a_dlpack_device(torches) -> None:
    before, after = torches
    copy = copy_of_torch(before, {})
    assert "Unknown device type renamed for Dlpack" in run(before, DLPACK).stderr
    copy_of_torch(after, {"_tensor.py": mend(copy, "_tensor.py", "AGN306")})
    done = run(after, DLPACK)
    assert done.stdout.splitlines() == [str(after / "torch/_tensor.py"), "12 3"], done.stderr


def test_a_group_without_a_named_backend_has_the_one_of_the_accelerator_for_default(torches) -> None:
    before, after = torches
    copy = copy_of_torch(before, {})
    assert "Could not find the default backend type 1" in run(before, GROUP).stdout
    name = "distributed/distributed_c10d.py"
    copy_of_torch(after, {name: mend(copy, name, "AGN504")})
    done = run(after, GROUP)
    assert "but got gloo backend" in done.stdout, done.stderr  # that of the group, which was asked


def test_flex_attention_accepts_a_renamed_backend(torches) -> None:
    before, after = torches
    copy = copy_of_torch(before, {})
    assert "FlexAttention is only supported on" in run(before, FLEX).stderr
    name = "nn/attention/flex_attention.py"
    copy_of_torch(after, {name: mend(copy, name, "AGN309")})
    done = run(after, FLEX)
    assert done.stdout.splitlines() == [str(after / "torch" / name), "accepted"], done.stderr
