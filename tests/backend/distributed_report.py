"""What the programs that torchrun starts share: this rank's device, and the report that rank 0 prints of all ranks."""

import json
import os
import sys

import torch
from torch import distributed as dist

torch.set_num_threads(1)
DEVICE = torch.device("neuron", int(os.environ.get("LOCAL_RANK", 0)))
RESULTS = {}


def full(value, length=2, dtype=torch.float32):
    return torch.full((length,), value, device=DEVICE, dtype=dtype)


def record(function):
    """Store what `function` returns under its name, an error as text."""
    try:
        RESULTS[function.__name__] = function()
    except Exception as error:
        RESULTS[function.__name__] = f"{type(error).__name__}: {str(error).splitlines()[0]}"


def report(section):
    """Run `section` of (rank, world size) with the process group that the command line names; print all RESULTS."""
    dist.init_process_group(sys.argv[1])
    section(dist.get_rank(), dist.get_world_size())
    everything = [None] * dist.get_world_size()
    dist.all_gather_object(everything, RESULTS)
    dist.barrier()
    if dist.get_rank() == 0:
        print("RESULTS", json.dumps(everything))
    dist.destroy_process_group()
