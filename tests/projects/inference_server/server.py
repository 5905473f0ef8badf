"""Serve a small text classifier: requests are batched, padded and answered in order.

    python server.py --port 0 --cuda-graphs
"""
import argparse
import queue
import threading
import time

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--requests", type=int, default=20, help="answer this many, then stop")
parser.add_argument("--max-batch", type=int, default=4)
parser.add_argument("--cuda-graphs", action="store_true", help="replay a captured graph for each batch")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

use_gpu = torch.cuda.is_available()
device = torch.device("cuda", torch.cuda.current_device()) if use_gpu else torch.device("cpu")
dtype = torch.float16 if use_gpu else torch.float32


class Classifier(nn.Module):
    def __init__(self, vocab=64, dim=32, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        x = self.embed(ids)
        x = (x + self.mix(x)) * mask
        return self.head(x.sum(1) / mask.sum(1)).float().softmax(-1)


class GraphRunner:
    """Replays one captured forward pass; inputs are copied into its static buffer."""

    def __init__(self, model, example):
        self.static_input = example.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(self.static_input)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.static_output = model(self.static_input)

    def __call__(self, ids):
        self.static_input.copy_(ids)
        self.graph.replay()
        return self.static_output.clone()


class Engine:
    def __init__(self):
        torch.manual_seed(args.seed)
        self.model = Classifier().to(device=device, dtype=dtype).eval()
        self.run = self.model
        self.warmup()
        if args.cuda_graphs and torch.cuda.is_available():
            self.run = GraphRunner(self.model, self.pad([[1]] * args.max_batch))

    def pad(self, requests, length=8):
        ids = torch.zeros(args.max_batch, length, dtype=torch.long)
        for row, tokens in zip(ids, requests):
            row[:len(tokens)] = torch.tensor(tokens)
        if use_gpu:
            ids = ids.pin_memory()
        return ids.to(device, non_blocking=True)

    def warmup(self):
        with torch.inference_mode():
            self.model(self.pad([[1, 2, 3]] * args.max_batch))
        if use_gpu:
            torch.cuda.synchronize()
            print(f"model takes {torch.cuda.memory_allocated() / 1024:.0f} KiB on {torch.cuda.get_device_name()}")

    @torch.inference_mode()
    def answer(self, requests):
        start = time.perf_counter()
        probabilities = self.run(self.pad(requests))[:len(requests)]
        if use_gpu:
            torch.cuda.synchronize()
        latency = time.perf_counter() - start
        top, label = probabilities.max(-1)
        return list(zip(label.tolist(), top.tolist())), latency


def client(requests, n):
    g = torch.Generator().manual_seed(args.seed)
    for _ in range(n):
        length = int(torch.randint(1, 9, (1,), generator=g))
        requests.put(torch.randint(1, 64, (length,), generator=g).tolist())
    requests.put(None)


def main():
    requests = queue.Queue()
    threading.Thread(target=client, args=(requests, args.requests), daemon=True).start()
    engine = Engine()
    done, latencies, batch = False, [], []
    while not done:
        request = requests.get()
        done = request is None
        if not done:
            batch.append(request)
        if batch and (done or len(batch) == args.max_batch):
            answers, latency = engine.answer(batch)
            latencies.append(latency)
            for tokens, (label, confidence) in zip(batch, answers):
                print(f"{len(tokens)} tokens -> class {label} ({confidence:.3f})")
            batch = []
    print(f"{len(latencies)} batches, median {sorted(latencies)[len(latencies) // 2] * 1000:.2f} ms")
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
