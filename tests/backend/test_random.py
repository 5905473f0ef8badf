"""Random numbers: reproducible, apart from the CPU's stream, with a small state; and the two modes that
mirror the CPU."""

import pytest
import torch
from torch.nn import functional as F

neuron = torch.get_device_module()


def test_seed_repeats(device):
    def draw():
        torch.manual_seed(1)
        return torch.rand(3, device=device), torch.randn(3, device=device), torch.randperm(5, device=device)

    assert all(torch.equal(a, b) for a, b in zip(draw(), draw(), strict=True))


def test_state_has_sixteen_bytes(device):
    torch.manual_seed(7)
    torch.rand(2, device=device)
    seed, offset = neuron.get_rng_state().view(torch.int64).tolist()
    assert (seed, offset % 4, offset > 0) == (7, 0, True)
    with pytest.raises(RuntimeError, match="length 16"):
        neuron.set_rng_state(torch.zeros(5, dtype=torch.uint8))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.rand_like(x),
        lambda x: F.dropout(x, 0.5),
        lambda x: torch.native_dropout(x, 0.5, True)[0],
        lambda x: F.rrelu(-x, training=True),
        lambda x: torch.bernoulli(x / 2),
        lambda x: torch.multinomial(x, 2),
        lambda x: torch.nn.init.trunc_normal_(x),
    ],
)
def test_device_has_its_own_stream(device, draw):
    """Drawing on the device leaves the CPU's stream alone, and goes on from the device's own state."""
    x = torch.ones(64, device=device)
    torch.manual_seed(0)
    cpu_state, state = torch.get_rng_state(), neuron.get_rng_state()
    first, second = draw(x.clone()), draw(x.clone())
    assert torch.equal(torch.get_rng_state(), cpu_state)
    assert not torch.equal(first, second)
    neuron.set_rng_state(state)
    assert torch.equal(draw(x.clone()), first)


def test_generator(device):
    generator = torch.Generator(device).manual_seed(5)
    first = torch.rand(3, device=device, generator=generator)
    assert torch.equal(first, torch.rand(3, device=device, generator=torch.Generator(device).manual_seed(5)))
    assert generator.device.type == device.type
    clone = generator.clone_state()
    assert torch.equal(torch.rand(2, device=device, generator=clone), torch.rand(2, device=device, generator=generator))
    with pytest.raises(RuntimeError, match=f"'{device.type}' device type for generator"):
        torch.rand(2, device=device, generator=torch.Generator())


def test_fork_rng_restores_both_streams(device):
    torch.manual_seed(0)
    states = torch.get_rng_state(), neuron.get_rng_state()
    with torch.random.fork_rng(device_type=device.type):
        torch.rand(3, device=device)
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert torch.equal(neuron.get_rng_state(), states[1])


def test_checkpointing_replays_dropout(device):
    x = torch.ones(100, device=device, requires_grad=True)
    torch.utils.checkpoint.checkpoint(lambda v: F.dropout(v, 0.5), x, use_reentrant=False).sum().backward()
    assert set(x.grad.tolist()) == {0.0, 2.0}


MODES = """
import torch
generator = torch.Generator("neuron").manual_seed(3)
print(torch.equal(torch.rand(5, device="neuron", generator=generator).cpu(),
                  torch.rand(5, generator=torch.Generator().manual_seed(3))))
torch.manual_seed(9); on_cpu = torch.rand(5); again = torch.rand(5)
torch.manual_seed(9); on_device = torch.rand(5, device="neuron").cpu(); next_on_cpu = torch.rand(5)
print(torch.equal(on_cpu, on_device), torch.equal(next_on_cpu, again), torch.equal(next_on_cpu, on_cpu))
"""


@pytest.mark.parametrize(
    ("mode", "same_as_cpu"),
    [
        ("counter", "False False False True"),
        ("mirror", "True True False True"),  # the same numbers, from a stream of its own
        ("shared", "True True True False"),  # one stream for both
    ],
)
def test_modes(run_python, mode, same_as_cpu):
    assert run_python(MODES, NEURON_REF_RNG=mode).stdout.split() == same_as_cpu.split()


def test_unknown_mode_is_an_error(run_python):
    result = run_python("import torch; torch.rand(2, device='neuron')", NEURON_REF_RNG="quantum")
    assert "NEURON_REF_RNG=quantum is not one of counter, mirror, shared" in result.stderr
