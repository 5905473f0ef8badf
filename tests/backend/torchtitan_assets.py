"""A small text and a byte-level tokenizer of our own making, where torchtitan's debug models look for
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


def documents(count: int, length: int) -> list[str]:
    """Texts of ASCII characters, each `length` tokens long together with the tokens for its beginning and
    end."""
    draw = random.Random(0)
    texts = []
    for _ in range(count):
        sentences = (f"{draw.choice(SUBJECTS)} {draw.choice(VERBS)} {draw.choice(SUBJECTS)}." for _ in range(length))
        texts.append(" ".join(sentences)[: length - 2])
    return texts


def make_assets(folder: Path, length: int = 129, count: int = 200, interleaved: bool = False) -> None:
    """Write `tests/assets/tokenizer` and `tests/assets/c4_test` below `folder`.

    Two processes read one half of the documents each. If `interleaved`, the documents are in the order, two
    by two, in which one process with twice the batch size sees what the two see together.
    """
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
    (assets / "tokenizer" / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    texts = documents(count, length)
    if interleaved:
        first, second = texts[: count // 2], texts[count // 2 :]
        texts = [text for i in range(0, count // 2, 2) for text in (*first[i : i + 2], *second[i : i + 2])]
    lines = (json.dumps({"text": text}) for text in texts)
    (assets / "c4_test" / "data.json").write_text("\n".join(lines) + "\n")
