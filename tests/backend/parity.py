"""Train a small model on the device that the arguments name and print the losses exactly: `parity.py DEVICE
MODEL`."""

import sys

import torch
from models import CNN, GPT, MLP, Recurrent

torch.set_num_threads(1)
ADAMW = {"foreach": {"foreach": True}, "for-loop": {"foreach": False}, "fused": {"fused": True}}


def tokens(generator):
    return torch.randint(0, 256, (4, 17), generator=generator)


CASES = {
    "mlp": (MLP, lambda g: torch.randn(8, 16, generator=g), {}),
    "cnn": (CNN, lambda g: torch.randn(4, 3, 8, 8, generator=g), {}),
    "lstm": (Recurrent, lambda g: torch.randn(5, 4, 8, generator=g), {}),
    "gpt": (GPT, tokens, {}),
    "gpt-dropout": (lambda: GPT(dropout=0.1), tokens, {}),
    **{f"gpt-{name}": (GPT, tokens, options) for name, options in ADAMW.items()},
}


def train(device, case, steps=12):
    """The losses of `steps` steps, and the sum of each parameter afterwards."""
    make, batch, options = CASES[case]
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, **options)
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(steps):
        loss = model(batch(generator).to(device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, [parameter.sum().item() for parameter in model.parameters()]


if __name__ == "__main__":
    for case in CASES:
        losses, sums = train(sys.argv[1], case)
        print(case, [value.hex() for value in losses + sums])
