"""Run all of PyTorch's operator samples on the CPU and on the backend, and print how they compare.

    python tests/backend/opinfo_table.py [--one-in 50] [--jobs 2]

Exits with 1 if something that passes on the CPU fails on the backend.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).with_name("opinfo_program.py")


def run(device, one_in, jobs, folder):
    """{test: outcome} of all shards."""
    environment = {**os.environ, "TORCH_AGNOSTIC_BACKEND": "neuron", "NEURON_REF_RNG": "shared"}
    reports = [folder / f"{device}-{index}.json" for index in range(jobs)]
    shards = [
        subprocess.Popen(
            [
                sys.executable,
                str(PROGRAM),
                "--device",
                device,
                "--report",
                str(report),
                "--one-in",
                str(one_in),
                "--shard",
                str(index),
                str(jobs),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        for index, report in enumerate(reports)
    ]
    codes = [shard.wait() for shard in shards]  # of all, before one of them can end the run
    if any(codes):
        raise SystemExit(f"the run on {device} did not end")
    return {test: outcome for report in reports for test, outcome in json.loads(report.read_text()).items()}


def table(cpu, neuron):
    """The text of the comparison and the tests that pass on the CPU only."""
    kinds = ("passed", "failed", "skipped")
    rows = [f"{'':<10} {'passed':>8} {'failed':>8} {'skipped':>8}"]
    for name, outcomes in (("cpu", cpu), ("neuron", neuron)):
        counts = collections.Counter(outcome.split(":")[0] for outcome in outcomes.values())
        rows.append(f"{name:<10} " + " ".join(f"{counts[kind]:>8}" for kind in kinds))
    worse = sorted(test for test, outcome in cpu.items() if outcome == "passed" and neuron[test].startswith("failed"))
    rows += [f"only on the cpu: {test}: {neuron[test]}" for test in worse]
    reasons = collections.Counter(outcome for outcome in neuron.values() if outcome.startswith("skipped"))
    rows += [f"{count:>4} {reason}" for reason, count in reasons.most_common()]
    return "\n".join(rows), worse


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one-in", type=int, default=1, help="run a fixed sample of the tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cpu, neuron = (run(device, options.one_in, options.jobs, Path(folder)) for device in ("cpu", "neuron"))
    text, worse = table(cpu, neuron)
    print(text)
    raise SystemExit(bool(worse))


if __name__ == "__main__":
    main()
