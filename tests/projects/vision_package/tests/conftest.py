import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU")


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(0)
    yield
    torch.cuda.empty_cache()
