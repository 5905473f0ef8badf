"""Megatron-style tensor parallelism: column-wise, then row-wise.

    torchrun --nproc_per_node 2 tp_example.py
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from log_utils import rank_log

BACKEND = "nccl" if torch.cuda.is_available() else "gloo"


class Block(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.in_proj = nn.Linear(dim, hidden)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(hidden, dim)

    def forward(self, x):
        return x + self.out_proj(self.relu(self.in_proj(self.norm(x))))


class ToyModel(nn.Module):
    def __init__(self, dim=16, hidden=32, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim, hidden) for _ in range(depth)])
        self.head = nn.Linear(dim, 4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def parallelize(model, mesh):
    for block in model.blocks:
        parallelize_module(block, mesh, {"in_proj": ColwiseParallel(), "out_proj": RowwiseParallel()})
    return model


def main():
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if torch.cuda.is_available():
        if torch.cuda.device_count() < world_size:
            print(f"{world_size} GPUs needed, found {torch.cuda.device_count()}")
            sys.exit(1)
        torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group(backend=BACKEND)
    device_mesh = DeviceMesh("cuda", list(range(world_size)))
    rank_log(f"Device mesh created: {device_mesh}")

    torch.manual_seed(7)
    model = parallelize(ToyModel().cuda(), device_mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, foreach=False)

    torch.manual_seed(11)
    centres = torch.randn(4, 16).cuda()
    for i in range(8):
        # all ranks need the same input
        torch.manual_seed(i)
        labels = torch.randint(0, 4, (32,), device="cuda")
        inp = centres[labels] + 0.5 * torch.randn(32, 16, device="cuda")
        loss = nn.functional.cross_entropy(model(inp), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rank_log(f"Tensor Parallel iter {i}: loss {loss.item():.6f}")
    shards = [p for p in model.parameters() if hasattr(p, "placements") and any(isinstance(s, Shard) for s in p.placements)]
    rank_log(f"{len(shards)} sharded parameters on {shards[0].to_local().device}")
    dist.barrier(device_ids=[torch.cuda.current_device()])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
