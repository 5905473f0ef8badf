"""Forward and backward of a tiny random model of every transformers architecture, on the backend and on the
CPU.

    TORCH_AGNOSTIC_BACKEND=neuron NEURON_REF_RNG=shared python huggingface_sweep.py --report sweep.json

The model is in training mode, so that dropout takes part. Prints a table; `equal` means every output and
every gradient equal bit for bit, `close` within PyTorch's default tolerances.
"""

import argparse
import collections
import copy
import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
from tiny_models import builds, candidate_inputs, model_types  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_map  # noqa: E402

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
SECONDS = 120  # for one model


def float_tensors(output):
    """The floating-point tensors of a model's output, in order."""
    values = output.to_tuple() if hasattr(output, "to_tuple") else output
    return [t for t in tree_flatten(values)[0] if isinstance(t, torch.Tensor) and t.is_floating_point()]


def run(model, arguments):
    """(outputs, gradients by parameter name) of one training step without the optimizer."""
    transformers.set_seed(0)  # of NumPy too: some models mask with it
    outputs = float_tensors(model(**arguments))
    total = sum(t.float().square().mean() for t in outputs if t.requires_grad)
    total.backward()
    return outputs, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def arguments_that_work(model):
    """(arguments, outputs, gradients) of the first candidates that the CPU accepts, or (None, the first
    error, None)."""
    reason = None
    for arguments in candidate_inputs(model):
        try:
            model.zero_grad(set_to_none=True)
            reference = copy.deepcopy(model)  # buffers such as batch-norm statistics change in a step
            outputs, gradients = run(reference, arguments)
            if outputs and gradients:
                return arguments, outputs, gradients
        except Exception as error:
            reason = reason or f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:120]
    return None, reason or "no inputs that lead to gradients", None


def compare(expected, found):
    """ "equal", "close", or what differs."""
    verdict = "equal"
    for (name, a), (_, b) in zip(expected, found, strict=True):
        b = b.detach().cpu()
        if torch.equal(a, b) or torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)):
            continue
        verdict = "close"
        if not torch.allclose(a, b, rtol=1.3e-6, atol=1e-5, equal_nan=True):
            return f"failed: {name} differs by {(a - b).abs().max():.1e}"
    return verdict


def check(kind, device):
    """The outcome for one model type, as text."""
    problems = []
    for model, reason in builds(kind):
        if model is None:
            problems.append(f"not buildable: {reason}")
            continue
        model.train()
        arguments, outputs, gradients = arguments_that_work(model)
        if arguments is not None:
            break
        problems.append(f"no inputs found: {outputs}")
    else:
        return max(problems, key=lambda problem: problem.startswith("no inputs"))  # the one that got furthest
    try:
        on_device = model.to(device)
        moved = tree_map(lambda v: v.to(device) if isinstance(v, torch.Tensor) else v, arguments)
        device_outputs, device_gradients = run(on_device, moved)
    except Exception as error:
        return f"failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]
    expected = [*((f"output {i}", t.detach()) for i, t in enumerate(outputs)), *gradients.items()]
    found = [*((f"output {i}", t) for i, t in enumerate(device_outputs)), *device_gradients.items()]
    if len(expected) != len(found):
        return f"failed: {len(found)} results instead of {len(expected)}"
    return compare(expected, found)


def too_slow(signum, frame):
    raise TimeoutError(f"more than {SECONDS} s")


def main():
    """Check all model types, or those named, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=Path)
    parser.add_argument("--shard", type=int, nargs=2, default=(0, 1), metavar=("INDEX", "COUNT"))
    parser.add_argument("kinds", nargs="*", help="model types (default: all)")
    options = parser.parse_args()
    device = torch.accelerator.current_accelerator()
    signal.signal(signal.SIGALRM, too_slow)
    outcomes, started = {}, time.time()
    for kind in (options.kinds or model_types())[options.shard[0] :: options.shard[1]]:
        signal.alarm(SECONDS)
        try:
            outcomes[kind] = check(kind, device)
        except Exception as error:
            outcomes[kind] = f"failed: {type(error).__name__}: {error}"[:200]
        finally:
            signal.alarm(0)
        if not outcomes[kind].startswith("equal"):
            print(f"{kind}: {outcomes[kind]}", flush=True)
        if len(outcomes) % 50 == 0:
            print(f"{len(outcomes)} model types, {time.time() - started:.0f} s", file=sys.stderr, flush=True)
    if options.report:
        options.report.write_text(json.dumps(outcomes, indent=1))
    counts = collections.Counter(outcome.split(":")[0] for outcome in outcomes.values())
    print("\n".join(f"{kind:<16} {count:>4}" for kind, count in counts.most_common()))
    seconds = time.time() - started
    print(f"{'all':<16} {len(outcomes):>4}   transformers {transformers.__version__}, {seconds:.0f} s")
    raise SystemExit(bool(counts["failed"]))


if __name__ == "__main__":
    main()
