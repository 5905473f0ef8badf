"""What `verify` and `run` say about programs of all kinds, right and wrong ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import needs_recorder, reference

from agnostic.proof.program import command_line, environment


def test_one_setting_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_AGNOSTIC_BACKEND", "other")
    assert "TORCH_AGNOSTIC_BACKEND" not in environment("cpu")
    assert environment("tpu")["TORCH_AGNOSTIC_BACKEND"] == "tpu"


def test_programs_are_started_as_python_starts_them() -> None:
    assert command_line(["train.py", "--lr", "1"], 1) == [sys.executable, "train.py", "--lr", "1"]
    assert command_line(["-m", "pkg", "x"], 2)[-5:] == [
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        "pkg",
        "x",
    ]
    assert command_line(["torchrun", "train.py"], 1) == ["torchrun", "train.py"]


HEADER = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOOP = """
for step in range(STEPS):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 3)).square().mean()
    loss.backward()
    optimizer.step()
"""


def verify(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess:
    """Run `verify` on a program, on the CPU only, against the report in the same folder."""
    (folder / "train.py").write_text(source)
    command = [
        sys.executable,
        "-m",
        "agnostic",
        "verify",
        "--on",
        "cpu",
        "--output",
        "out",
        *options,
        "train.py",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@needs_recorder
def test_a_program_is_stopped_after_some_steps(tmp_path: Path) -> None:
    source = HEADER + LOOP.replace("STEPS", "10**9")
    result = verify(tmp_path, source, "--steps", "3", "--timeout", "120", "--reference", reference(tmp_path))
    assert result.returncode == 1, result.stderr
    events = json.loads((tmp_path / "out/verify.json").read_text())["runs"][0]["ranks"]["0"]
    assert [event["kind"] for event in events] == ["loss", "step"] * 3
    assert events[1]["gradient_norm"] > 0
    assert events[1]["devices"] == ["cpu"]
    assert (tmp_path / "out/verify.html").exists()
    assert (tmp_path / "out/verify.xml").exists()


@needs_recorder
@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise ValueError('broken data')", ["on cpu the program failed", "ValueError: broken data"]),
        ("name = input('Which run? ')", ["on cpu the program asked for input", "train.py"]),
        (
            "import time\ndef wait_for_ever():\n    time.sleep(10**6)\nwait_for_ever()",
            ["in time", "wait_for_ever"],
        ),
    ],
    ids=["fails", "asks", "hangs"],
)
def test_a_program_that_does_not_end(source: str, says: list[str], tmp_path: Path) -> None:
    result = verify(tmp_path, HEADER + source, "--timeout", "20", "--reference", reference(tmp_path))
    assert result.returncode == 1
    for text in says:
        assert text in result.stdout + result.stderr


@needs_recorder
@pytest.mark.slow
def test_evaluation_accumulation_and_several_optimizers(tmp_path: Path) -> None:
    source = HEADER + (
        "other = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])\n"
        "for _ in range(2):\n"
        "    for _ in range(3):\n        model(torch.randn(4, 3)).square().mean().backward()\n"
        "    optimizer.step(); optimizer.zero_grad()\n"
        "other.param_groups[0]['params'][0].sum().backward(); other.step()\n"
        "with torch.no_grad():\n    print(model(torch.ones(1, 3)).item())\n"
    )
    verify(tmp_path, source, "--reference", reference(tmp_path))
    events = json.loads((tmp_path / "out/verify.json").read_text())["runs"][0]["ranks"]["0"]
    assert "".join(event["kind"][0] for event in events) == "lllslllslsr"
    assert [event["optimizer"] for event in events if event["kind"] == "step"] == [0, 0, 1]


@needs_recorder
@pytest.mark.slow
def test_where_a_program_reaches_for_cuda_is_listed_beside_the_findings(tmp_path: Path) -> None:
    source = HEADER + "torch.cuda.empty_cache()\nname = 'cuda'\nreach = getattr(torch, name).manual_seed\nreach(0)\n"
    result = verify(tmp_path, source + LOOP.replace("STEPS", "1"), "--reference", reference(tmp_path))
    lines = {
        line.partition(":")[2].partition(":")[0]: line for line in result.stdout.splitlines() if "train.py:" in line
    }
    assert "torch.cuda.empty_cache  [AGN101]" in lines["6"]
    assert "torch.cuda.manual_seed  [MISSED by the linter: seed should report it]" in lines["8"]


@needs_recorder
@pytest.mark.slow
def test_run_keeps_the_status_and_lists_touches(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys, torch\ntorch.cuda.manual_seed(1)\nprint(sys.argv)\nsys.exit(3)\n")
    command = [sys.executable, "-m", "agnostic", "run", "--on", "cpu", "train.py", "--lr", "1"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 3
    assert "['train.py', '--lr', '1']" in result.stdout
    assert "train.py:2: torch.cuda.manual_seed" in result.stderr


@needs_recorder
@pytest.mark.slow
def test_a_process_keeps_its_rank_when_its_group_is_gone(tmp_path: Path) -> None:
    source = (
        "import torch, torch.distributed as dist, torch.multiprocessing as mp\n"
        "def work(rank, path):\n"
        "    dist.init_process_group('gloo', init_method=f'file://{path}', rank=rank, world_size=2)\n"
        "    dist.destroy_process_group()\n"
        "    print(torch.tensor(float(rank)).item())\n"
        "if __name__ == '__main__':\n"
        f"    mp.spawn(work, ({str(tmp_path / 'meeting')!r},), 2)\n"
    )
    verify(tmp_path, source, "--reference", reference(tmp_path))
    ranks = json.loads((tmp_path / "out/verify.json").read_text())["runs"][0]["ranks"]
    values = {rank: [event["values"] for event in events if event["kind"] == "read"] for rank, events in ranks.items()}
    assert values == {"0": [[0.0]], "1": [[1.0]]}
