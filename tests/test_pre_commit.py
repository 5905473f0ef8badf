"""The hooks under the real pre-commit, in a scratch repository. It installs the tool, so these are slow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repositories import Repository

ROOT = Path(__file__).parent.parent
LOCKED = "import torch\n\ntorch.cuda.synchronize()\n"
OPEN = "import torch\n\ntorch.accelerator.synchronize()\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def product(tmp_path_factory) -> tuple[Path, Path]:
    """A git repository of this project as it stands here, and a home for pre-commit."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    folder = tmp_path_factory.mktemp("product")
    for name in ("agnostic", "codemods", "backend_ref"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, folder / name)
    Repository(folder).commit()
    return folder, tmp_path_factory.mktemp("pre-commit-home")


class Scratch(Repository):
    """A repository that uses the hooks."""

    def __init__(self, folder: Path, product: Path, home: Path) -> None:
        super().__init__(folder)
        self.home = home
        revision = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=product, text=True).strip()
        self.write(
            ".pre-commit-config.yaml",
            f"repos:\n- repo: {product}\n  rev: {revision}\n"
            "  hooks:\n  - id: torch-agnostic\n  - id: torch-agnostic-fix\n    stages: [manual]\n",
        )

    def pre_commit(self, *arguments: str) -> tuple[int, str]:
        """The exit status of pre-commit and all it says."""
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=self.folder,
            env={**os.environ, "PRE_COMMIT_HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
        )
        output = done.stdout + done.stderr
        if "pip" in output and "install" in output and "CalledProcessError" in output:
            pytest.skip("pip could not install the hook; is there a package index?")
        return done.returncode, output


@pytest.fixture
def scratch(product, tmp_path) -> Scratch:
    return Scratch(tmp_path / "scratch", *product)


def test_a_commit_with_cuda_only_code_fails_and_one_without_passes(scratch) -> None:
    assert scratch.pre_commit("install")[0] == 0
    path = scratch.write("train.py", LOCKED)
    scratch.git("add", "-A")
    refused = subprocess.run(
        ["git", "commit", "-m", "x"],
        cwd=scratch.folder,
        env={**os.environ, "PRE_COMMIT_HOME": str(scratch.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode
    assert "train.py:3:1: AGN101" in refused.stdout + refused.stderr
    path.write_text(OPEN)
    scratch.git("add", "-A")
    scratch.git("commit", "-m", "x", PRE_COMMIT_HOME=str(scratch.home))


def test_the_fixing_hook_rewrites_and_fails_once(scratch) -> None:
    scratch.write("pyproject.toml", "[tool.torch-agnostic]\nassume-accelerator = true\n")
    path = scratch.write("train.py", LOCKED + "torch.cuda.nvtx.mark('kept')\n")
    scratch.git("add", "-A")
    run = ("run", "--hook-stage", "manual", "torch-agnostic-fix", "--all-files")
    status, output = scratch.pre_commit(*run)
    assert status == 1
    assert "files were modified by this hook" in output
    assert path.read_text() == OPEN + "torch.cuda.nvtx.mark('kept')\n"
    scratch.git("add", "-A")
    assert scratch.pre_commit(*run)[0] == 0


def test_excluded_files_stay_excluded_though_pre_commit_names_them(scratch) -> None:
    scratch.write("pyproject.toml", '[tool.torch-agnostic]\nextend-exclude = ["vendored"]\n')
    scratch.write("vendored/train.py", LOCKED)
    scratch.git("add", "-A")
    status, output = scratch.pre_commit("run", "torch-agnostic", "--files", "vendored/train.py")
    assert status == 0, output


def test_a_range_of_commits_checks_its_files(scratch) -> None:
    scratch.write("old.py", LOCKED)
    base = scratch.commit()
    scratch.write("fine.py", OPEN)
    middle = scratch.commit()
    scratch.write("new.py", LOCKED)
    head = scratch.commit()
    status, output = scratch.pre_commit("run", "torch-agnostic", "--from-ref", base, "--to-ref", middle)
    assert status == 0, output
    status, output = scratch.pre_commit("run", "torch-agnostic", "--from-ref", base, "--to-ref", head)
    assert status == 1
    assert "new.py:3:1" in output
    assert "old.py" not in output


def test_old_findings_in_the_baseline_pass(scratch) -> None:
    scratch.write("pyproject.toml", '[tool.torch-agnostic]\nbaseline = "b.json"\n')
    scratch.write("b.json", '{"version": 1, "counts": {"train.py": {"AGN101": 1}}}')
    path = scratch.write("train.py", LOCKED)
    scratch.git("add", "-A")
    assert scratch.pre_commit("run", "torch-agnostic", "--all-files")[0] == 0
    path.write_text(LOCKED * 2)
    scratch.git("add", "-A")
    assert scratch.pre_commit("run", "torch-agnostic", "--all-files")[0] == 1
