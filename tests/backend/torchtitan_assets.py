"""A small text and a byte-level tokenizer of our own making, where torchtitan's debug configurations look for
them."""

import json
import random
from pathlib import Path

SUBJECTS = [
    "the tensor",
    "a stream",
    "the device",
    "one kernel",
    "the loss",
    "an event",
    "the model",
    "a gradient",
]
VERBS = ["waits for", "follows", "copies", "reads", "meets", "scales", "moves", "counts"]


def make_assets(folder: Path, documents: int = 400) -> None:
    """Write `tests/assets/tokenizer` and `tests/assets/c4_test` below `folder`."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate(["<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<s>", "</s>"])
    assets = folder / "tests" / "assets"
    (assets / "tokenizer").mkdir(parents=True, exist_ok=True)
    (assets / "c4_test").mkdir(exist_ok=True)
    tokenizer.save(str(assets / "tokenizer" / "tokenizer.json"))
    (assets / "tokenizer" / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<s>", "eos_token": "</s>"})
    )
    draw = random.Random(0)
    with (assets / "c4_test" / "data.json").open("w") as file:
        for _ in range(documents):
            sentences = (
                f"{draw.choice(SUBJECTS)} {draw.choice(VERBS)} {draw.choice(SUBJECTS)}." for _ in range(20)
            )
            file.write(json.dumps({"text": " ".join(sentences)}) + "\n")
