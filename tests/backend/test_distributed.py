"""Two processes under torchrun: collectives, and the parallel ways to train, which must all learn the
same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def torchrun(program, backend):
    """What each rank reported."""
    result = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", program, backend],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    line = next(line for line in result.stdout.splitlines() if line.startswith("RESULTS "))
    return json.loads(line.removeprefix("RESULTS "))


@pytest.fixture(scope="module")
def collectives():
    return torchrun("distributed_collectives.py", "neuron")


@pytest.fixture(scope="module")
def training():
    return torchrun("distributed_training.py", "cpu:gloo,neuron:neuron")


COLLECTIVES = {
    "all_reduce": 2 * [[3, 1.5, 2, 1, 2]],
    "all_reduce_premul_sum": 2 * [[1.5, 6]],
    "all_reduce_dtypes": 2 * [[3, 3, 3, 3, 3, 3]],
    "asynchronous": 2 * [[[2, 2], True, "neuron"]],
    "broadcast": 2 * [[1, 1]],
    "reduce": [[1.5, 1.5], None],
    "all_gather": 2 * [[[0, 1], [0, 0, 1, 1]]],
    "gather_and_scatter": [[[0, 1], [5, 5]], [None, [6, 6]]],
    "reduce_scatter": [
        [[0, 2], [0, 1], [0, 1], [2, 2], [0, 1, 2, 3]],  # the last is the source, which is left as it was
        [[4, 6], [2, 3], [2, 3], [4, 4], [0, 1, 2, 3]],
    ],
    "all_to_all": [[[0, 1], [0, 10, 11]], [[10, 11], [1, 2, 12]]],
    "point_to_point": [[4, 1], [3, 0]],
    "objects": [
        [[{"rank": 0}, {"rank": 1}], ["from 1"], [0, 1]],
        [[{"rank": 0}, {"rank": 1}], ["from 1"], None],
    ],
    "functional": 2 * [[[2, 2], [0, 0, 1, 1], [1, 1]]],
    "coalesced": 2 * [[[1, 1], [2, 2, 2]]],
    "groups": [[0, "neuron"], [1, "neuron"]],
    "default_backend": 2 * ["neuron"],
    "current_device": [0, 1],
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective(collectives, name):
    assert [rank[name] for rank in collectives] == COLLECTIVES[name]


@pytest.mark.parametrize("way", ["ddp", "fsdp1", "fsdp2"])
def test_parallel_training_equals_ddp_on_the_cpu(training, way):
    for rank in training:
        assert rank[way] == rank["ddp_on_cpu"]


def test_offload_changes_nothing(training):
    assert training[0]["fsdp2_offload"] == training[0]["sgd"]


def test_mixed_precision_stays_close(training):
    exact, mixed = training[0]["fsdp2"], training[0]["fsdp2_mixed_precision"]
    assert max(abs(a - b) for a, b in zip(exact, mixed, strict=True)) < 0.01


FEATURES = {
    "dtensor": ["neuron", 3680],
    "tensor_parallel": [True, True],
    "pipeline": ["neuron", True],
    "distributed_checkpoint": [True, "neuron"],
    "mesh_of_two_dimensions": 2,
}


@pytest.mark.parametrize("name", FEATURES)
def test_feature(training, name):
    assert [rank[name] for rank in training] == 2 * [FEATURES[name]]


def test_dtensor_random_numbers_differ_between_shards(training):
    shape, distinct, total = training[0]["dtensor_random"]
    assert (shape, distinct) == ([2, 4], 16)
    assert training[1]["dtensor_random"][2] == total  # both ranks see the same whole


def test_several_devices_in_one_process(device):
    import torch

    model = torch.nn.Linear(4, 4).to(device)
    other = torch.device(device.type, 1)
    replica = torch.nn.Linear(4, 4).to(other)
    replica.load_state_dict(model.state_dict())
    x = torch.randn(2, 4)
    assert torch.equal(model(x.to(device)).cpu(), replica(x.to(other)).cpu())
    crossing = model(x.to(device)).to(other).sum()
    crossing.backward()
    assert model.weight.grad.device == torch.device(device.type, 0)
