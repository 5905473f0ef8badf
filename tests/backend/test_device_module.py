"""The functions of torch.neuron that PyTorch, accelerate, transformers, torchtitan and diffusers call."""

import pickle

import pytest
import torch

neuron = torch.get_device_module()


def test_module_is_found_by_device(device):
    assert neuron is getattr(torch, device.type)
    assert torch.get_device_module(device) is neuron


def test_is_available_and_device_count():
    assert neuron.is_available()
    assert neuron.device_count() == 2


def test_set_device_and_current_device(device):
    neuron.set_device(1)
    assert neuron.current_device() == 1
    neuron.set_device(f"{device.type}:0")
    assert neuron.current_device() == 0
    with pytest.raises(ValueError, match="but got: cpu"):
        neuron.set_device("cpu")


def test_device_context(device):
    with neuron.device(1):
        assert torch.ones(1, device=device).device.index == 1
    with neuron.device_of(torch.ones(1, device=torch.device(device.type, 1))):
        assert neuron.current_device() == 1
    with neuron.device(None):
        assert neuron.current_device() == 0


def test_get_device_name_contains_the_type(device):
    assert device.type in neuron.get_device_name()
    assert device.type in neuron.get_device_name(1)


def test_get_device_properties():
    properties = neuron.get_device_properties()
    assert properties.total_memory == 16384 << 20
    assert properties.name == "trn2"  # torchtitan looks up a peak performance by it


def test_get_device_capability():
    assert torch.float32 in neuron.get_device_capability()["supported_dtypes"]


def test_bfloat16_and_amp_dtypes():
    assert neuron.is_bf16_supported()
    assert {torch.bfloat16, torch.float16} <= set(neuron.get_amp_supported_dtype())


def test_synchronize():
    neuron.synchronize()
    neuron.synchronize(1)


def test_init():
    neuron.init()
    assert neuron.is_initialized()
    assert not neuron._is_in_bad_fork()


def test_memory_functions_take_every_way_to_name_a_device(device):
    kept = torch.ones(1 << 20, device=torch.device(device.type, 1))
    for place in (1, f"{device.type}:1", kept.device):
        assert neuron.memory_allocated(place) == 4 << 20
        assert neuron.max_memory_allocated(place) >= 4 << 20
        assert neuron.memory_reserved(place) >= 4 << 20
        assert neuron.max_memory_reserved(place) >= 4 << 20
        assert neuron.memory_stats(place)["allocated_bytes.all.current"] == 4 << 20
        assert neuron.mem_get_info(place)[1] == 16384 << 20
    neuron.reset_peak_memory_stats(1)
    neuron.reset_max_memory_allocated(1)
    neuron.reset_accumulated_memory_stats(1)
    assert "reserved_bytes" in neuron.memory_summary(1)
    del kept
    neuron.empty_cache()
    assert neuron.memory_reserved(1) == 0


def test_memory_snapshot_shows_live_blocks(device, tmp_path):
    kept = torch.ones(1 << 20, device=device)
    assert any(segment["address"] == kept.data_ptr() for segment in neuron.memory_snapshot())
    neuron.memory._record_memory_history(max_entries=100)
    neuron.memory._dump_snapshot(str(tmp_path / "dump"))
    assert pickle.loads((tmp_path / "dump").read_bytes())["segments"]


def test_random_functions():
    neuron.manual_seed(3)
    assert neuron.initial_seed() == 3
    neuron.manual_seed_all(4)
    assert neuron.initial_seed() == 4
    state, states = neuron.get_rng_state(), neuron.get_rng_state_all()
    assert len(states) == 2
    neuron.seed()
    neuron.seed_all()
    assert not torch.equal(neuron.get_rng_state(), state)
    neuron.set_rng_state(state)
    neuron.set_rng_state_all(states)
    assert torch.equal(neuron.get_rng_state(), state)


def test_streams_and_events(device):
    stream = neuron.Stream()
    before = neuron.current_stream()
    with neuron.stream(stream):
        assert neuron.current_stream() == stream
    assert neuron.current_stream() == before == neuron.default_stream()
    with neuron.stream(None):
        assert neuron.current_stream() == before
    neuron.set_stream(stream)
    assert neuron.current_stream() == stream
    neuron.set_stream(neuron.default_stream())
    assert isinstance(stream, torch.Stream)
    assert isinstance(neuron.Event(enable_timing=True), torch.Event)
    with neuron.stream(neuron.Stream(device=torch.device(device.type, 1))):
        assert neuron.current_device() == 1
    assert neuron.current_device() == 0


def test_generated_methods(device):
    tensor = getattr(torch.ones(1), device.type)()
    assert getattr(tensor, f"is_{device.type}")
    assert getattr(torch.nn.Linear(1, 1), device.type)().weight.device.type == device.type
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2)])
    assert getattr(packed, device.type)().data.device.type == device.type
    assert getattr(torch.ones(1).untyped_storage(), device.type)().device.type == device.type


def test_torchtitan_finds_the_device_type(device):
    assert torch._utils._get_available_device_type() == device.type


def test_everything_public_is_documented():
    undocumented = [name for name in neuron.__all__ if not getattr(neuron, name).__doc__]
    assert undocumented == []
