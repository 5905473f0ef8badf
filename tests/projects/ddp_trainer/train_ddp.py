"""Train a residual MLP with DistributedDataParallel.

    torchrun --nproc_per_node 2 train_ddp.py
"""
import argparse
import os
import tempfile
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from distributed import cleanup, is_main_process, reduce_mean, seed_everything, setup


class Spirals(Dataset):
    """Points on three interleaved spirals."""

    def __init__(self, n=240, noise=0.05):
        g = torch.Generator().manual_seed(0)
        self.y = torch.arange(n) % 3
        t = torch.rand(n, generator=g) * 3 + 0.5
        angle = t * 2 + self.y * 2.0944
        self.x = torch.stack((t * angle.cos(), t * angle.sin()), 1) + noise * torch.randn(n, 2, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ResidualMLP(nn.Module):
    def __init__(self, width=48, depth=3):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.layers = nn.ModuleList(
            [nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU()) for _ in range(depth)]
        )
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x)


class Trainer:
    def __init__(self, args, gpu_id, world_size):
        self.gpu_id = gpu_id
        self.args = args
        dataset = Spirals()
        self.sampler = DistributedSampler(dataset, num_replicas=world_size, rank=dist.get_rank(), shuffle=True)
        self.loader = DataLoader(dataset, batch_size=args.batch_size, sampler=self.sampler, pin_memory=True)
        model = ResidualMLP().cuda(gpu_id)
        self.model = DDP(model, device_ids=[gpu_id], output_device=gpu_id)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.criterion = nn.CrossEntropyLoss().cuda(gpu_id)

    def _run_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        running = 0.0
        for step, (x, y) in enumerate(self.loader):
            x = x.cuda(self.gpu_id, non_blocking=True)
            y = y.cuda(self.gpu_id, non_blocking=True)
            last = (step + 1) % self.args.accumulate == 0
            with nullcontext() if last else self.model.no_sync():
                loss = self.criterion(self.model(x), y) / self.args.accumulate
                loss.backward()
            if last:
                self.optimizer.step()
                self.optimizer.zero_grad()
            running += loss.item() * self.args.accumulate
        return reduce_mean(running / len(self.loader))

    def save(self, path):
        if is_main_process():
            torch.save(self.model.module.state_dict(), path)
        dist.barrier()
        # every rank loads what rank 0 wrote onto its own GPU
        map_location = {"cuda:%d" % 0: "cuda:%d" % self.gpu_id}
        self.model.module.load_state_dict(torch.load(path, map_location=map_location))

    def train(self, path):
        for epoch in range(self.args.epochs):
            loss = self._run_epoch(epoch)
            if is_main_process():
                print(f"[GPU{self.gpu_id}] epoch {epoch} | loss {loss:.6f}")
        self.save(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", default=4, type=int)
    parser.add_argument("--batch-size", default=20, type=int)
    parser.add_argument("--accumulate", default=2, type=int)
    parser.add_argument("--lr", default=3e-3, type=float)
    parser.add_argument("--local_rank", "--local-rank", default=0, type=int)
    args = parser.parse_args()
    rank, local_rank, world_size = setup()
    seed_everything(100 + rank)
    device = torch.device(f"cuda:{local_rank}")
    token = torch.full((1,), rank, device=device)
    gathered = [torch.zeros_like(token) for _ in range(world_size)]
    dist.all_gather(gathered, token)
    assert [int(t) for t in gathered] == list(range(world_size))
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    Trainer(args, local_rank, world_size).train(os.path.join(folder[0], "model.pt"))
    print(f"rank {rank}: peak memory {torch.cuda.max_memory_allocated(local_rank) / 1e6:.2f} MB")
    cleanup()


if __name__ == "__main__":
    main()
