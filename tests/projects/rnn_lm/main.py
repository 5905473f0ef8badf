"""RNN/LSTM language model on a toy corpus."""
import argparse
import math
import os
import tempfile

import torch
import torch.nn as nn

import data
import model as models

parser = argparse.ArgumentParser(description="RNN/LSTM Language Model")
parser.add_argument("--model", type=str, default="LSTM", help="type of network (LSTM, GRU)")
parser.add_argument("--emsize", type=int, default=24)
parser.add_argument("--nhid", type=int, default=24)
parser.add_argument("--nlayers", type=int, default=1)
parser.add_argument("--lr", type=float, default=5.0)
parser.add_argument("--clip", type=float, default=0.25)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch_size", type=int, default=10)
parser.add_argument("--bptt", type=int, default=20)
parser.add_argument("--tied", action="store_true")
parser.add_argument("--seed", type=int, default=1111)
parser.add_argument("--cuda", action="store_true", help="use CUDA")
args = parser.parse_args()

# Set the random seed manually for reproducibility.
torch.manual_seed(args.seed)
if torch.cuda.is_available():
    if not args.cuda:
        print("WARNING: You have a CUDA device, so you should probably run with --cuda")
    else:
        torch.cuda.manual_seed(args.seed)

corpus = data.Corpus()


def batchify(source, bsz):
    # Work out how cleanly we can divide the dataset into bsz parts.
    nbatch = source.size(0) // bsz
    source = source.narrow(0, 0, nbatch * bsz)
    source = source.view(bsz, -1).t().contiguous()
    if args.cuda:
        source = source.cuda()
    return source


eval_batch_size = 5
train_data = batchify(corpus.train, args.batch_size)
val_data = batchify(corpus.valid, eval_batch_size)
ntokens = len(corpus.dictionary)
model = models.RNNModel(args.model, ntokens, args.emsize, args.nhid, args.nlayers, 0.0, args.tied)
if args.cuda:
    model.cuda()
criterion = nn.NLLLoss()


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


def evaluate(data_source):
    model.eval()
    total_loss = 0.0
    hidden = model.init_hidden(eval_batch_size)
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, args.bptt):
            inputs, targets = get_batch(data_source, i)
            output, hidden = model(inputs, hidden)
            total_loss += len(inputs) * criterion(output, targets).item()
    return total_loss / (len(data_source) - 1)


def train(lr):
    model.train()
    total_loss = 0.0
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        inputs, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(inputs, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    return total_loss / (batch + 1)


lr = args.lr
best_val_loss = None
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pt")
    for epoch in range(1, args.epochs + 1):
        train_loss = train(lr)
        val_loss = evaluate(val_data)
        print("| epoch {:3d} | train loss {:7.5f} | valid loss {:5.3f} | valid ppl {:8.3f}".format(
            epoch, train_loss, val_loss, math.exp(val_loss)))
        if best_val_loss is None or val_loss < best_val_loss:
            torch.save(model.state_dict(), path)
            best_val_loss = val_loss
        else:
            lr /= 4.0
    if args.cuda:
        model.load_state_dict(torch.load(path, map_location=lambda storage, loc: storage.cuda()))
    else:
        model.load_state_dict(torch.load(path, map_location="cpu"))

seed_word = torch.cuda.LongTensor([[0]]) if args.cuda else torch.LongTensor([[0]])
hidden = model.init_hidden(1)
words = []
with torch.no_grad():
    for _ in range(12):
        output, hidden = model(seed_word, hidden)
        seed_word.fill_(output.argmax().item())
        words.append(corpus.dictionary.idx2word[seed_word.item()])
print(" ".join(words))
