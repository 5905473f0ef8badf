"""Deliberately wrong rewrites: `verify` tells every one from the right one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from miniature import Project, has_recorder, projects, rewrite

from agnostic.proof.compare import Verdict, compare
from agnostic.proof.program import Run, prepare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_recorder(), reason="torch-agnostic is not installed (`pip install -e .[test]`)"),
]


@dataclass(frozen=True)
class Mutant:
    """One change of a right rewrite, and how it shows."""

    what: str
    project: str
    file: str
    right: str
    wrong: str
    shows: str
    """What the verdict says."""
    beside: str = "reference"
    """`reference`: another run of the right rewrite on the same device; `cpu`: the mutant itself on the
    CPU.
    """


MUTANTS = [
    Mutant(
        "a seed is dropped",
        "image_classifier",
        "main.py",
        "torch.manual_seed(args.seed)",
        "pass",
        "loss 0",
        "cpu",
    ),
    Mutant(
        "a .to is missing",
        "image_classifier",
        "main.py",
        "Net().to(device)",
        "Net()",
        "the program failed",
        "cpu",
    ),
    Mutant(
        "the labels stay on the CPU",
        "image_classifier",
        "main.py",
        ", target.to(device, non_blocking=True)",
        ", target",
        "the program failed",
        "cpu",
    ),
    Mutant(
        "the device is the CPU",
        "diffusion",
        "train.py",
        "\ntorch.manual_seed(42)",
        '\nuse_cuda, device = False, torch.device("cpu")\ntorch.manual_seed(42)',
        "the program never used neuron",
        "cpu",
    ),
    Mutant(
        "dropout stays on in evaluation",
        "image_classifier",
        "main.py",
        "model.eval()",
        "model.train()",
        "value read",
    ),
    Mutant(
        "GradScaler is disabled",
        "gpt_trainer",
        "train.py",
        "enabled=(args.dtype",
        "enabled=(not args.dtype",
        "loss scale 0",
    ),
    Mutant(
        "gradients are clipped before they are unscaled",
        "gpt_trainer",
        "train.py",
        "    scaler.unscale_(optimizer)\n",
        "",
        "gradient norm",
    ),
    Mutant(
        "autocast is left out",
        "gpt_trainer",
        "train.py",
        "        with ctx:\n            _, loss = model(X, Y)\n            loss",
        "        with nullcontext():\n            _, loss = model(X, Y)\n            loss",
        "autocast 0",
    ),
    Mutant(
        "the learning rate is another",
        "diffusion",
        "train.py",
        "lr=4e-3",
        "lr=4e-4",
        "parameter norm at optimizer step 0",
    ),
    Mutant("batches come in another order", "diffusion", "train.py", "shuffle=True", "shuffle=False", "loss 0"),
    Mutant("the loss is scaled", "diffusion", "train.py", "loss.backward()", "(2 * loss).backward()", "loss 0"),
    Mutant(
        "gradients are not set to zero",
        "diffusion",
        "train.py",
        "optimizer.zero_grad()",
        "pass",
        "gradient norm at optimizer step 1",
    ),
    Mutant(
        "averaged weights are not averaged",
        "diffusion",
        "train.py",
        "                    update_ema(ema, model)",
        "                    pass",
        "value read",
    ),
    Mutant(
        "all ranks take device 0",
        "ddp_trainer",
        "train_ddp.py",
        "gpu_id, world_size):\n        self.gpu_id = gpu_id",
        "gpu_id, world_size):\n        gpu_id = 0\n        self.gpu_id = gpu_id",
        "devices",
    ),
    Mutant(
        "gradients are never reduced",
        "ddp_trainer",
        "train_ddp.py",
        "with nullcontext() if last else self.model.no_sync():",
        "with self.model.no_sync():",
        "gradient norm",
    ),
]


@pytest.fixture(scope="session")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The projects after `fix --apply`."""
    return rewrite(tmp_path_factory.mktemp("right"))


@pytest.fixture(scope="session")
def reference(right: Path) -> Callable[[Project], Run]:
    """The right rewrite's run on neuron."""
    prepare(["neuron"])
    done: dict[str, Run] = {}

    def run(project: Project) -> Run:
        if project.name not in done:
            done[project.name] = project.run(right, "neuron")
        return done[project.name]

    return run


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what.replace(" ", "-"))
def test_a_wrong_rewrite_is_told_from_the_right_one(
    mutant: Mutant, right: Path, reference: Callable[[Project], Run], tmp_path: Path
) -> None:
    project = projects()[mutant.project]
    shutil.copytree(right / project.name, tmp_path / project.name)
    path = tmp_path / project.name / mutant.file
    text = path.read_text()
    assert mutant.right in text
    path.write_text(text.replace(mutant.right, mutant.wrong))
    there = project.run(tmp_path, "neuron")
    against = reference(project) if mutant.beside == "reference" else project.run(tmp_path, "cpu")
    assert against.status == "ended", against.traceback
    verdict: Verdict = compare(against, there, project.rtol)
    assert not verdict.good, str(verdict)
    assert mutant.shows in str(verdict)


def test_the_right_rewrite_is_the_same_when_it_is_run_again(right: Path, reference: Callable[[Project], Run]) -> None:
    for name in sorted({mutant.project for mutant in MUTANTS}):
        verdict = compare(reference(projects()[name]), projects()[name].run(right, "neuron"), 0)
        assert verdict.outcome == "same", str(verdict)
