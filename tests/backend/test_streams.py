"""Streams and events: identity and time in the default mode, real concurrency in the asynchronous one."""

import pytest
import torch


def test_event_timing(device):
    start, end = (torch.Event(device=device, enable_timing=True) for _ in range(2))
    start.record()
    torch.ones(300, 300, device=device) @ torch.ones(300, 300, device=device)
    end.record()
    end.synchronize()
    assert end.query()
    assert 0 < start.elapsed_time(end) < 10_000


def test_unrecorded_events_have_no_time(device):
    with pytest.raises((RuntimeError, ValueError)):
        torch.Event(device=device, enable_timing=True).elapsed_time(torch.Event(device=device, enable_timing=True))


def test_waiting(device):
    first, second = torch.Stream(device=device), torch.Stream(device=device)
    event = first.record_event()
    second.wait_event(event)
    second.wait_stream(first)
    second.synchronize()
    assert second.query()
    assert first != second
    assert first.device == torch.device(device.type, 0)


def test_record_stream(device):
    torch.ones(2, device=device).record_stream(torch.Stream(device=device))


ASYNC = """
import torch
from backend_ref.core import C
a, b = torch.neuron.Stream(), torch.neuron.Stream()
stall = lambda stream: C.stall_stream(stream.device_index, stream.stream_id)
"""


@pytest.fixture
def run_async(run_python):
    """Run a program in the asynchronous mode; `a` and `b` are streams, `stall(a).reach()` lets `a` go on."""

    def run(program):
        result = run_python(ASYNC + program, NEURON_REF_ASYNC="1")
        assert result.returncode == 0, result.stderr
        return result.stdout.split()

    return run


def test_missing_synchronisation_shows(run_async):
    program = """
x = torch.zeros(4, device="neuron")
torch.neuron.synchronize()
held = stall(a)
with torch.neuron.stream(a):
    x.add_(1)
with torch.neuron.stream(b):
    early = x.clone()          # nobody told stream b to wait for stream a
    b.synchronize()
    print(early.sum().item(), a.query())
held.reach()
a.synchronize()
print(x.sum().item(), a.query())
"""
    assert run_async(program) == ["0.0", "False", "4.0", "True"]


def test_events_order_streams(run_async):
    program = """
x = torch.zeros(4, device="neuron")
torch.neuron.synchronize()
held = stall(a)
with torch.neuron.stream(a):
    x.add_(1)
    done = a.record_event()
b.wait_event(done)
with torch.neuron.stream(b):
    y = x * 10
print(done.query(), b.query())
held.reach()
done.synchronize()
with torch.neuron.stream(b):
    print(y.sum().item(), done.query())
"""
    assert run_async(program) == ["False", "False", "40.0", "True"]


def test_pinned_copies_do_not_wait(run_async):
    program = """
source = torch.ones(4).pin_memory()
held = stall(a)
with torch.neuron.stream(a):
    copied = source.to("neuron", non_blocking=True)
    source.fill_(5)            # too early: the copy has not been made
    held.reach()
    print(copied.sum().item())
    pageable = torch.ones(4)
    copied = pageable.to("neuron", non_blocking=True)
    pageable.fill_(5)
    print(copied.sum().item())
"""
    assert run_async(program) == ["20.0", "4.0"]


def test_errors_surface_at_the_next_synchronisation(run_async):
    program = """
index = torch.tensor([100], device="neuron")
torch.ones(3, device="neuron").gather(0, index)
try:
    torch.neuron.synchronize()
except RuntimeError as error:
    print("out of bounds" in str(error))
torch.neuron.synchronize()
"""
    assert run_async(program) == ["True"]


def test_training_gives_the_same_losses_as_the_synchronous_mode(run_python):
    program = """
import torch
from models import CNN, GPT
cases = [(GPT(dropout=0.1), lambda: torch.randint(0, 256, (4, 17))), (CNN(), lambda: torch.randn(4, 3, 8, 8))]
for model, batch in cases:
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    model.to("neuron")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(5):
        loss = model(batch().to("neuron"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
    synchronous, asynchronous = (run_python(program, NEURON_REF_ASYNC=mode) for mode in "01")
    assert asynchronous.stdout == synchronous.stdout != "", asynchronous.stderr
