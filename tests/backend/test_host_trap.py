"""The debug mode in which host code that touches device memory is stopped."""

import signal
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not (Path("/proc/cpuinfo").exists() and " pku" in Path("/proc/cpuinfo").read_text()),
    reason="memory protection keys need the CPU flag pku",
)

TOUCH = """
import ctypes, torch
x = torch.arange(4.0, device="neuron")
print((x + 1).sum().item(), x.cpu().tolist(), torch.mm(x[None], x[:, None]).item(), flush=True)
print(ctypes.c_float.from_address(x.data_ptr() + 4).value)
"""


def test_without_the_mode_nothing_is_stopped(run_python):
    assert run_python(TOUCH).stdout.split()[-1] == "1.0"


def test_host_access_ends_the_program_with_the_reason(run_python):
    result = run_python(TOUCH, NEURON_REF_TRAP_HOST_ACCESS="1")
    assert result.returncode == -signal.SIGSEGV
    assert result.stdout.splitlines() == ["10.0 [0.0, 1.0, 2.0, 3.0] 14.0"]
    assert "host code read or wrote accelerator memory" in result.stderr


def test_training_runs_in_the_mode(run_python):
    program = """
import torch
from parity import train
for case in ("gpt-dropout", "cnn", "lstm"):
    print(train("neuron", case, steps=3))
torch.set_num_threads(2)
x = torch.randn(512, 512, device="neuron")
print((x @ x).sum().isfinite().item(), torch.save({"x": x}, "/dev/null"))
"""
    trapped, free = (run_python(program, NEURON_REF_TRAP_HOST_ACCESS=mode) for mode in "10")
    assert trapped.returncode == 0, trapped.stderr
    assert trapped.stdout == free.stdout
