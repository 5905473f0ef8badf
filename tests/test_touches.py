"""Where a running program reaches for CUDA: each place is listed with what the linter says about it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import needs_recorder

pytestmark = [needs_recorder, pytest.mark.slow]

CAUGHT = """
import io, os, torch
import torch.distributed as dist
saved = io.BytesIO()
torch.save(torch.ones(2), saved)
saved.seek(0)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
def attempt(reach):
    try:
        reach()
    except (AssertionError, RuntimeError, TypeError):
        torch.set_default_device(None)
"""
REACHES = {
    'torch.zeros(1, device="cuda")': 'a "cuda" device  [AGN202]',
    'torch.ones(2).to(torch.device("cuda:0"))': 'a "cuda" device  [AGN202]',
    'torch.nn.Linear(2, 2).to("cuda")': 'a "cuda" device  [AGN202]',
    "torch.ones(2).cuda()": ".cuda()  [AGN201]",
    "torch.nn.Linear(2, 2).cuda()": ".cuda()  [AGN201]",
    "torch.cuda.synchronize()": "torch.cuda.synchronize  [AGN101]",
    'torch.set_default_device("cuda")': 'a "cuda" device  [AGN202]',
    'torch.set_default_tensor_type("torch.cuda.FloatTensor")': 'a "cuda" device  [AGN205]',
    'torch.load(saved, map_location="cuda")': 'a "cuda" device  [AGN202]',
    'torch.autocast("cuda")': 'a "cuda" device  [AGN401]',
    'torch.amp.GradScaler("cuda")': 'a "cuda" device  [AGN401]',
    'dist.init_process_group("nccl")': '"nccl"  [AGN501]',
    'dist.init_process_group(backend="cpu:gloo,cuda:nccl")': '"nccl"  [AGN501]',
}


def touches(folder: Path, source: str) -> dict[int, list[str]]:
    """What `run` lists for a program, by line."""
    (folder / "train.py").write_text(source)
    command = [sys.executable, "-m", "agnostic", "run", "--on", "cpu", "train.py"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found: dict[int, list[str]] = {}
    for line, what in re.findall(r"^torch-agnostic: reached for CUDA: train\.py:(\d+): (.*)$", result.stderr, re.M):
        found.setdefault(int(line), []).append(what)
    return found


def test_reaching_is_seen_even_if_the_program_goes_on_without(tmp_path: Path) -> None:
    source = CAUGHT + "".join(f"attempt(lambda: {reach})\n" for reach in REACHES)
    found = touches(tmp_path, source)
    first = len(CAUGHT.splitlines()) + 1
    assert sorted(found) == list(range(first, first + len(REACHES)))
    for line, what in enumerate(REACHES.values(), first):
        assert what in found[line]


def test_a_device_that_is_named_in_another_line_is_looked_up_there(tmp_path: Path) -> None:
    found = touches(tmp_path, 'import torch\ndevice = "cuda"\n\nprint(torch.ones(1).to(device))\n')
    assert list(found) == [4]
    assert all(what.endswith("[AGN202 in train.py:2]") for what in found[4])


def test_what_the_linter_does_not_report_is_named_with_the_rule(tmp_path: Path) -> None:
    found = touches(tmp_path, 'import torch\nname = "cud" + "a"\ngetattr(torch, name).manual_seed(0)\n')
    assert found == {3: ["torch.cuda.manual_seed  [MISSED by the linter: seed should report it]"]}


def test_what_torch_does_of_itself_is_not_the_programs(tmp_path: Path) -> None:
    source = 'import torch\ntorch.manual_seed(0)\n@torch.compile(backend="eager")\ndef double(x):\n    return x * 2\n'
    assert touches(tmp_path, source + "print(double(torch.ones(2)))\n") == {}
