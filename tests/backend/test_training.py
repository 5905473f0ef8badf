"""Training gives the CPU's losses and parameters bit for bit in float32; a second run gives the first
one's."""

import pytest
from parity import CASES, train

PROGRAM = "import runpy, sys; sys.argv = ['parity', sys.argv[1]]; runpy.run_module('parity', run_name='__main__')"


@pytest.fixture(scope="module")
def outcomes(request):
    """{case: losses and parameter sums} of the CPU and of the device, each from a process of its own."""
    import os
    import subprocess
    import sys
    from pathlib import Path

    def run(device):
        output = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("parity.py")), device],
            env={**os.environ, "NEURON_REF_RNG": "shared"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return dict(line.split(" ", 1) for line in output.splitlines())

    return run("cpu"), run("neuron")


@pytest.mark.parametrize("case", CASES)
def test_equals_the_cpu_bit_for_bit(outcomes, case):
    on_cpu, on_device = outcomes
    assert on_device[case] == on_cpu[case]


@pytest.mark.parametrize("case", ["gpt-dropout", "lstm"])
def test_repeats_with_the_devices_own_random_numbers(device, case):
    first = train(device, case, steps=4)
    assert train(device, case, steps=4) == first
    assert first != train("cpu", case, steps=4)
