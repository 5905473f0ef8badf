"""Images with one to three bright boxes, and what is needed to batch them."""
import torch
from torch.utils.data import Dataset


class Boxes(Dataset):
    def __init__(self, n=48, size=24):
        self.items = []
        g = torch.Generator().manual_seed(5)
        for _ in range(n):
            image = 0.1 * torch.randn(1, size, size, generator=g)
            boxes, labels = [], []
            for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
                x, y = torch.randint(0, size - 8, (2,), generator=g).tolist()
                w, h = torch.randint(4, 8, (2,), generator=g).tolist()
                label = int(w > h)
                image[0, y:y + h, x:x + w] += 1.0 + label
                boxes.append([x, y, x + w, y + h])
                labels.append(label)
            self.items.append((image, {"boxes": torch.tensor(boxes).float(), "labels": torch.tensor(labels)}))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class DetectionBatch:
    """Images of one size as a tensor, their boxes as a list. The loader's pinning thread calls pin_memory()."""

    def __init__(self, samples):
        images, self.targets = zip(*samples)
        self.images = torch.stack(images)

    def pin_memory(self):
        self.images = self.images.pin_memory()
        self.targets = [{k: v.pin_memory() for k, v in t.items()} for t in self.targets]
        return self

    def cuda(self, non_blocking=True):
        self.images = self.images.cuda(non_blocking=non_blocking)
        self.targets = [{k: v.cuda(non_blocking=non_blocking) for k, v in t.items()} for t in self.targets]
        return self


def collate(samples):
    return DetectionBatch(samples)
