"""A program that never used the device it was given proves nothing about it, however equal the curves are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from recorded import inference, needs_recorder, run

from agnostic.proof.compare import compare
from agnostic.proof.program import Run

REACHED = {"kind": "reached", "device": "neuron"}


def idle(*events: dict) -> Run:
    """A run on neuron that trained on the CPU."""
    trained = run("neuron", [1.0], where="cpu")
    trained.ranks[0] += events
    return trained


def test_training_on_the_cpu_is_told() -> None:
    verdict = compare(run("cpu", [1.0]), idle())
    assert (verdict.outcome, verdict.good) == ("never used", False)
    assert "the program never used neuron: every loss and every parameter stayed on cpu" in str(verdict)


def test_the_yardstick_has_to_use_its_device_too() -> None:
    assert compare(idle(), run("tpu", [1.0])).outcome == "never used"


def test_inference_on_the_cpu_is_told() -> None:
    verdict = compare(inference("cpu", [0.5], "cpu"), inference("neuron", [0.5], "cpu"))
    assert "never used neuron: every value read stayed on cpu" in str(verdict)


def test_a_program_that_did_nothing_at_all_is_told() -> None:
    verdict = compare(run("cpu", []), run("neuron", []))
    assert str(verdict) == "cpu and neuron: the program never used neuron: nothing was ever placed on it"


def test_results_may_be_read_after_they_were_copied_to_the_cpu() -> None:
    there = inference("neuron", [0.5], "cpu")
    there.ranks[0].append(REACHED)
    verdict = compare(inference("cpu", [0.5], "cpu"), there)
    assert str(verdict) == "cpu and neuron: same, bit for bit (0 losses, 0 optimizer steps, 1 value read)"


def test_one_part_on_the_device_is_use() -> None:
    loss_there, loss_on_cpu = run("neuron", [1.0]).ranks[0][0], run("cpu", [1.0]).ranks[0][0]
    yardstick = run("cpu", [1.0])
    yardstick.ranks[0].append(loss_on_cpu)
    assert compare(yardstick, idle(loss_there)).outcome == "same"


def test_learning_on_the_cpu_beside_a_device_that_was_used_is_remarked() -> None:
    verdict = compare(run("cpu", [1.0]), idle(REACHED))
    assert verdict.good
    assert str(verdict).endswith("; on neuron every loss and every parameter stayed on cpu")


@pytest.mark.parametrize("device", ["cpu", "stand-in"])
def test_the_cpu_and_the_stand_in_are_no_devices_to_be_used(device: str) -> None:
    assert compare(run("cpu", [1.0]), run(device, [1.0], where="cpu")).outcome == "same"


SOURCE = """import torch
torch.cuda.empty_cache()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def touch(path: Path, line: int, what: str, time: float) -> dict:
    return {"kind": "touch", "file": str(path), "line": line, "end": line, "what": what, "fatal": False, "time": time}


def test_the_first_line_that_asked_for_cuda_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    questions = [touch(path, 2, "torch.cuda.empty_cache", 1.0), touch(path, 3, "torch.cuda.is_available", 2.0)]
    text = str(compare(run("cpu", [1.0]), idle(*questions)))
    assert "train.py:3 asked for CUDA instead: torch.cuda.is_available (AGN301 device-idiom)" in text


def test_a_decision_that_the_linter_knows_is_named_if_no_line_asked(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    text = str(compare(run("cpu", [1.0]), idle({**idle().ranks[0][0], "file": str(path), "line": 9, "time": 1.0})))
    assert "train.py:3 may have decided that (AGN301 device-idiom)" in text


def test_the_first_line_that_computed_is_named_if_nothing_else_is_known(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import torch\n")
    text = str(compare(run("cpu", [1.0]), idle({**idle().ranks[0][0], "file": str(path), "line": 9, "time": 1.0})))
    assert text.endswith("train.py:9")
    assert "it first computed at " in text


TRAINING = """
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 3).to(device)).square().mean().backward()
    optimizer.step()
"""
FORKED_INFERENCE = """
import multiprocessing
import torch

def serve():
    device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    print((torch.arange(3.0, device=device) * 2).cpu().tolist())

if __name__ == "__main__":
    server = multiprocessing.get_context("fork").Process(target=serve)
    server.start()
    server.join()
    raise SystemExit(server.exitcode)
"""


def command(folder: Path, source: str, *words: str) -> subprocess.CompletedProcess:
    """Run a command of torch-agnostic on a program."""
    (folder / "train.py").write_text(source)
    line = [sys.executable, "-m", "agnostic", *words, "train.py"]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True)


@needs_recorder
@pytest.mark.slow
def test_verify_fails_and_says_so_in_all_its_outputs(tmp_path: Path) -> None:
    result = command(tmp_path, TRAINING, "verify", "--on", "cpu,neuron", "--output", "out")
    says = (
        "the program never used neuron: every loss and every parameter stayed on cpu; "
        "train.py:3 asked for CUDA instead: torch.cuda.is_available (AGN301 device-idiom)"
    )
    assert result.returncode == 1, result.stderr
    assert f"cpu and neuron: {says}" in result.stdout
    assert says in (tmp_path / "out/verify.html").read_text()
    verdict = json.loads((tmp_path / "out/verify.json").read_text())["verdicts"][0]
    assert (verdict["outcome"], verdict["reason"]) == ("never used", says)
    failure = ElementTree.parse(tmp_path / "out/verify.xml").find("testcase/failure")
    assert failure is not None
    assert says in str(failure.get("message"))


@needs_recorder
@pytest.mark.slow
def test_run_says_so_and_keeps_the_status_of_the_program(tmp_path: Path) -> None:
    result = command(tmp_path, TRAINING, "run", "--on", "neuron")
    assert result.returncode == 0
    assert "torch-agnostic: the program never used neuron: every loss" in result.stderr


@needs_recorder
@pytest.mark.slow
def test_run_is_silent_about_a_program_that_used_its_device(tmp_path: Path) -> None:
    source = TRAINING.replace('torch.device("cuda" if torch.cuda.is_available() else "cpu")', '"neuron"')
    result = command(tmp_path, source, "run", "--on", "neuron")
    assert (result.returncode, result.stderr) == (0, "")


@needs_recorder
@pytest.mark.slow
def test_the_device_may_be_used_in_a_forked_process_only(tmp_path: Path) -> None:
    result = command(tmp_path, FORKED_INFERENCE, "verify", "--on", "cpu,neuron", "--output", "out")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "same, bit for bit (0 losses, 0 optimizer steps, 3 values read)" in result.stdout
