"""torchtitan, unmodified, under torchrun with FSDP2 on two processes (needs torchtitan and triton)."""

import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from torchtitan_assets import make_assets

HERE = Path(__file__).resolve().parent
missing = [name for name in ("torchtitan", "triton", "datasets") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}"),
]


def needs(prefix):
    return pytest.mark.skipif(
        not missing and not version("torchtitan").startswith(prefix), reason=f"for torchtitan {prefix}"
    )


@needs("0.2")
def test_learns_the_same_in_two_processes_in_one_and_in_a_plain_loop(tmp_path):
    program = HERE / "torchtitan_train.py"
    result = subprocess.run([sys.executable, str(program), str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@needs("0.3")
def test_language_model_with_flex_attention_learns(tmp_path):
    make_assets(tmp_path)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [str(HERE / "torchtitan_launch.py"), "--module", "llama3", "--config", "llama3_debugmodel"]
    command += ["--hf-assets-path", "tests/assets/tokenizer", "--training.local-batch-size", "2"]
    command += ["--training.seq-len", "128", "--training.steps", "4", "--metrics.log-freq", "1"]
    command += ["--parallelism.spmd-backend", "partial_dtensor", "--validator.no-enable"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled"}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    text = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)
    losses = [float(loss) for loss in dict(re.findall(r"step: +(\d+) +loss: +([0-9.]+)", text)).values()]
    assert len(losses) == 4
    assert losses[-1] < losses[0]
