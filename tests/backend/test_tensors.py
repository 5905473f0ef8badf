"""Tensors: moving, saving, mixing devices, lazy views, transforms; and no pretending to be CUDA or the
CPU."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn


def test_moves_between_all_devices(device):
    second = torch.device(device.type, 1)
    value = torch.randn(3, 4)
    assert torch.equal(value.to(device).to(second).cpu(), value)
    assert torch.equal(value.to(device).T.to(second).cpu(), value.T)
    assert value.to(device, torch.bfloat16).dtype == torch.bfloat16
    assert torch.tensor([1, 2], device=second).device == second


def test_no_masquerade(device):
    assert not torch.cuda.is_available()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(1).cuda()
    value = torch.ones(1, device=device)
    assert not value.is_cuda
    assert not value.is_cpu
    with pytest.raises(TypeError, match="can't convert"):
        value.numpy()


def test_mixed_devices_raise_torchs_own_error(device):
    value = torch.ones(3, device=device)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but got other is on cpu"):
        value + torch.ones(3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but got mat2 is on cpu"):
        torch.mm(torch.ones(3, 3, device=device), torch.ones(3, 3))
    with pytest.raises(RuntimeError, match="found at least two devices"):
        value + torch.ones(3, device=torch.device(device.type, 1))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        nn.Linear(3, 3)(value)


def test_what_cuda_allows_of_the_cpu(device):
    value = torch.arange(4.0, device=device)
    assert (value + torch.tensor(2.0)).tolist() == [2, 3, 4, 5]
    assert value[torch.tensor([1, 3])].tolist() == [1, 3]
    value[torch.tensor([0])] = torch.tensor(9.0)
    assert value.tolist() == [9, 1, 2, 3]


@pytest.mark.parametrize("make", [lambda x: x.to_sparse(), lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)])
def test_layouts_without_storage_are_refused(device, make):
    with pytest.raises(NotImplementedError):
        make(torch.eye(2, device=device))


@pytest.mark.parametrize("location", [None, "cpu", "neuron:1", {"neuron:0": "cpu"}, lambda storage, place: storage])
def test_save_and_load(device, location):
    buffer = io.BytesIO()
    torch.save({"x": torch.arange(3.0, device=device)}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, map_location=location)["x"]
    places = {None: "neuron:0", "cpu": "cpu", "neuron:1": "neuron:1"}
    wanted = places[location] if isinstance(location, str | None) else "cpu"
    assert str(loaded.device) == wanted
    assert loaded.tolist() == [0, 1, 2]


def test_load_straight_to_the_device():
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    buffer.seek(0)
    assert torch.load(buffer, map_location="neuron", mmap=False).device.type == "neuron"


def test_pickle_and_deepcopy(device):
    value = copy.deepcopy(nn.Linear(2, 2).to(device))
    assert pickle.loads(pickle.dumps(value)).weight.device.type == device.type


def test_safetensors_by_way_of_the_cpu(device, tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save_file({"x": torch.ones(2, device=device)}, tmp_path / "x.safetensors")
    assert safetensors.load_file(tmp_path / "x.safetensors")["x"].to(device).sum() == 2


def test_default_device(device):
    with device:
        assert nn.Linear(1, 1).weight.device.type == device.type
    torch.set_default_device(device)
    try:
        assert torch.arange(3).device.type == device.type
    finally:
        torch.set_default_device(None)


def test_tied_weights_stay_tied(device):
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    nn.Sequential(first, second).to(device)
    assert first.weight is second.weight
    assert first.weight.device.type == device.type


def test_optimizer_made_before_the_move_updates_the_device(device):
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    model.to(device)
    before = model.weight.clone()
    model(torch.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    assert not torch.equal(before, model.weight)


def test_lazy_conjugate_and_negative_views(device):
    value = torch.tensor([1 + 2j, 3 - 1j])
    assert torch.equal(value.to(device).conj().cpu(), value.conj().resolve_conj())
    assert torch.equal(value.to(device).conj().imag.cpu(), value.conj().imag.resolve_neg())
    assert torch.equal((value.to(device).conj() * 2).cpu(), value.conj() * 2)


def test_out_and_in_place(device):
    out = torch.empty(0, device=device)
    assert torch.add(torch.ones(3, device=device), 1, out=out) is out
    assert out.tolist() == [2, 2, 2]
    view = out[1:]
    view.mul_(3)
    assert out.tolist() == [2, 6, 6]


def test_results_are_views_where_the_cpu_gives_views(device):
    value = torch.zeros(2, 3, device=device)
    value.t()[0, 1] = 5
    value.view(-1)[2] = 7
    assert value.tolist() == [[0, 0, 7], [5, 0, 0]]
    assert value.t().untyped_storage().data_ptr() == value.untyped_storage().data_ptr()


def test_function_transforms(device):
    x = torch.randn(4, 3, device=device)
    assert torch.allclose(torch.vmap(torch.sum)(x), x.sum(1))
    assert torch.equal(torch.func.grad(lambda v: (v**2).sum())(x), 2 * x)
    assert torch.func.jacrev(lambda v: v * 2)(x[0]).device.type == device.type
    assert torch.equal(torch.func.jvp(lambda v: v * 3, (x,), (torch.ones_like(x),))[1], torch.full_like(x, 3))
    assert torch.func.hessian(lambda v: (v**3).sum())(x[0]).shape == (3, 3)


def test_nested_tensors(device):
    parts = [torch.randn(2, 4, device=device), torch.randn(3, 4, device=device)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    doubled = (nested * 2).unbind()
    assert all(torch.equal(a, b * 2) for a, b in zip(doubled, parts, strict=True))
    assert torch.nested.to_padded_tensor(nested, 0.0).shape == (2, 3, 4)


def test_second_derivatives(device):
    x = torch.tensor([2.0], device=device, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    assert torch.autograd.grad(first, x)[0].item() == 12


@pytest.mark.filterwarnings("ignore")
def test_anomaly_mode_names_the_function(device):
    x = torch.tensor([-1.0], device=device, requires_grad=True)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
        x.sqrt().sum().backward()


def test_hooks_and_custom_functions(device):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    x = torch.ones(2, device=device, requires_grad=True)
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.device.type))
    Double.apply(x).sum().backward()
    assert (seen, x.grad.tolist()) == ([device.type], [2, 2])


def test_printing_shows_the_device(device):
    assert "device='neuron:0'" in repr(torch.ones(2, device=device))


def test_profiler_has_device_events(device):
    with torch.autograd.profiler.profile(use_device=device.type) as profile:
        torch.ones(64, 64, device=device) @ torch.ones(64, 64, device=device)
    multiplication = next(event for event in profile.key_averages() if event.key == "aten::mm")
    assert multiplication.count == 1
    assert multiplication.device_time_total > 0


def test_profiler_of_the_host_side(device):
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.PrivateUse1]
    with torch.profiler.profile(activities=activities) as profile:
        torch.ones(64, 64, device=device) @ torch.ones(64, 64, device=device)
    assert any(event.key == "aten::mm" for event in profile.key_averages())
