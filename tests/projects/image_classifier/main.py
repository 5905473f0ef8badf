"""A small convolutional network on synthetic digits.

    python main.py --epochs 3 --gpu 0
"""
from __future__ import print_function

import argparse
import os
import random
import tempfile

import numpy as np
import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout = nn.Dropout(0.1)
        self.fc1 = nn.Linear(16 * 6 * 6, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def make_dataset(n, seed):
    """Noisy prototypes: ten random images, one per class."""
    g = torch.Generator().manual_seed(4)
    prototypes = torch.randn(10, 1, 16, 16, generator=g)
    g.manual_seed(seed)
    labels = torch.randint(0, 10, (n,), generator=g)
    return TensorDataset(prototypes[labels] + 0.7 * torch.randn(n, 1, 16, 16, generator=g), labels)


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


def accuracy(output, target, topk=(1,)):
    """Computes the accuracy over the k top predictions for the specified values of k"""
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0).mul_(100.0 / target.size(0)).item() for k in topk]


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    losses = AverageMeter()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device, non_blocking=True), target.to(device, non_blocking=True)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), len(data))
        if batch_idx % args.log_interval == 0:
            print("Train Epoch: {} [{}/{}]\tLoss: {:.6f}".format(
                epoch, batch_idx * len(data), len(train_loader.dataset), loss.item()))
    return losses.avg


def test(model, device, test_loader):
    model.eval()
    test_loss, top1, top5 = AverageMeter(), AverageMeter(), AverageMeter()
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss.update(F.nll_loss(output, target).item(), len(data))
            acc1, acc5 = accuracy(output, target, topk=(1, 5))
            top1.update(acc1, len(data))
            top5.update(acc5, len(data))
    print("\nTest set: Average loss: {:.4f}, Acc@1 {:.1f} Acc@5 {:.1f}\n".format(test_loss.avg, top1.avg, top5.avg))
    return top1.avg


def main():
    parser = argparse.ArgumentParser(description="Synthetic digits")
    parser.add_argument("--batch-size", type=int, default=32, metavar="N")
    parser.add_argument("--test-batch-size", type=int, default=64, metavar="N")
    parser.add_argument("--epochs", type=int, default=3, metavar="N")
    parser.add_argument("--lr", type=float, default=0.05, metavar="LR")
    parser.add_argument("--gamma", type=float, default=0.7, metavar="M")
    parser.add_argument("--no-cuda", action="store_true", default=False, help="disables CUDA training")
    parser.add_argument("--gpu", default=0, type=int, help="GPU id to use.")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--log-interval", type=int, default=4, metavar="N")
    parser.add_argument("--resume", default="", type=str, metavar="PATH")
    args = parser.parse_args()
    use_cuda = not args.no_cuda and torch.cuda.is_available()

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    if use_cuda:
        torch.cuda.manual_seed_all(args.seed)
        cudnn.deterministic = True
        cudnn.benchmark = False

    device = torch.device("cuda:{}".format(args.gpu) if use_cuda else "cpu")
    if use_cuda:
        torch.cuda.set_device(args.gpu)
        print("Use GPU: {} for training".format(args.gpu))

    train_kwargs = {"batch_size": args.batch_size, "shuffle": True}
    test_kwargs = {"batch_size": args.test_batch_size}
    if use_cuda:
        cuda_kwargs = {"num_workers": 0, "pin_memory": True}
        train_kwargs.update(cuda_kwargs)
        test_kwargs.update(cuda_kwargs)
    train_loader = DataLoader(make_dataset(256, 1), **train_kwargs)
    test_loader = DataLoader(make_dataset(128, 2), **test_kwargs)

    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    if args.resume and os.path.isfile(args.resume):
        if torch.cuda.is_available():
            checkpoint = torch.load(args.resume, map_location="cuda:{}".format(args.gpu))
        else:
            checkpoint = torch.load(args.resume, map_location="cpu")
        model.load_state_dict(checkpoint["state_dict"])

    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(1, args.epochs + 1):
            train_loss = train(args, model, device, train_loader, optimizer, epoch)
            best = max(best, test(model, device, test_loader))
            scheduler.step()
            torch.save({"epoch": epoch, "state_dict": model.state_dict()}, os.path.join(folder, "checkpoint.pth.tar"))
            print("epoch {} loss {:.6f} best {:.2f}".format(epoch, train_loss, best))
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
