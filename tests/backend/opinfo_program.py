"""Run PyTorch's own operator samples (`op_db`) through PyTorch's own device-generic test machinery, on one
device.

    TORCH_AGNOSTIC_BACKEND=neuron NEURON_REF_RNG=shared python opinfo_program.py --device neuron --report
    out.json

Every entry of `op_db` is run with float32, bfloat16, int64 and bool, as far as it supports them, on all its
samples; results and gradients are compared with those of the CPU. `--device cpu` runs the same tests on the
CPU: what fails there is a matter of the samples, not of the device.
"""

import argparse
import json
import sys
import time
import tomllib
import unittest
import warnings
import zlib
from pathlib import Path

import torch
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase
from torch.utils._pytree import tree_flatten, tree_map

DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool)
SKIPS = {
    entry["operator"]: entry
    for entry in tomllib.loads(Path(__file__).with_name("opinfo_skips.toml").read_text())["skip"]
}
FACTORIES = ("arange", "linspace", "logspace")  # their samples name no device and ask for CPU results
torch.set_num_threads(1)
warnings.filterwarnings("ignore")


def on_cpu(tree):
    """The same arguments on the CPU, as leaves of their own over the same storage (as_strided reaches beyond
    a view)."""

    def move(value):
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or value.is_conj() or value.is_neg():
                return value.detach().cpu().clone().requires_grad_(value.requires_grad)
            storage = value.detach().untyped_storage().cpu().clone()
            alone = torch.empty(0, dtype=value.dtype).set_(
                storage, value.storage_offset(), value.size(), value.stride()
            )
            return alone.requires_grad_(value.requires_grad)
        return torch.device("cpu") if isinstance(value, torch.device) else value

    return tree_map(move, tree)


def tensors(tree):
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def call(op, arguments):
    """(inputs, outputs) of one call, with the random state of the test."""
    args, kwargs = arguments
    torch.manual_seed(1)
    return tensors((args, kwargs)), tensors(op(*args, **kwargs))


def gradients(inputs, outputs):
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    outputs = [tensor for tensor in outputs if tensor.requires_grad]
    if not wanted or not outputs:
        return []
    torch.manual_seed(2)
    total = sum((tensor.abs() if tensor.is_complex() else tensor).sum() for tensor in outputs)
    found = torch.autograd.grad(total, wanted, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


class TestOperators(TestCase):
    """One test per operator, dtype and direction."""

    def check(self, device, dtype, op, backward):
        skip = SKIPS.get(op.formatted_name)
        if skip and torch.device(device).type != "cpu" and str(dtype)[6:] in skip.get("dtypes", [str(dtype)[6:]]):
            self.skipTest(skip["reason"])
        for sample in op.sample_inputs(device, dtype, requires_grad=backward):
            arguments = ((sample.input, *sample.args), sample.kwargs)
            reference = on_cpu(arguments)
            inputs, outputs = call(op, arguments)
            cpu_inputs, cpu_outputs = call(op, reference)
            if backward:
                outputs, cpu_outputs = gradients(inputs, outputs), gradients(cpu_inputs, cpu_outputs)
            places = {tensor.device.type for tensor in inputs} or {torch.device(device).type}
            places.add(torch.device(sample.kwargs.get("device") or device).type)  # a sample may ask for the CPU
            for tensor in outputs if not op.name.startswith(FACTORIES) else ():
                assert tensor.device.type in places, "a result left the device"
            if "empty" not in op.name:  # its contents are undefined
                self.assertEqual([t.detach().cpu() for t in outputs], [t.detach() for t in cpu_outputs])  # noqa: PT009

    @ops(op_db, dtypes=OpDTypes.supported, allowed_dtypes=DTYPES)
    def test_forward(self, device, dtype, op):
        self.check(device, dtype, op, backward=False)

    @ops(
        [op for op in op_db if op.supports_autograd],
        dtypes=OpDTypes.supported_backward,
        allowed_dtypes=DTYPES,
    )
    def test_backward(self, device, dtype, op):
        self.check(device, dtype, op, backward=True)


class Recorder(unittest.TestResult):
    """Keeps the outcome of each test: "passed", or "failed: ...", or "skipped: ..."."""

    def __init__(self, device):
        super().__init__()
        self.device, self.outcomes, self.started = device, {}, time.time()

    def name(self, test):
        return test._testMethodName.replace(f"_{self.device}_", "_").replace("_privateuse1_", "_")

    def note(self, test, outcome):
        self.outcomes.setdefault(self.name(test), outcome)
        if len(self.outcomes) % 200 == 0:
            print(f"{len(self.outcomes)} tests, {time.time() - self.started:.0f} s", file=sys.stderr, flush=True)

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, f"skipped: {reason}")

    def addFailure(self, test, error):
        self.addError(test, error)

    def addError(self, test, error):
        message = (str(error[1]).strip().splitlines() or [""])[0]
        self.note(test, f"failed: {error[0].__name__}: {message[:200]}")

    def addExpectedFailure(self, test, error):
        self.note(test, "skipped: expected failure")


def main():
    """Run the selected tests and write {test: outcome} to the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--one-in", type=int, default=1, help="run a fixed sample of the tests")
    parser.add_argument("--shard", type=int, nargs=2, default=(0, 1), metavar=("INDEX", "COUNT"))
    parser.add_argument("--only", default="", help="a part of the name of the tests to run")
    options = parser.parse_args()
    scope = {"TestOperators": TestOperators}
    only_for = (options.device,) if options.device == "cpu" else (options.device, "privateuse1")
    instantiate_device_type_tests(TestOperators, scope, only_for=only_for)
    suite = unittest.TestSuite()
    for case in scope.values():
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            name = test._testMethodName.replace(f"_{options.device}_", "_")
            number = zlib.crc32(name.encode())
            chosen = number % options.one_in == 0 and options.only in name
            if chosen and number // options.one_in % options.shard[1] == options.shard[0]:
                suite.addTest(test)
    recorder = Recorder(options.device)
    suite.run(recorder)
    options.report.write_text(json.dumps(recorder.outcomes, indent=1))
    kinds = [outcome.split(":")[0] for outcome in recorder.outcomes.values()]
    print({kind: kinds.count(kind) for kind in sorted(set(kinds))}, f"{time.time() - recorder.started:.0f} s")


if __name__ == "__main__":
    main()
