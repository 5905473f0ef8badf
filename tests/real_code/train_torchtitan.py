"""Start torchtitan's training on text and a tokenizer of our own making.

`torch.cpu` lacks some members of a device module that torchtitan's memory monitor asks for; they are added
here, so that the program, which is not edited, can run on the CPU at all.
"""

import collections
import json
import random
import runpy
import sys
import types
from pathlib import Path

import torch

WORDS = [
    "the",
    "a",
    "tensor",
    "stream",
    "device",
    "kernel",
    "loss",
    "model",
    "waits",
    "follows",
    "copies",
    "reads",
]


def make_assets(folder: Path) -> None:
    """Write a byte-level tokenizer and a small corpus."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(["<s>", "</s>", *alphabet])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<s>", "</s>"])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    draw = random.Random(0)
    corpus = Path("tests/assets/c4_test")  # where torchtitan looks for it
    corpus.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"text": " ".join(draw.choices(WORDS, k=60))}) + "\n" for _ in range(100))
    (corpus / "data.json").write_text("".join(lines))


ABSENT = {
    "get_device_name": lambda device=None: "CPU",
    "get_device_properties": lambda device=None: types.SimpleNamespace(name="CPU", total_memory=2**34),
    "reset_peak_memory_stats": lambda device=None: None,
    "empty_cache": lambda: None,
    "memory_stats": lambda device=None: collections.defaultdict(int),
}

if __name__ == "__main__":
    make_assets(Path("tokenizer"))
    for name, member in ABSENT.items():
        if not hasattr(torch.cpu, name):
            setattr(torch.cpu, name, member)
    torch.cpu.current_device = lambda: 0  # it gives "cpu", which no barrier takes for the number of a device
    sys.argv += [
        "--model.name",
        "llama3",
        "--model.flavor",
        "debugmodel",
        "--model.hf-assets-path",
        "tokenizer",
    ]
    sys.argv += [
        "--training.dataset",
        "c4_test",
        "--training.local-batch-size",
        "2",
        "--training.seq-len",
        "128",
    ]
    runpy.run_module("torchtitan.train", run_name="__main__", alter_sys=True)
