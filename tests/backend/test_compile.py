"""torch.compile on the device: its own backend by default, static shapes that are counted, modes that
warn."""

import pytest
import torch
from models import CNN, GPT, MLP
from torch.nn import functional as F

neuron = torch.get_device_module()


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    neuron.reset_compilations()


def function(x, w):
    return F.gelu(x @ w).softmax(-1) + 1


@pytest.fixture
def arguments(device):
    torch.manual_seed(0)
    return torch.randn(8, 16, device=device), torch.randn(16, 16, device=device, requires_grad=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "neuron", None])
def test_forward_and_backward(arguments, backend):
    x, w = arguments
    options = {} if backend is None else {"backend": backend}
    compiled = torch.compile(function, fullgraph=True, **options)
    result = compiled(x, w)
    result.square().sum().backward()
    gradient, w.grad = w.grad, None
    expected = function(x, w)
    expected.square().sum().backward()
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(gradient, w.grad, atol=1e-4, rtol=1e-4)


def test_own_backend_is_the_default():
    assert torch.compiler.get_default_backend() == "neuron"
    assert "neuron" in torch.compiler.list_backends()


def test_device_interface(device):
    from torch._dynamo.device_interface import get_interface_for_device

    interface = get_interface_for_device(device)
    assert interface.device_count() == 2
    assert interface.is_available()
    assert interface.current_device() == 0
    assert interface.exchange_device(1) == 0
    assert interface.maybe_exchange_device(0) == 1
    assert interface.Worker.get_device_properties(0).total_memory > 0
    assert interface.is_dtype_supported(torch.bfloat16)
    assert interface.get_raw_stream(0) == 0
    assert interface.get_compute_capability() == ""
    stream = neuron.Stream()
    interface._set_stream_by_id(stream.stream_id, stream.device_index, stream.device_type)
    assert interface.current_stream() == stream
    interface.set_stream(neuron.default_stream())
    assert get_interface_for_device(f"{device.type}:1") is interface


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        pytest.param(GPT, lambda: torch.randint(0, 256, (4, 17)), marks=pytest.mark.slow, id="gpt"),
        pytest.param(CNN, lambda: torch.randn(4, 3, 8, 8), marks=pytest.mark.slow, id="cnn"),
        pytest.param(lambda: MLP(dropout=0.0), lambda: torch.randn(8, 16), id="mlp"),
    ],
)
def test_training_stays_close_to_eager(device, make, batch):
    def train(compiled):
        torch.manual_seed(0)
        model = make().to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        step = torch.compile(model, fullgraph=True) if compiled else model
        losses = []
        for _ in range(4):
            loss = step(batch().to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert max(abs(a - b) for a, b in zip(train(False), train(True), strict=True)) < 1e-4


def test_each_shape_is_a_compilation(device):
    compiled = torch.compile(lambda x: x * 2, dynamic=False)
    for length in (3, 4, 3, 5):
        compiled(torch.ones(length, device=device))
    assert neuron.compilations() == {((3,),): 1, ((4,),): 1, ((5,),): 1}


def test_dynamic_shapes_are_refused_in_strict_mode(device):
    neuron.strict()
    try:
        with pytest.raises(Exception, match="dynamic=False"):
            torch.compile(lambda x: x * 2, dynamic=True)(torch.ones(3, device=device))
    finally:
        neuron.accept_everything()
    assert torch.compile(lambda x: x * 2, dynamic=True)(torch.ones(3, device=device)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("option", [{"mode": "reduce-overhead"}, {"options": {"max_autotune": True}}])
def test_inductors_options_warn(device, option):
    with pytest.warns(UserWarning, match="ignored"):
        torch.compile(lambda x: x + 1, **option)(torch.ones(3, device=device))


def test_mixed_result_devices(device):
    x = torch.randn(4, device=device)
    on_device, on_cpu = torch.compile(lambda v: (v * 2, (v + 1).cpu()), fullgraph=True)(x)
    assert on_device.device.type == device.type
    assert torch.equal(on_cpu, x.cpu() + 1)


def test_graph_without_the_device():
    assert torch.compile(lambda v: v * 2, fullgraph=True)(torch.ones(2)).device.type == "cpu"


def test_mutated_input(device):
    value = torch.zeros(4, device=device)
    torch.compile(lambda v: v.add_(1), fullgraph=True)(value)
    assert value.tolist() == [1, 1, 1, 1]


def test_results_are_counted_as_device_memory(device):
    x = torch.ones(1 << 20, device=device)
    before = neuron.memory_allocated()
    result = torch.compile(lambda v: v * 2, fullgraph=True)(x)
    assert neuron.memory_allocated() - before == 4 << 20
    del result
    assert neuron.memory_allocated() == before


def test_random_numbers_come_from_the_device(device):
    compiled = torch.compile(lambda v: F.dropout(v, 0.5), fullgraph=True)
    x = torch.ones(100, device=device)
    neuron.manual_seed(1)
    state = torch.get_rng_state()
    first, second = compiled(x), compiled(x)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(first, second)
    neuron.manual_seed(1)
    assert torch.equal(compiled(x), first)


def test_accelerator_calls_inside_a_graph(device):
    def generic(value):
        accelerator = torch.accelerator.current_accelerator()
        return value.to(accelerator) + torch.ones(3, device=accelerator)

    assert torch.compile(generic, fullgraph=True)(torch.ones(3)).device.type == device.type


def test_autocast_inside_a_graph(device):
    def mixed(x):
        with torch.autocast("neuron", dtype=torch.bfloat16):
            return x @ x

    assert torch.compile(mixed, fullgraph=True)(torch.randn(4, 4, device=device)).dtype == torch.bfloat16


def test_export_and_fake_tensors(device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    exported = torch.export.export(torch.nn.Linear(4, 4).to(device), (torch.randn(2, 4, device=device),))
    assert exported.module()(torch.randn(2, 4, device=device)).device.type == device.type
    with FakeTensorMode():
        a = torch.empty(3, 3, device=device)
        assert (a @ a).device.type == device.type


def test_recurrent_layer_in_a_graph(device):
    layer, x = torch.nn.GRUCell(4, 5).to(device), torch.randn(3, 4, device=device)
    torch.testing.assert_close(torch.compile(layer)(x), layer(x), atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_flex_attention(device):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(batch, head, query, key):
        return query >= key

    q, k, v = (torch.randn(2, 2, 128, 16, device=device, requires_grad=True) for _ in range(3))
    mask = torch.compile(create_block_mask)(causal, None, None, 128, 128, device=device)
    result = torch.compile(flex_attention)(q, k, v, block_mask=mask)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-4)
    found = torch.autograd.grad(result.square().sum(), (q, k, v))
    wanted = torch.autograd.grad(expected.square().sum(), (q, k, v))
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-3)
