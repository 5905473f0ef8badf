"""The exit status of the program itself: 0 clean, 1 findings, 2 the run failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["check", "clean.py"], 0),
        (["check", "locked.py"], 1),
        (["fix", "locked.py"], 1),
        (["fix", "--apply", "locked.py"], 0),
        (["fix", "--fix-only", "--apply", "kept.py"], 0),
        (["fix", "--apply", "kept.py"], 1),
        (["check", "missing.py"], 2),
        (["check", "--no-such-option"], 2),
        (["check", "--select", "XYZ1", "clean.py"], 2),
    ],
)
def test_status(tmp_path: Path, arguments, status) -> None:
    (tmp_path / "clean.py").write_text("import torch\n")
    (tmp_path / "locked.py").write_text("import torch\n\ntorch.cuda.synchronize()\n")
    (tmp_path / "kept.py").write_text("import torch\n\ntorch.cuda.nvtx.mark('x')\n")
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from agnostic.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == status, done.stderr
