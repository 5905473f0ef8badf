"""The proof on code that others wrote, as it comes from PyPI."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest
from miniature import ONE_THREAD, has_recorder

from agnostic.proof.compare import compare
from agnostic.proof.program import Run, prepare, record

HERE = Path(__file__).resolve().parent / "real_code"


def torchtitan_version() -> str:
    """The version that is installed, or nothing."""
    try:
        return version("torchtitan")
    except PackageNotFoundError:
        return ""


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with torchtitan as `fix --apply` leaves it."""
    spec = find_spec("torchtitan")
    assert spec is not None
    assert spec.submodule_search_locations
    root = tmp_path_factory.mktemp("torchtitan")
    shutil.copytree(
        spec.submodule_search_locations[0], root / "torchtitan", ignore=shutil.ignore_patterns("__pycache__")
    )
    fix = [sys.executable, "-m", "agnostic", "fix", "--apply", "--unsafe-fixes", "torchtitan"]
    assert subprocess.run(fix, cwd=root).returncode in (0, 1)
    return root


def train(device: str, folder: Path, path: Path | None = None) -> Run:
    """Six steps of the Llama 3 debug model."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1"]
    script = [str(HERE / "train_torchtitan.py"), "--training.steps", "6", "--debug.seed", "1"]
    extra = {**ONE_THREAD, "HF_HUB_OFFLINE": "1", **({"PYTHONPATH": str(path)} if path else {})}
    return record([*launcher, *script], device, timeout=300, extra=extra, cwd=folder)


@pytest.mark.slow
@pytest.mark.skipif(not has_recorder(), reason="torch-agnostic is not installed (`pip install -e .[test]`)")
@pytest.mark.skipif(torchtitan_version() != "0.2.2", reason="needs torchtitan 0.2.2")
@pytest.mark.skipif(find_spec("triton") is None, reason="torchtitan imports triton, which is not installed")
def test_torchtitan_learns_the_same(rewritten: Path, tmp_path: Path) -> None:
    """The original takes CUDA where there is no accelerator; its rewrite learns on the CPU and on neuron."""
    prepare(["neuron"])
    original = train("cpu", tmp_path)
    assert original.status == "failed"
    assert "_cuda_setDevice" in original.traceback
    verdict = compare(train("cpu", tmp_path, rewritten), train("neuron", tmp_path, rewritten), 0)
    assert verdict.outcome == "same", str(verdict)
    assert verdict.counts[0] == 6
