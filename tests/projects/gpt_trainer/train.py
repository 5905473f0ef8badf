"""Train a small GPT on synthetic text, on one GPU with mixed precision.

    python train.py --compile
"""
import argparse
import os
import tempfile
import time
from contextlib import nullcontext

import numpy as np
import torch

from model import GPT, GPTConfig

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", help="cpu, cuda, cuda:0, cuda:1")
parser.add_argument("--dtype", default="float16", choices=["float32", "bfloat16", "float16"])
parser.add_argument("--compile", action="store_true")
parser.add_argument("--max-iters", type=int, default=20)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--gradient-accumulation-steps", type=int, default=2)
parser.add_argument("--learning-rate", type=float, default=1e-3)
parser.add_argument("--seed", type=int, default=1337)
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.cuda.manual_seed(args.seed)
torch.backends.cuda.matmul.allow_tf32 = True  # allow tf32 on matmul
torch.backends.cudnn.allow_tf32 = True  # allow tf32 on cudnn

device = args.device
device_type = "cuda" if "cuda" in device else "cpu"  # for later use in torch.autocast
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[args.dtype]
ctx = nullcontext() if device_type == "cpu" else torch.autocast(device_type=device_type, dtype=ptdtype)

config = GPTConfig()
rng = np.random.default_rng(args.seed)
pattern = rng.integers(0, config.vocab_size, 97)
data = np.concatenate([np.roll(pattern, shift) for shift in range(60)]).astype(np.int64)
split = int(0.9 * len(data))
datasets = {"train": data[:split], "val": data[split:]}


def get_batch(which):
    source = datasets[which]
    ix = rng.integers(0, len(source) - config.block_size - 1, args.batch_size)
    x = torch.stack([torch.from_numpy(source[i:i + config.block_size]) for i in ix])
    y = torch.stack([torch.from_numpy(source[i + 1:i + 1 + config.block_size]) for i in ix])
    if device_type == "cuda":
        # pin arrays x,y, which allows us to move them to GPU asynchronously (non_blocking=True)
        x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    else:
        x, y = x.to(device), y.to(device)
    return x, y


model = GPT(config)
model.to(device)
scaler = torch.cuda.amp.GradScaler(enabled=(args.dtype == "float16"))
optimizer = model.configure_optimizers(0.1, args.learning_rate, device_type)
raw_model = model
if args.compile:
    print("compiling the model...")
    model = torch.compile(model)


@torch.no_grad()
def estimate_loss(batches=2):
    model.eval()
    out = {}
    for which in ("train", "val"):
        losses = torch.zeros(batches)
        for k in range(batches):
            X, Y = get_batch(which)
            with ctx:
                _, loss = model(X, Y)
            losses[k] = loss.item()
        out[which] = losses.mean().item()
    model.train()
    return out


X, Y = get_batch("train")
t0 = time.time()
for it in range(args.max_iters):
    for group in optimizer.param_groups:
        group["lr"] = GPT.lr_at(it, args.learning_rate, 2, args.max_iters)
    total = 0.0
    for micro_step in range(args.gradient_accumulation_steps):
        with ctx:
            _, loss = model(X, Y)
            loss = loss / args.gradient_accumulation_steps
        X, Y = get_batch("train")
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    dt, t0 = time.time() - t0, time.time()
    mem = torch.cuda.max_memory_allocated() / 1024**2
    print(f"iter {it}: loss {total:.6f}, {dt * 1000:.0f} ms, {mem:.1f} MiB")

losses = estimate_loss()
print(f"train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "ckpt.pt")
    torch.save({"model": raw_model.state_dict(), "optimizer": optimizer.state_dict(), "iter": args.max_iters}, path)
    checkpoint = torch.load(path, map_location="cuda")
    raw_model.load_state_dict(checkpoint["model"])
prompt = torch.zeros((1, 1), dtype=torch.long, device="cuda")
raw_model.eval()
print("sample:", raw_model.generate(prompt, 12)[0].tolist())
torch.cuda.empty_cache()
