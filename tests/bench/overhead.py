"""What the reference backend costs compared with the CPU, measured in the same run.

    TORCH_AGNOSTIC_BACKEND=neuron python tests/bench/overhead.py

Training steps of the two devices alternate, so that a noisy machine disturbs both alike; the ratio is that of
the medians. The cost of `import torch` is the difference of the medians of alternating child processes.

PyTorch runs the backward pass of an accelerator in a thread of that device's own, that of the CPU in the caller's.
With two cores for the two threads, a tiny step took up to half longer in some processes and nothing in others; on
one core it does not vary so. With `--threads 1` everything therefore shares one core; with more, nothing is pinned.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

SIZES = {
    "tiny GPT": {"width": 32, "layers": 2, "length": 16},
    "GPT d384 L6": {"width": 384, "layers": 6, "heads": 6, "length": 128},
}
BOUNDS = {"tiny GPT": 1.25, "GPT d384 L6": 1.06}


def training_step(device, settings, batch):
    """A function that trains one step on `device` and returns its seconds."""
    import torch
    from models import GPT, VOCABULARY

    torch.manual_seed(0)
    model = GPT(**settings).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, VOCABULARY, (batch, settings["length"] + 1)).to(device)

    def step():
        started = time.perf_counter()
        loss = model(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        return time.perf_counter() - started

    return step


def compare(name, rounds):
    """Median milliseconds of a step on the CPU and on the backend."""
    import torch

    device = torch.accelerator.current_accelerator()
    steps = [training_step(place, SIZES[name], batch=4) for place in ("cpu", device)]
    times = [[], []]
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].append(steps[which]())
    return [statistics.median(series[rounds // 5 :]) * 1e3 for series in times]


def import_seconds(rounds):
    """Median seconds of `import torch` without and with the backend."""
    program = "import time; t = time.perf_counter(); import torch; print(time.perf_counter() - t)"
    times = [[], []]
    for _ in range(rounds):
        for which, name in enumerate(("", "neuron")):
            environment = {**os.environ, "TORCH_AGNOSTIC_BACKEND": name}
            output = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
            times[which].append(float(output.stdout))
    return [statistics.median(series) for series in times]


def main():
    """Print one line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    if options.threads == 1:
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    for name in SIZES:
        rounds = options.rounds * 5 if name.startswith("tiny") else options.rounds
        cpu, neuron = compare(name, rounds)
        ratio = f"x{neuron / cpu:.3f}  (aim {BOUNDS[name]})"
        print(f"{name:<12} cpu {cpu:8.2f} ms  backend {neuron:8.2f} ms  {ratio}")
    without, with_backend = import_seconds(7)
    print(f"import torch {without:.2f} s without, {with_backend - without:+.3f} s with the backend  (aim +0.15)")


if __name__ == "__main__":
    main()
