"""Recurrent layers and cells equal the CPU's, forward and backward, packed and in both directions."""

import pytest
import torch
from torch import nn

LAYERS = {
    "lstm": lambda: nn.LSTM(4, 5, 2, bidirectional=True),
    "lstm batch first": lambda: nn.LSTM(4, 5, batch_first=True),
    "lstm projected": lambda: nn.LSTM(4, 6, proj_size=3),
    "lstm no bias": lambda: nn.LSTM(4, 5, bias=False),
    "gru": lambda: nn.GRU(4, 5, 2, bidirectional=True),
    "rnn tanh": lambda: nn.RNN(4, 5),
    "rnn relu": lambda: nn.RNN(4, 5, nonlinearity="relu"),
}
CELLS = {
    "lstm cell": lambda: nn.LSTMCell(4, 5),
    "gru cell": lambda: nn.GRUCell(4, 5),
    "rnn cell": lambda: nn.RNNCell(4, 5),
}


def outputs_and_gradients(make, x, device):
    torch.manual_seed(0)
    module = make().to(device)
    x = (
        x.to(device)
        if isinstance(x, nn.utils.rnn.PackedSequence)
        else x.detach().to(device, copy=True).requires_grad_()
    )
    result = module(x)
    tensors = []
    for part in result if isinstance(result, tuple) else (result,):
        tensors += part if isinstance(part, tuple) and not hasattr(part, "batch_sizes") else [part]
    tensors = [t.data if hasattr(t, "batch_sizes") else t for t in tensors]
    sum(t.square().sum() for t in tensors).backward()
    gradients = [p.grad for p in module.parameters()] + ([] if hasattr(x, "batch_sizes") else [x.grad])
    return [t.detach().cpu() for t in tensors + gradients]


@pytest.mark.parametrize("name", [*LAYERS, *CELLS])
def test_equals_the_cpu(device, name):
    x = torch.randn(3, 4) if name in CELLS else torch.randn(6, 3, 4)
    make = {**LAYERS, **CELLS}[name]
    pairs = zip(outputs_and_gradients(make, x, "cpu"), outputs_and_gradients(make, x, device), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_packed_sequences_equal_the_cpu(device, name):
    packed = nn.utils.rnn.pack_sequence([torch.randn(5, 4), torch.randn(3, 4)])
    make = LAYERS[name]
    pairs = zip(outputs_and_gradients(make, packed, "cpu"), outputs_and_gradients(make, packed, device), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_frozen_weights_get_no_gradient(device):
    layer = nn.LSTM(4, 5).to(device)
    layer.weight_hh_l0.requires_grad_(False)
    layer(torch.randn(3, 2, 4, device=device))[0].sum().backward()
    assert layer.weight_hh_l0.grad is None
    assert layer.weight_ih_l0.grad is not None


def test_no_second_derivative(device):
    x = torch.randn(3, 2, 4, device=device, requires_grad=True)
    (gradient,) = torch.autograd.grad(nn.LSTM(4, 5).to(device)(x)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        gradient.sum().backward()


def test_tracing_sees_simple_operators(device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        cell, layer = nn.LSTMCell(4, 5, device=device), nn.GRU(4, 5, device=device)
        assert cell(torch.empty(3, 4, device=device))[0].shape == (3, 5)
        assert layer(torch.empty(6, 3, 4, device=device))[0].shape == (6, 3, 5)


def test_dropout_between_layers_draws_from_the_device(device):
    layer, x = nn.LSTM(4, 5, 2, dropout=0.5).to(device), torch.randn(3, 2, 4, device=device)
    state = torch.get_rng_state()
    torch.get_device_module().manual_seed(0)
    first = layer(x)[0]
    assert torch.equal(torch.get_rng_state(), state)
    torch.get_device_module().manual_seed(0)
    assert torch.equal(layer(x)[0], first)
