"""A patch series for a test: a project with something to fix, its patches, and what they make of a clone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from repositories import Repository

AUTHOR = ("--author", "A Person <person@example.com>")
FILES = {
    "pack/train.py": (
        "import torch\n\n\ndef step():\n    torch.cuda.synchronize()\n    if torch.cuda.is_available():\n"
        "        torch.cuda.empty_cache()\n"
    ),
    "pack/deep/model.py": (
        "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n\n\ndef wait():\n    torch.cuda.synchronize()\n"
    ),
    "pack/kept.py": "import torch\n\ntorch.cuda.nvtx.mark('x')\n",
    "tests/test_it.py": 'import torch\n\nx = torch.ones(2, device="cuda")\n',
    "README.md": "A project\n",
    "pyproject.toml": "[tool.torch-agnostic]\nassume-accelerator = true\n",
}


def cuda_project(repository: Repository) -> Repository:
    """The repository with a commit of FILES."""
    for name, text in FILES.items():
        repository.write(name, text)
    repository.commit("Base")
    return repository


def series(run, source, output, *more):
    """The patches in a folder."""
    run("patch", source, "-o", output, *AUTHOR, *more)
    return sorted(output.glob("*.patch"))


def apply(project: Repository, patches, target: Path) -> Repository:
    """A clone of a project with patches applied by `git am`."""
    subprocess.run(["git", "clone", "-q", str(project.folder), str(target)], check=True)
    clone = Repository(target)
    clone.git("am", "--keep-non-patch", *map(str, patches))
    return clone


def tree(folder: Path) -> dict[str, bytes]:
    return {
        os.path.relpath(path, folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def patches_of(paths) -> list[bytes]:
    return [path.read_bytes() for path in paths]
