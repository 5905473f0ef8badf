"""What `verify` and `run` say about programs of all kinds, right and wrong ones."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from miniature import has_recorder

from agnostic.proof.compare import compare, precision
from agnostic.proof.page import chart, page
from agnostic.proof.program import Run, command_line, environment
from agnostic.proof.reports import read_runs, to_json, to_junit

needs_recorder = pytest.mark.skipif(
    not has_recorder(), reason="torch-agnostic is not installed (`pip install -e .[test]`)"
)


def run(device: str, losses: Iterable[float], status: str = "ended", **more: object) -> Run:
    """A run of one rank in which each loss is followed by a step."""
    where = "cpu" if device == "cpu" else f"{device}:0"
    events = []
    for number, loss in enumerate(losses):
        events.append({"kind": "loss", "value": loss, "scale": more.get("scale", 1.0), "autocast": [], "device": where})
        step = {"name": "SGD", "gradient_norm": loss * 2, "parameter_norm": 1.0, "digest": f"{loss!r}"}
        events.append({"kind": "step", **step, "devices": [where], "dtypes": [str(more.get("dtype", "float32"))]})
        if "reads" in more:
            events.append(
                {
                    "kind": "read",
                    "values": [more["reads"][number]],
                    "file": "a.py",
                    "line": 3,
                    "device": where,
                }
            )  # type: ignore[index]
    return Run(device, status, 0, 1.0, "", {0: events} if events else {})


@pytest.mark.parametrize(
    ("left", "right", "rtol", "outcome", "text"),
    [
        ([2.0, 1.0], [2.0, 1.0], None, "same", "bit for bit (2 losses, 2 optimizer steps"),
        ([2.0, 1.0], [2.0, 1.00001], None, "within tolerance", "bit for bit up to loss 1: 1 and 1.00001"),
        ([2.0, 1.0], [2.0, 1.00001], 0, "different", "different, from loss 1: 1 and 1.00001 on"),
        ([2.0, 1.0], [2.0, 1.1], None, "different", "from loss 1"),
        ([2.0, 1.0], [2.0], None, "different", "loss 1: 1 and nothing"),
        ([2.0, math.nan], [2.0, math.nan], None, "same", ""),
        ([2.0, 1.0], [2.0, math.nan], 10.0, "different", "loss 1: 1 and nan"),
        ([], [], None, "no comparison", "no loss was back-propagated"),
    ],
)
def test_verdicts(left: list[float], right: list[float], rtol: float | None, outcome: str, text: str) -> None:
    verdict = compare(run("cpu", left), run("neuron", right), rtol)
    assert verdict.outcome == outcome
    assert text in str(verdict)


def test_the_tolerance_follows_the_precision() -> None:
    left, right = run("cpu", [1.0, 1.0]), run("neuron", [1.0, 1.01], dtype="bfloat16")
    assert precision(left, right) == "bfloat16"
    assert compare(left, right).outcome == "within tolerance"


def test_a_program_that_never_used_the_device_is_different() -> None:
    idle = run("cpu", [1.0])
    idle.device = "neuron"
    assert "nothing was done on the device; it computed on cpu" in str(compare(run("cpu", [1.0]), idle))


def test_values_that_are_read_count_where_nothing_is_trained() -> None:
    left, right = (run("cpu", [1.0], reads=[0.9]), run("neuron", [1.0], reads=[0.5]))
    assert "value read 0 (a.py:3): 0.9 and 0.5" in str(compare(left, right))


def test_a_loss_scale_counts_between_runs_on_one_kind_of_device_only() -> None:
    scaled, plain = run("neuron", [1.0], scale=65536.0), run("neuron", [1.0])
    assert "loss scale 0" in str(compare(scaled, plain))
    assert compare(run("cpu", [1.0]), scaled).outcome == "same"


@pytest.mark.parametrize(("status", "text"), [("failed", "failed"), ("hung", "in time"), ("asked", "asked for input")])
def test_a_program_that_did_not_end_is_no_comparison(status: str, text: str) -> None:
    verdict = compare(run("cpu", [1.0]), run("neuron", [1.0], status))
    assert not verdict.good
    assert f"on neuron the program {text}" in str(verdict) or text in str(verdict)


def test_the_page_shows_both_curves_without_scripts() -> None:
    runs = [("cpu", run("cpu", [3.0, 2.0, 1.0])), ("neuron", run("neuron", [3.0, 2.0, 1.0]))]
    text = page("train.py", [compare(runs[0][1], runs[1][1])], runs, None)
    assert text.count("<svg") == 2
    assert text.count("<polyline") == 4
    assert "<script" not in text
    assert "http" not in text
    svg = chart([("cpu", [1.0, math.nan, 2.0]), ("neuron", [])], "step")
    assert ElementTree.fromstring(svg).tag == "svg"


def test_the_report_can_be_read_again(tmp_path: Path) -> None:
    runs = [run("cpu", [1.0, 0.5]), run("neuron", [1.0, 0.5])]
    verdicts = [compare(*runs)]
    (tmp_path / "verify.json").write_text(to_json(["train.py"], verdicts, runs, None))
    again = read_runs(tmp_path / "verify.json")
    assert compare(again["cpu"], again["neuron"]) == verdicts[0]


def test_the_junit_file_names_the_failure() -> None:
    runs = [run("cpu", [1.0]), run("neuron", [2.0])]
    suite = ElementTree.fromstring(to_junit(["train.py"], [compare(*runs)], runs))
    assert suite.get("failures") == "1"
    assert "loss 0: 1 and 2" in suite.find("testcase/failure").get("message")  # type: ignore[union-attr,operator]


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


def reference(folder: Path) -> str:
    """A report to compare with."""
    path = folder / "reference.json"
    path.write_text(to_json(["train.py"], [], [run("cpu", [1.0])], None))
    return str(path)


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
