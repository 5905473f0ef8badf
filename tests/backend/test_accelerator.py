"""Every public function of torch.accelerator, and the errors a real accelerator gives."""

import pytest
import torch

acc = torch.accelerator


def test_every_public_function_has_a_test():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    deprecated = {"current_device_idx", "set_device_idx"}
    assert set(acc.__all__) - deprecated - tested == set()


def test_current_accelerator(device):
    assert acc.current_accelerator() == device
    assert acc.current_accelerator(check_available=True) == device


def test_is_available():
    assert acc.is_available()


def test_device_count(run_python):
    assert acc.device_count() == 2
    count = "import torch; print(torch.accelerator.device_count())"
    assert run_python(count, NEURON_REF_DEVICES="5").stdout.strip() == "5"


@pytest.mark.parametrize(("cores", "count"), [("0", 1), ("2-3,0", 3), ("0,9", 1)])
def test_visible_cores_limit_the_devices(run_python, cores, count):
    program = "import torch; print(torch.accelerator.device_count())"
    result = run_python(program, NEURON_REF_DEVICES="4", NEURON_RT_VISIBLE_CORES=cores)
    assert result.stdout.strip() == str(count)


def test_no_devices_means_not_available(run_python):
    program = "import torch; print(torch.accelerator.is_available(), torch.accelerator.current_accelerator(True))"
    assert run_python(program, NEURON_REF_DEVICES="0").stdout.strip() == "False None"


def test_launched_process_starts_on_its_local_rank(run_python):
    program = "import torch; print(torch.accelerator.current_device_index(), torch.ones(1, device='neuron').device)"
    assert run_python(program, LOCAL_RANK="1").stdout.strip() == "1 neuron:1"


def test_current_device_index():
    assert acc.current_device_index() == 0


def test_set_device_index():
    acc.set_device_index(1)
    assert acc.current_device_index() == 1
    assert torch.empty(1, device=acc.current_accelerator()).device.index == 1
    acc.set_device_index(0)
    with pytest.raises(RuntimeError, match="does not exist; this process has 2"):
        acc.set_device_index(7)


def test_device_index():
    with acc.device_index(1):
        assert acc.current_device_index() == 1
    assert acc.current_device_index() == 0


def test_current_stream(device):
    assert acc.current_stream().device.type == device.type
    assert acc.current_stream(torch.device(device.type, 1)).device.index == 1


def test_set_stream(device):
    before, stream = acc.current_stream(), torch.Stream(device=device)
    acc.set_stream(stream)
    assert acc.current_stream() == stream
    acc.set_stream(before)
    with stream:
        assert acc.current_stream() == stream
    assert acc.current_stream() == before


def test_synchronize(device):
    acc.synchronize()
    acc.synchronize(1)
    acc.synchronize(torch.device(device.type, 1))


def test_get_device_capability():
    supported = acc.get_device_capability()["supported_dtypes"]
    assert {torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool} <= supported
    assert torch.quint8 not in supported


def test_memory_allocated(device):
    before = acc.memory_allocated()
    kept = torch.ones(1 << 20, device=device)
    assert acc.memory_allocated() - before == 4 << 20
    del kept
    assert acc.memory_allocated() == before


def test_max_memory_allocated(device):
    acc.reset_peak_memory_stats()
    before = acc.max_memory_allocated()
    torch.ones(1 << 20, device=device)
    assert acc.max_memory_allocated() == before + (4 << 20)


def test_memory_reserved(device):
    acc.empty_cache()
    torch.ones(1 << 20, device=device)
    assert acc.memory_reserved() >= acc.memory_allocated() + (4 << 20)


def test_max_memory_reserved():
    assert acc.max_memory_reserved() >= acc.memory_reserved()


def test_memory_stats(device):
    torch.ones(1 << 20, device=device)
    stats = acc.memory_stats()
    assert stats["allocated_bytes.all.peak"] >= 4 << 20
    assert {"active_bytes.all.peak", "reserved_bytes.all.peak", "num_alloc_retries", "num_ooms"} <= set(stats)


def test_reset_peak_memory_stats(device):
    torch.ones(1 << 20, device=device)
    acc.reset_peak_memory_stats()
    assert acc.max_memory_allocated() == acc.memory_allocated()


def test_reset_accumulated_memory_stats(device):
    torch.ones(1, device=device)
    acc.reset_accumulated_memory_stats()
    assert acc.memory_stats()["allocation.all.allocated"] == 0


def test_get_memory_info(device):
    free, total = acc.get_memory_info()
    assert total == 16384 << 20
    kept = torch.ones(64 << 20, device=device)
    assert acc.get_memory_info()[0] <= free
    del kept


def test_empty_cache(device):
    torch.ones(1 << 20, device=device)
    acc.empty_cache()
    assert acc.memory_reserved() == acc.memory_allocated()


def test_empty_host_cache():
    torch.ones(1 << 20).pin_memory()
    acc.empty_host_cache()
    assert torch.ones(4).pin_memory().is_pinned()


def test_Graph():
    with pytest.raises(RuntimeError):
        acc.Graph()
