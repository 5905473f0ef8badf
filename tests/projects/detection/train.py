"""Train a single-stage detector on a grid.

    python train.py --epochs 10
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from dataset import Boxes, collate


class GridDetector(nn.Module):
    """Predicts objectness, a class and a box for each cell of a 6x6 grid."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU()
        )
        self.head = nn.Conv2d(24, 7, 1)
        self.register_buffer("cells", torch.arange(6).float() * 4 + 2)

    def forward(self, images, targets=None):
        out = self.head(self.backbone(images))
        if targets is None:
            return out
        return self.losses(out, targets)

    def assign(self, target):
        centre = (target["boxes"][:, :2] + target["boxes"][:, 2:]) / 2
        return (centre / 4).long().clamp_(max=5)

    def losses(self, out, targets):
        objectness = torch.zeros(len(targets), 6, 6).cuda()
        box_loss, class_loss = torch.cuda.FloatTensor([0.0]), out.new_zeros(1)
        for i, target in enumerate(targets):
            cell = self.assign(target)
            objectness[i, cell[:, 1], cell[:, 0]] = 1.0
            picked = out[i, :, cell[:, 1], cell[:, 0]].t()
            offset = target["boxes"] - self.cells[cell].repeat(1, 2)
            box_loss = box_loss + F.smooth_l1_loss(picked[:, 3:], offset / 4, reduction="sum")
            class_loss = class_loss + F.cross_entropy(picked[:, 1:3], target["labels"], reduction="sum")
        n = objectness.sum().clamp(min=1)
        return {
            "loss_objectness": F.binary_cross_entropy_with_logits(out[:, 0], objectness),
            "loss_box_reg": (box_loss / n).sum(),
            "loss_classifier": (class_loss / n).sum(),
        }


@torch.inference_mode()
def evaluate(model, loader):
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model.eval()
    hits = count = 0
    for batch in loader:
        batch = batch.cuda()
        torch.cuda.synchronize()
        out = model(batch.images)
        for scores, target in zip(out[:, 0], batch.targets):
            best = scores.flatten().argmax()
            cell = torch.stack((best % 6, best // 6)).cpu()
            hits += int((model.assign(target).cpu() == cell).all(1).any())
            count += 1
    torch.set_num_threads(n_threads)
    return hits / count


def main(args):
    torch.manual_seed(args.seed)
    torch.cuda.manual_seed(args.seed)
    loader = DataLoader(Boxes(), args.batch_size, shuffle=True, collate_fn=collate, pin_memory=True)
    model = GridDetector()
    model.cuda()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9, weight_decay=5e-4)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    for epoch in range(args.epochs):
        model.train()
        for step, batch in enumerate(loader):
            batch = batch.cuda(non_blocking=True)
            loss_dict = model(batch.images, batch.targets)
            losses = sum(loss for loss in loss_dict.values())
            optimizer.zero_grad()
            losses.backward()
            optimizer.step()
            warmup.step()
        print(f"epoch {epoch} loss {losses.item():.6f} " + " ".join(f"{k} {v.item():.4f}" for k, v in loss_dict.items()))
        print(f"hit rate {evaluate(model, loader):.3f}, max mem {torch.cuda.max_memory_allocated() / 1024.0 / 1024.0:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", default=4, type=int)
    parser.add_argument("-b", "--batch-size", default=8, type=int)
    parser.add_argument("--seed", default=0, type=int)
    main(parser.parse_args())
