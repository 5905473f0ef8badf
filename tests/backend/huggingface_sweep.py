"""Forward and backward of a tiny random model of every transformers architecture, on the device and on the CPU.

    TORCH_AGNOSTIC_BACKEND=neuron NEURON_REF_RNG=shared python huggingface_sweep.py --table sweep.md

Models are in training mode, so that dropout takes part. `equal` means every output and every gradient equal
bit for bit, `close` within PyTorch's default tolerances. Models that take no part are listed with the reason.
Each worker is a process of its own, so that a crash costs one model and is reported as its failure.
"""

import argparse
import copy
import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
from sweep_table import counts, table  # noqa: E402
from sweep_workers import ON_DEVICE, outcomes, worker  # noqa: E402
from tiny_inputs import search  # noqa: E402
from tiny_models import builds, model_types  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_map  # noqa: E402

CPU_SECONDS = 15  # to spend on looking for a model and its inputs


def float_tensors(output):
    """The floating-point tensors of a model's output, in order."""
    values = output.to_tuple() if hasattr(output, "to_tuple") else output
    return [t for t in tree_flatten(values)[0] if isinstance(t, torch.Tensor) and t.is_floating_point()]


def run(model, arguments):
    """The named outputs and gradients of one training step without the optimizer."""
    transformers.set_seed(0)  # of NumPy too: some models mask with it
    outputs = float_tensors(model(**arguments))
    total = sum(t.float().square().mean() for t in outputs if t.requires_grad)
    if not isinstance(total, torch.Tensor):
        raise ValueError("no output that has a gradient")
    total.backward()
    gradients = [(name, p.grad) for name, p in model.named_parameters() if p.grad is not None]
    return [*((f"output {i}", t.detach()) for i, t in enumerate(outputs)), *gradients]


def arguments_that_work(model, deadline):
    """(arguments, None) that the CPU accepts in training mode or else in evaluation mode, or (None, error)."""
    first = None
    for training in (True, False):
        probe = copy.deepcopy(model.train(training))  # a model may keep what it computed

        def attempt(arguments, probe=probe):
            if time.process_time() > deadline:
                raise TimeoutError(f"no inputs found in {CPU_SECONDS} s")
            try:
                probe.zero_grad(set_to_none=True)
                run(probe, arguments)
            except Exception as error:
                return error

        arguments, errors = search(probe, attempt)
        if arguments is not None:
            return arguments, None
        first = first or (errors[0] if errors else ValueError("no argument that is known by its name"))
    return None, first


def reason_of(error):
    """An error in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]


def compare(expected, found):
    """ "equal", "close", or what differs."""
    if [name for name, _ in expected] != [name for name, _ in found]:
        return f"failed: {len(found)} results instead of {len(expected)}"
    verdict = "equal"
    for (name, a), (_, b) in zip(expected, found, strict=True):
        b = b.detach().cpu()
        if a.shape != b.shape or not torch.allclose(a, b, rtol=1.3e-6, atol=1e-5, equal_nan=True):
            return f"failed: {name} differs by {(a - b).abs().max():.1e}" if a.shape == b.shape else f"failed: {name}"
        if not torch.allclose(a, b, rtol=0, atol=0, equal_nan=True):
            verdict = "close"
    return verdict


def find(kind):
    """(model, arguments, None) for a model type, or (None, None, why there are none)."""
    deadline, problems = time.process_time() + CPU_SECONDS, []
    try:
        for model, error in builds(kind):
            if error is None:
                arguments, error = arguments_that_work(model, deadline)
                if arguments is not None:
                    return model, arguments, None
                problems.append(f"no inputs: {reason_of(error)}")
            else:
                problems.append(f"not buildable: {reason_of(error)}")
    except TimeoutError as error:
        problems.append(f"no inputs: {reason_of(error)}")
    return None, None, max(problems, key=lambda problem: problem.startswith("no inputs"))  # the one that got furthest


def check(kind, device):
    """The outcome for one model type: its verdict in words, and what it was given."""
    model, arguments, problem = find(kind)
    if problem:
        return {"outcome": problem}
    details = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "arguments": sorted(arguments),
        "training": model.training,
    }
    expected = run(copy.deepcopy(model), arguments)
    print(ON_DEVICE, flush=True)
    try:
        moved = tree_map(lambda v: v.to(device) if isinstance(v, torch.Tensor) else v, arguments)
        outcome = compare(expected, run(copy.deepcopy(model).to(device), moved))
    except Exception as error:
        outcome = f"failed: {reason_of(error)}"
    if outcome != "equal" and not compare(expected, run(copy.deepcopy(model), arguments)).startswith("equal"):
        outcome = "not buildable: differs from itself on the CPU"
    return {"outcome": outcome, **details}


def main():
    """Check all model types, or those named, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=Path, help="write all outcomes as JSON; an existing one is continued")
    parser.add_argument("--table", type=Path, help="write the outcomes and the reasons as Markdown")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("kinds", nargs="*", help="model types (default: all)")
    options = parser.parse_args()
    if options.worker:
        torch.set_num_threads(1)
        transformers.logging.set_verbosity_error()
        device = torch.accelerator.current_accelerator()
        return worker(lambda kind: check(kind, device))
    started = time.time()
    kinds = options.kinds or model_types()
    before = json.loads(options.report.read_text()) if options.report and options.report.exists() else {}
    missing = [kind for kind in kinds if kind not in before]

    def save(answers):
        if options.report:
            options.report.write_text(json.dumps({**before, **answers}, indent=1))

    command = [sys.executable, __file__, "--worker"]
    found = {**before, **outcomes(command, missing, min(options.workers, len(missing)), save)}
    found = {kind: found[kind] for kind in kinds}
    text = table(found, f"transformers {transformers.__version__}, torch {torch.__version__}")
    if options.table:
        options.table.write_text(text)
    print(text)
    totals = counts(found)
    print("\n".join(f"{outcome:<16} {count:>4}" for outcome, count in totals.most_common()))
    print(f"{'all':<16} {len(found):>4}   {time.time() - started:.0f} s")
    raise SystemExit(bool(totals["failed"]))


if __name__ == "__main__":
    main()
