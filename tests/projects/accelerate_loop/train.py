"""Train a sequence tagger with Accelerate.

    accelerate launch train.py
"""
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from tracer import TorchTracemalloc


class Tagger(nn.Module):
    """Marks each token by whether the one before it was larger."""

    def __init__(self, vocab=20, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.zeros(1, 12, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens) + self.position))


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, 20, (n, 12), generator=g)
    before = torch.roll(tokens, 1, 1)
    return TensorDataset(tokens, (before > tokens).long())


def main():
    accelerator = Accelerator(gradient_accumulation_steps=2)
    set_seed(3)
    if accelerator.is_main_process:
        print(f"device {accelerator.device}, {torch.cuda.device_count()} GPUs")
    model = Tagger().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    train_loader = DataLoader(make_data(192, 0), batch_size=16, shuffle=True)
    eval_data = make_data(64, 1).tensors
    model, optimizer, train_loader, scheduler = accelerator.prepare(model, optimizer, train_loader, scheduler)
    criterion = nn.CrossEntropyLoss().cuda()

    for epoch in range(2):
        with TorchTracemalloc() as tracemalloc:
            model.train()
            total_loss = 0.0
            for tokens, tags in train_loader:
                with accelerator.accumulate(model):
                    loss = criterion(model(tokens).flatten(0, 1), tags.flatten())
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
                total_loss += loss.detach().float()
        accelerator.print(f"epoch {epoch}: train loss {total_loss.item() / len(train_loader):.6f}")
        accelerator.print(f"GPU memory used {tracemalloc.used:.2f} MB, peaked {tracemalloc.peaked:.2f} MB")

        model.eval()
        with torch.no_grad():
            tokens, tags = (t.to("cuda") for t in eval_data)
            predictions = accelerator.gather_for_metrics(model(tokens).argmax(-1))
        accelerator.print(f"accuracy {(predictions == tags).float().mean().item():.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
