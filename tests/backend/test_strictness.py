"""Strict mode refuses what such chips refuse; operators can be refused by name; what ran is counted."""

import os
import subprocess
import sys

import pytest
import torch

neuron = torch.get_device_module()


@pytest.fixture(autouse=True)
def lenient_afterwards():
    yield
    neuron.accept_everything()


def test_strict_mode_refuses_64_bit_floats(device):
    neuron.strict()
    assert neuron.is_strict()
    for make in (
        lambda: torch.ones(2, dtype=torch.float64, device=device),
        lambda: torch.ones(2, dtype=torch.float64).to(device),
        lambda: torch.ones(2, device=device).double(),
    ):
        with pytest.raises(TypeError, match=f"Double is not supported on {device.type}"):
            make()
    assert torch.ones(2, device=device).sum().item() == 2
    neuron.strict(False)
    assert torch.ones(2, dtype=torch.float64, device=device).sum().item() == 2


def test_refused_operator(device):
    neuron.refuse(operators=["aten::erfinv", "aten::sort.stable"])
    with pytest.raises(NotImplementedError, match=f"'aten::erfinv' is not supported on {device.type}"):
        torch.zeros(1, device=device).erfinv()
    with pytest.raises(NotImplementedError, match=r"aten::sort\.stable"):
        torch.zeros(3, device=device).sort(stable=True)
    neuron.accept_everything()
    assert torch.zeros(1, device=device).erfinv().item() == 0


def test_settings_are_read_at_registration(run_python):
    program = """
import torch
one = torch.zeros(1, device="neuron")
for action in (lambda: one.erfinv(), lambda: one.double()):
    try:
        action()
    except (NotImplementedError, TypeError) as error:
        print(type(error).__name__)
"""
    result = run_python(program, NEURON_REF_STRICT="1", NEURON_REF_REFUSE="aten::erfinv,aten::gelu")
    assert result.stdout.split() == ["NotImplementedError", "TypeError"]


def test_operators_are_counted(device):
    with neuron.counted() as counts:
        x = torch.ones(4, 4, device=device)
        (x @ x).relu()
        torch.nn.functional.conv1d(x[None], torch.ones(4, 4, 1, device=device))
    assert counts["aten::mm"] == 1
    assert counts["aten::relu"] == 1
    assert counts["aten::convolution_overrideable"] == 1
    x @ x
    assert neuron.call_counts()["aten::mm"] == 1  # counting has ended
    neuron.reset_call_counts()
    neuron.count_calls()
    x @ x
    neuron.count_calls(False)
    assert neuron.call_counts() == {"aten::mm": 1}


@pytest.fixture
def ops(tmp_path):
    """Run `backend ops` on a script."""

    def run(source, *options, arguments=()):
        script = tmp_path / "program.py"
        script.write_text(source)
        command = [sys.executable, "-m", "backend_ref", "ops", *options, str(script), *arguments]
        environment = {**os.environ, "TORCH_AGNOSTIC_BACKEND": ""}
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    return run


PROGRAM = """
import sys, torch
device = torch.accelerator.current_accelerator()
for _ in range(3):
    torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)
torch.ones(3, device=device).sort()
print("arguments", sys.argv[1:], __name__)
"""


def test_report_lists_what_a_program_used(ops):
    result = ops(PROGRAM, arguments=["--epochs", "3"])
    assert result.returncode == 0
    assert "arguments ['--epochs', '3'] __main__" in result.stdout
    assert any(line.split() == ["3", "aten::mm"] for line in result.stdout.splitlines())
    assert "calls of" in result.stdout.splitlines()[-1]


def test_report_marks_what_a_target_does_not_document(ops):
    result = ops(PROGRAM, "--target", "trn2")
    marked = [line.split()[1] for line in result.stdout.splitlines() if line.endswith("not documented")]
    assert "aten::sort.stable" in marked
    assert "aten::mm" not in marked
    assert "trn2 does not document" in result.stdout.splitlines()[-1]


def test_unknown_target_names_the_known_ones(ops):
    result = ops(PROGRAM, "--target", "abacus")
    assert result.returncode == 2
    assert "there are tpu, trn2, trn3" in result.stderr


def test_failing_program_is_reported_and_its_exit_code_kept(ops):
    result = ops(PROGRAM + "raise SystemExit(7)\n")
    assert result.returncode == 7
    assert "aten::mm" in result.stdout
