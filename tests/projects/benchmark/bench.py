"""Time training steps of a few layers, and say how much memory they take.

    python bench.py --model mlp --steps 50
"""
import argparse
import gc
import platform
import time

import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile, record_function

MODELS = {
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(256, 64), nn.GELU(), nn.Linear(64, 10)),
    "conv": lambda: nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10)),
}


def get_device(cpu=False):
    return torch.device("cuda:0" if torch.cuda.is_available() and not cpu else "cpu")


def describe(device):
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        return f"{torch.cuda.get_device_name(device)} x {torch.cuda.device_count()}, {total / 1024 ** 3:.0f} GB"
    return platform.processor() or "CPU"


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def flush():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


class Timer:
    """Milliseconds, by events on a GPU and by the clock elsewhere."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"
        if self.cuda:
            self.start_event = torch.cuda.Event(enable_timing=True)
            self.end_event = torch.cuda.Event(enable_timing=True)

    def __enter__(self):
        if self.cuda:
            self.start_event.record()
        else:
            self.start = time.perf_counter()
        return self

    def __exit__(self, *args):
        if self.cuda:
            self.end_event.record()
            torch.cuda.synchronize()
            self.ms = self.start_event.elapsed_time(self.end_event)
        else:
            self.ms = (time.perf_counter() - self.start) * 1000


def step(model, optimizer, x, y):
    with record_function("forward"):
        loss = nn.functional.cross_entropy(model(x), y)
    with record_function("backward"):
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
    optimizer.step()
    return loss


def bench(name, args, device):
    flush()
    torch.manual_seed(0)
    model = MODELS[name]().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(args.batch_size, 1, 16, 16, device=device)
    y = torch.arange(args.batch_size, device=device) % 10
    for _ in range(args.warmup):
        step(model, optimizer, x, y)
    synchronize(device)
    times = []
    for _ in range(args.steps):
        with Timer(device) as timer:
            loss = step(model, optimizer, x, y)
        times.append(timer.ms)
    peak = torch.cuda.max_memory_allocated() / 1024 ** 2 if device.type == "cuda" else 0.0
    print(f"{name:6} loss {loss.item():.6f}  median {sorted(times)[len(times) // 2]:.2f} ms  peak {peak:.1f} MB")
    return model, optimizer, x, y


def profile_step(model, optimizer, x, y):
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as prof:
        step(model, optimizer, x, y)
    return prof.key_averages().table(sort_by="cuda_time_total" if torch.cuda.is_available() else "cpu_time_total", row_limit=4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=[*MODELS, "all"], default="all")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    device = get_device(args.cpu)
    print(f"torch {torch.__version__} (CUDA {torch.version.cuda}) on {describe(device)}")
    for name in MODELS if args.model == "all" else [args.model]:
        state = bench(name, args, device)
    table = profile_step(*state)
    print(f"profiled {len(table.splitlines())} lines")
    if device.type == "cuda":
        stats = torch.cuda.memory_stats()
        print(f"{stats['num_alloc_retries']} retries, {torch.cuda.memory_reserved() / 1024 ** 2:.0f} MB reserved")


if __name__ == "__main__":
    main()
