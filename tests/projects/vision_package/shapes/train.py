import torch
import torch.nn.functional as F

from shapes.device import get_default_device, move_data_to_device


def draw(n, seed=0):
    """Noisy 16x16 images: 0 a bar, 1 a column, 2 a block."""
    g = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    images = 0.2 * torch.randn(n, 1, 16, 16, generator=g)
    for i, (r, c) in enumerate(torch.randint(2, 12, (n, 2), generator=g).tolist()):
        rows, columns = ((slice(r, r + 2), slice(2, 14)), (slice(2, 14), slice(c, c + 2)), (slice(r, r + 4), slice(c, c + 4)))[i % 3]
        images[i, 0, rows, columns] += 1
    return {"image": images, "label": labels}


def fit(model, epochs=4, lr=0.05, device=None):
    """Train on drawn shapes; returns the loss of each epoch."""
    device = device or get_default_device()
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    batch = move_data_to_device(draw(48), device)
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch["image"]), batch["label"])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
