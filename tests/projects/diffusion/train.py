"""Train a class-conditional denoising diffusion model on synthetic signals."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from prefetcher import DataPrefetcher

STEPS, LENGTH, CLASSES = 50, 32, 3
use_cuda = torch.cuda.is_available()
device = torch.device("cuda" if use_cuda else "cpu")
torch.manual_seed(42)
torch.cuda.manual_seed_all(42)
torch.backends.cudnn.benchmark = True


class Denoiser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width))
        self.label = nn.Embedding(CLASSES, width)
        self.inp = nn.Conv1d(1, width, 3, padding=1)
        self.mid = nn.ModuleList([nn.Conv1d(width, width, 3, padding=d, dilation=d) for d in (1, 2, 4)])
        self.norm = nn.ModuleList([nn.GroupNorm(4, width) for _ in range(3)])
        self.out = nn.Conv1d(width, 1, 3, padding=1)

    def forward(self, x, t, y):
        freqs = torch.exp(-math.log(1000) * torch.arange(8, device=t.device) / 8)
        angles = t[:, None].float() * freqs
        emb = self.time(torch.cat((angles.sin(), angles.cos()), 1)) + self.label(y)
        h = self.inp(x)
        for conv, norm in zip(self.mid, self.norm):
            h = h + conv(F.silu(norm(h) + emb[:, :, None]))
        return self.out(F.silu(h))


class GaussianDiffusion:
    def __init__(self, timesteps):
        self.timesteps = timesteps
        self.betas = torch.linspace(1e-3, 0.2, timesteps).to(device)
        self.alphas_cumprod = torch.cumprod(1.0 - self.betas, 0)

    def q_sample(self, x0, t, noise):
        a = self.alphas_cumprod[t][:, None, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def loss(self, model, x0, y):
        t = torch.randint(0, self.timesteps, (x0.shape[0],), device=x0.device)
        noise = torch.randn_like(x0)
        return F.mse_loss(model(self.q_sample(x0, t, noise), t, y), noise)

    @torch.no_grad()
    def sample(self, model, y):
        x = torch.randn(y.shape[0], 1, LENGTH, device=device)
        for i in reversed(range(self.timesteps)):
            t = torch.full((y.shape[0],), i, device=device, dtype=torch.long)
            beta, a = self.betas[i], self.alphas_cumprod[i]
            x = (x - beta / (1 - a).sqrt() * model(x, t, y)) / (1 - beta).sqrt()
            if i:
                x = x + beta.sqrt() * torch.randn_like(x)
        return x


def signals(n=192):
    phase = torch.rand(n, 1) * 2 * math.pi
    y = torch.arange(n) % CLASSES
    x = 0.5 + 0.5 * torch.sin(torch.arange(LENGTH) * (y[:, None] + 1) * 0.4 + phase)
    return TensorDataset(x[:, None], y)


def update_ema(ema, model, decay=0.95):
    with torch.no_grad():
        for slow, fast in zip(ema.parameters(), model.parameters()):
            slow.mul_(decay).add_(fast, alpha=1 - decay)


def batches(loader):
    """The batches on the device, normalised to [-1, 1]."""
    if use_cuda:
        prefetcher = DataPrefetcher(loader)
        x, y = prefetcher.next()
        while x is not None:
            yield x, y
            x, y = prefetcher.next()
    else:
        for x, y in loader:
            yield x.float().sub_(0.5).mul_(2), y


def main():
    loader = DataLoader(signals(), batch_size=32, shuffle=True, pin_memory=use_cuda, drop_last=True)
    model = Denoiser().to(device)
    ema = copy.deepcopy(model).eval()
    diffusion = GaussianDiffusion(STEPS)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    ema_stream = torch.cuda.Stream() if torch.cuda.is_available() else None
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
    for epoch in range(3):
        total = count = 0
        for x, y in batches(loader):
            loss = diffusion.loss(model, x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if ema_stream is not None:
                ema_stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(ema_stream):
                    update_ema(ema, model)
                torch.cuda.current_stream().wait_stream(ema_stream)
            else:
                update_ema(ema, model)
            total, count = total + loss.item(), count + 1
        print(f"epoch {epoch}: loss {total / count:.6f}")
    if torch.cuda.is_available():
        end.record()
        torch.cuda.synchronize()
        print(f"{start.elapsed_time(end):.0f} ms, peak {torch.cuda.max_memory_allocated() / 2**20:.2f} MiB")
    images = diffusion.sample(ema, torch.arange(CLASSES).to(device))
    print(f"samples: mean {images.mean().item():.4f} std {images.std().item():.4f}")


if __name__ == "__main__":
    main()
