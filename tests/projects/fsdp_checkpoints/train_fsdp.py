"""Shard a transformer with FSDP2, save a distributed checkpoint half-way and resume from it.

    torchrun --nproc_per_node 2 train_fsdp.py
"""
import argparse
import os
import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.attention = Attention(dim, heads)
        self.up, self.down = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(3 * dim, dim, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, vocab=50, dim=32, heads=4, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Layer(dim, heads) for _ in range(depth)])
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class AppState:
    """What a checkpoint holds."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optimizer}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])


def batch(step, rank, size=4, length=16, vocab=50):
    g = torch.Generator().manual_seed(1000 * step + rank)
    start = torch.randint(0, vocab, (size, 1), generator=g)
    tokens = (start + 3 * torch.arange(length + 1)) % vocab
    return tokens[:, :-1].cuda(), tokens[:, 1:].cuda()


def build(mesh, lr):
    torch.manual_seed(0)
    model = Transformer().to(torch.cuda.current_device())
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=lr)


def train_step(model, optimizer, step, rank):
    x, y = batch(step, rank)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    mean = loss.detach().clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    if rank == 0:
        print(f"step {step} loss {mean.item():.6f} grad norm {norm.full_tensor().item():.4f}")
    else:
        norm.full_tensor()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", device_id=torch.device(f"cuda:{local_rank}"))
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cuda", (world_size,))

    model, optimizer = build(mesh, args.lr)
    half = args.steps // 2
    for step in range(half):
        train_step(model, optimizer, step, rank)

    where = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(where, src=0, device=torch.device("cuda", local_rank))
    dcp.save({"app": AppState(model, optimizer)}, checkpoint_id=where[0])
    del model, optimizer
    torch.cuda.empty_cache()

    model, optimizer = build(mesh, args.lr)
    dcp.load({"app": AppState(model, optimizer)}, checkpoint_id=where[0])
    for step in range(half, args.steps):
        train_step(model, optimizer, step, rank)
    dist.barrier()
    if rank == 0:
        shutil.rmtree(where[0])
        print(f"max memory allocated: {torch.cuda.max_memory_allocated() / 1e6:.2f} MB")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
