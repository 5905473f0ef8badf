"""Forked children, killed ranks, and the end of the interpreter."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from backend_ref import build


def test_fork_after_use_is_refused(run_python):
    program = """
import multiprocessing, torch

def child(queue):
    answers = []
    for action in (torch.neuron.init, lambda: torch.ones(2, device="neuron")):
        try:
            action()
        except RuntimeError as error:
            answers.append(str(error).splitlines()[0])
    torch.manual_seed(3)                    # every DataLoader worker does this
    queue.put((answers, torch.neuron._is_in_bad_fork(), torch.ones(2).sum().item()))

kept = torch.ones(2, device="neuron")
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,))
process.start()
answers, bad_fork, on_cpu = queue.get(timeout=60)
process.join()
print(len(answers), answers[0], bad_fork, on_cpu, kept.sum().item())
"""
    message = "Cannot re-initialize neuron in forked subprocess. To use neuron with multiprocessing, "
    message += "you must use the 'spawn' start method"
    assert run_python(program).stdout.strip() == f"2 {message} True 2.0 2.0"


def test_fork_before_use_is_fine(run_python):
    program = """
import os, torch
pid = os.fork()
if pid == 0:
    print(torch.ones(2, device="neuron").sum().item(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""
    assert run_python(program).stdout.strip() == "2.0"


def send_values(queue):
    queue.put(torch.ones(2, device=torch.accelerator.current_accelerator()).tolist())


def test_spawned_process_uses_the_device():
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=send_values, args=(queue,))
    process.start()
    assert queue.get(timeout=120) == [1, 1]
    process.join()
    assert process.exitcode == 0


RANK = """
import datetime, os, torch, torch.distributed as dist
dist.init_process_group("neuron", timeout=datetime.timedelta(seconds=20))
value = torch.ones(4, device="neuron")
dist.all_reduce(value)
print("ready", flush=True)
try:
    while True:
        dist.all_reduce(value)
except RuntimeError as error:
    print("error:", str(error).splitlines()[0], flush=True)
    os._exit(3)
"""


def test_killed_rank_ends_the_other_with_an_error(free_port):
    before = set(os.listdir("/dev/shm"))
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK],
            env={
                **os.environ,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(free_port),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank in ranks:
        assert rank.stdout.readline().strip() == "ready"
    os.kill(ranks[1].pid, signal.SIGKILL)
    output, _ = ranks[0].communicate(timeout=60)
    ranks[1].communicate()
    assert ranks[0].returncode == 3
    assert output.startswith("error:")
    assert set(os.listdir("/dev/shm")) <= before


@pytest.fixture
def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


EXITS = """
import os, sys, torch, torch._dynamo
from models import GPT
torch.set_num_threads(1)
statuses = []
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:        # before the device is used: saves importing torch each time
        model, tokens = GPT().to("neuron"), torch.randint(0, 256, (4, 17), device="neuron")
        model(tokens).backward()
        raise SystemExit      # with the autograd threads just done
    statuses.append(os.wait()[1])
print(statuses.count(0), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("count", ["2", pytest.param("200", marks=pytest.mark.slow)])
def test_interpreter_ends_cleanly_after_a_backward_pass(run_python, count):
    """An autograd thread that asked for the GIL during finalization once aborted the process."""
    assert run_python(EXITS, count).stdout.strip() == count


BACKWARD_PASS_THEN_EXIT = """
import atexit, sys, threading, torch
from backend_ref.core import C

class Slow:
    def __del__(self, wait=threading.Event().wait):
        wait(30)  # while the interpreter is taken apart; the late thread ends the process before

layer = torch.nn.Linear(4, 4).to("neuron")
layer(torch.ones(2, 4, device="neuron")).sum().backward()
if sys.argv[1] == "unguarded":
    atexit.unregister(C.settle)
    kept = Slow()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("guard", "status"), [("guarded", 0), ("unguarded", -signal.SIGABRT)])
def test_autograd_thread_that_is_late_for_the_end(run_python, tmp_path, guard, status):
    """Where the abort came from, and that waiting for the threads is what prevents it."""
    late = tmp_path / "late_thread.so"
    source = Path(__file__).with_name("late_thread.cpp")
    subprocess.run([build.compiler(), "-O1", "-shared", "-fPIC", str(source), "-o", str(late)], check=True)
    result = run_python(BACKWARD_PASS_THEN_EXIT, guard, LD_PRELOAD=str(late), SECONDS_OF_HESITATION="2")
    assert result.returncode == status, result.stderr
