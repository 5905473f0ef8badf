"""Train torchtitan 0.2.2's llama3 debug model, unmodified, and compare four ways to learn the same thing.

    PYTHONPATH=... python tests/backend/torchtitan_train.py WORK_FOLDER

With torchtitan importable: two processes under FSDP2 on the backend, twice; one process; and a plain PyTorch
loop on the CPU with the same weights and batches. Prints the losses and exits with 1 unless the first two are
equal bit for bit as far as torchtitan prints them, the others agree within 1e-3, and the loss falls.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from torchtitan_assets import make_assets

STEPS, LENGTH = 5, 128
OPTIONS = [
    "--model.name=llama3", "--model.flavor=debugmodel", "--model.hf-assets-path=tests/assets/tokenizer",
    "--training.dataset=c4_test", f"--training.seq-len={LENGTH}", f"--training.steps={STEPS}",
    "--training.mixed-precision-param=float32", "--metrics.log-freq=1", "--metrics.disable-color-printing",
    "--optimizer.implementation=foreach", "--lr-scheduler.warmup-steps=2", "--debug.seed=0",
    "--checkpoint.enable",
]  # fmt: skip


def torchtitan(folder, processes, batch, *options, seed_checkpoint=None):
    """The losses that torchtitan prints, as text."""
    if seed_checkpoint:
        shutil.copytree(seed_checkpoint, folder / "outputs" / "checkpoint")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += ["-m", "torchtitan.train", *OPTIONS, f"--training.local-batch-size={batch}", *options]
    environment = {
        **os.environ,
        "TORCH_AGNOSTIC_BACKEND": "neuron",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    environment["HF_DATASETS_CACHE"] = str(folder / "cache")
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    output = result.stdout + result.stderr
    if result.returncode:
        raise SystemExit(output[-4000:])
    found = dict(re.findall(r"step: +(\d+) +loss: +([0-9.]+)", output))
    return [found[step] for step in sorted(found, key=int)]


def fresh(folder, interleaved=False):
    """An empty folder with the assets."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make_assets(folder, length=LENGTH + 1, interleaved=interleaved)
    return folder


def plain_loop(folder, checkpoint):
    """The losses of a loop without torchtitan's trainer, on the CPU."""
    import torch
    from torch.distributed import checkpoint as dcp
    from torchtitan.components.lr_scheduler import build_lr_schedulers
    from torchtitan.components.tokenizer import build_hf_tokenizer
    from torchtitan.config import ConfigManager
    from torchtitan.hf_datasets.text_datasets import HuggingFaceTextDataset
    from torchtitan.protocols.train_spec import get_train_spec

    os.chdir(folder)
    config = ConfigManager().parse_args(OPTIONS)
    spec = get_train_spec("llama3")
    arguments = spec.model_args["debugmodel"]
    arguments.update_from_config(config)
    model = spec.model_cls(arguments)
    state = model.state_dict()
    dcp.load(state, checkpoint_id=str(checkpoint / "step-0"), no_dist=True)
    model.load_state_dict(state)
    model.freqs_cis = model._precompute_freqs_cis()
    optimizer = torch.optim.AdamW(model.parameters(), 8e-4, (0.9, 0.95), 1e-8, 0.1, foreach=True)
    scheduler = build_lr_schedulers([optimizer], config.lr_scheduler, STEPS)
    tokenizer = build_hf_tokenizer(config)
    ranks = [iter(HuggingFaceTextDataset("c4_test", None, tokenizer, LENGTH, rank, 2, True)) for rank in (0, 1)]
    losses = []
    for _ in range(STEPS):
        pairs = [next(rank) for rank in ranks for _ in range(2)]
        inputs, labels = torch.stack([p[0]["input"] for p in pairs]), torch.stack([p[1] for p in pairs])
        loss = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1).float(), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(f"{loss.item():.5f}")
    return losses


def main():
    """Run and compare."""
    work = Path(sys.argv[1]).resolve()
    seed = fresh(work / "seed")
    torchtitan(seed, 1, 2, "--checkpoint.create-seed-checkpoint")
    checkpoint = seed / "outputs" / "checkpoint"
    losses = {}
    for name, processes, batch, interleaved in (
        ("two", 2, 2, False),
        ("again", 2, 2, False),
        ("one", 1, 4, True),
    ):
        folder = fresh(work / name, interleaved)
        losses[name] = torchtitan(folder, processes, batch, seed_checkpoint=checkpoint)
        print(f"{name:<6}", *losses[name], flush=True)
    losses["plain"] = plain_loop(fresh(work / "plain"), checkpoint)
    print(f"{'plain':<6}", *losses["plain"])
    pairs = [
        (float(a), float(b)) for other in ("one", "plain") for a, b in zip(losses["two"], losses[other], strict=True)
    ]
    good = losses["two"] == losses["again"] and float(losses["two"][-1]) < float(losses["two"][0])
    raise SystemExit(not (good and len(losses["two"]) == STEPS and all(abs(a - b) < 1e-3 for a, b in pairs)))


if __name__ == "__main__":
    main()
