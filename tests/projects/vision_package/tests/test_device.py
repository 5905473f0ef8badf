import unittest
from unittest import mock

import pytest
import torch

from shapes import get_default_device, move_data_to_device
from shapes.device import free_memory

requires_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA not available")


def test_cpu_is_chosen_without_a_gpu():
    with mock.patch("torch.cuda.is_available", return_value=False):
        assert get_default_device() == torch.device("cpu")
        assert not free_memory()


@requires_cuda
def test_gpu_is_chosen():
    assert get_default_device().type == "cuda"


@requires_cuda
def test_nested_data_is_moved():
    batch = move_data_to_device({"a": torch.ones(2), "b": [torch.zeros(1)]}, get_default_device())
    assert batch["a"].is_cuda
    assert batch["b"][0].device.type == "cuda"


class MemoryTest(unittest.TestCase):
    @unittest.skipUnless(torch.cuda.is_available(), "needs CUDA")
    def test_memory_goes_back(self):
        before = torch.cuda.memory_allocated()
        block = torch.empty(1000, 1000, device="cuda")
        self.assertGreater(torch.cuda.memory_allocated(), before)
        del block
        self.assertTrue(free_memory())
        self.assertEqual(torch.cuda.memory_allocated(), before)
