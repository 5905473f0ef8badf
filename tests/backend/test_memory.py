"""Device memory: out of memory, caching, no leaks, storage that is resized, pinned host memory."""

import gc
import resource

import pytest
import torch
from models import GPT

neuron = torch.get_device_module()


def test_out_of_memory_is_torchs_own_error(device):
    with pytest.raises(torch.OutOfMemoryError, match=f"{device.type} out of memory. Tried to allocate 1099511627776"):
        torch.empty(1 << 40, dtype=torch.uint8, device=device)
    assert neuron.memory_stats()["num_ooms"] >= 1


def test_memory_size_is_a_setting(run_python):
    program = """
import torch
half = torch.empty(5 << 20, dtype=torch.uint8, device="neuron")
del half  # its block stays in the cache, and is given up for one of another size
most = torch.empty(9 << 20, dtype=torch.uint8, device="neuron")
try:
    torch.empty(9 << 20, dtype=torch.uint8, device="neuron")
except torch.OutOfMemoryError:
    print(torch.accelerator.get_memory_info()[1], torch.neuron.memory_stats()["num_alloc_retries"])
"""
    assert run_python(program, NEURON_REF_MEMORY_MB="10").stdout.split() == [str(10 << 20), "2"]


def test_out_of_memory_inside_an_operator(device):
    free = neuron.mem_get_info()[0]
    neuron.set_per_process_memory_fraction((16384 * 2**20 - free + 2**26) / 2**34)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.ones(1 << 12, device=device)[:, None] * torch.ones(1 << 12, device=device)
    finally:
        neuron.set_per_process_memory_fraction(1.0)
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        neuron.set_per_process_memory_fraction(1.5)


def test_freed_blocks_are_used_again(device):
    first = torch.ones(1000, device=device).data_ptr()
    assert torch.ones(1000, device=device).data_ptr() == first


def test_kernel_scratch_and_results_are_counted(device):
    neuron.reset_peak_memory_stats()
    before = neuron.memory_allocated()
    product = torch.ones(512, 512, device=device) @ torch.ones(512, 512, device=device)
    assert neuron.max_memory_allocated() - before >= 3 << 20
    assert product.untyped_storage().nbytes() == 1 << 20


def test_allocations_do_not_leak(device):
    gc.collect()
    before = neuron.memory_stats()
    for size in range(1, 1001):
        torch.empty(size * 100, device=device)
    after = neuron.memory_stats()
    for key in ("allocation", "active", "allocated_bytes", "active_bytes", "requested_bytes"):
        assert after[f"{key}.all.current"] == before[f"{key}.all.current"]
    neuron.empty_cache()
    assert neuron.memory_reserved() == neuron.memory_allocated()


def test_training_does_not_leak(device):
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 256, (4, 17), device=device)

    def train(steps):
        for _ in range(steps):
            loss = model(tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    train(20)
    gc.collect()
    allocated, resident = neuron.memory_allocated(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train(200)
    gc.collect()
    assert neuron.memory_allocated() == allocated
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident < 8 << 10  # KiB


def test_everything_is_returned_in_the_end(run_python):
    program = """
import gc, torch
from models import GPT
model = GPT().to("neuron"); optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    optimizer.zero_grad(); model(torch.randint(0, 256, (4, 17), device="neuron")).backward(); optimizer.step()
del model, optimizer
gc.collect()
print(torch.accelerator.memory_allocated(), torch.neuron.memory_stats()["allocation.all.current"])
torch.accelerator.empty_cache()
print(torch.accelerator.memory_reserved())
"""
    assert run_python(program).stdout.split() == ["0", "0", "0"]


def test_storage_shrinks_and_grows(device):
    tensor = torch.arange(4.0, device=device)
    storage = tensor.untyped_storage()
    storage.resize_(0)
    assert storage.size() == 0
    storage.resize_(16)
    tensor.copy_(torch.arange(4.0))
    assert tensor.tolist() == [0, 1, 2, 3]


def test_device_is_found_from_a_pointer(device):
    tensor = torch.ones(1, device=torch.device(device.type, 1))
    assert tensor.untyped_storage().device.index == 1


def test_pinned_memory(device):
    pinned = torch.ones(1000).pin_memory()
    assert pinned.is_pinned()
    assert pinned[10:].is_pinned()
    assert not torch.ones(1).is_pinned()
    assert torch.equal(pinned.to(device, non_blocking=True).cpu(), torch.ones(1000))
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(1, device=device, pin_memory=True)


def test_pinned_data_loader_with_workers():
    data = torch.utils.data.TensorDataset(torch.arange(16.0))
    loader = torch.utils.data.DataLoader(data, 8, pin_memory=True, num_workers=2)
    batches = [batch[0] for batch in loader]
    assert all(batch.is_pinned() for batch in batches)
    assert torch.cat(batches).tolist() == list(range(16))
