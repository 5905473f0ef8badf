"""torchtitan 0.3.0 on torch 2.13, which lacks one function that it calls; torchtitan itself is unmodified."""

import runpy
import sys

import torch.distributed as dist
from torch.distributed.distributed_c10d import _set_pg_timeout

if not hasattr(dist, "set_timeout"):
    dist.set_timeout = lambda timeout, group=None: _set_pg_timeout(timeout, group)
sys.argv[0] = "torchtitan.train"
runpy.run_module("torchtitan.train", run_name="__main__")
