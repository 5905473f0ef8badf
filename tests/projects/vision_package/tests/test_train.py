import pytest
import torch

from shapes import ShapeNet, fit

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


def test_loss_goes_down_on_the_default_device():
    losses = fit(ShapeNet(), epochs=6)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("device", DEVICES)
def test_output_shape(device):
    model = ShapeNet(classes=5).to(device)
    assert model(torch.zeros(2, 1, 16, 16, device=device)).shape == (2, 5)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_second_gpu():
    model = ShapeNet().to("cuda:1")
    fit(model, epochs=1, device=torch.device("cuda:1"))
    assert next(model.parameters()).device == torch.device("cuda", 1)
