"""Check an installation of the reference backend, and say what to do about each thing that is wrong."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points

from . import SETTING, build


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: whether it is in order, what was found, what to do if it is not."""

    name: str
    good: bool
    found: str
    cure: str = ""


def examine() -> Iterator[Check]:
    """Look at everything the backend needs, in the order in which it needs it."""
    try:
        import torch
    except ImportError as error:
        yield Check("torch", False, str(error), f"pip install 'torch~={build.SUPPORTED_TORCH}.0'")
        return
    supported = torch.__version__.startswith(build.SUPPORTED_TORCH + ".")
    yield Check("torch", supported, torch.__version__, f"pip install 'torch~={build.SUPPORTED_TORCH}.0'")
    recorder = "agnostic.proof."  # loaded the same way, and no device
    others = [
        e.name for e in entry_points(group="torch.backends") if not e.value.startswith(("backend_ref.", recorder))
    ]
    yield Check(
        "no other backend claims PyTorch's place for new devices",
        not others,
        ", ".join(others) or "none",
        "only one such backend can be loaded; uninstall the other or use another environment",
    )
    ours = [e.name for e in entry_points(group="torch.backends") if e.value.startswith("backend_ref.")]
    yield Check("entry point", bool(ours), ", ".join(ours) or "none", "pip install torch-agnostic")
    try:
        found, good = build.compiler(), True
    except build.BuildError as error:
        found, good = str(error), build.locate(torch.__version__) is not None
    yield Check("C++ compiler", good, found, "install g++")
    built = build.locate(torch.__version__)
    yield Check("compiled core", built is not None, str(built or "not built"), "torch-agnostic backend build")
    if built is not None:
        yield _start()


def _start() -> Check:
    """Start the device in a process of its own, since this one may have been started without."""
    program = (
        "import torch; t = torch.ones(2, device=torch.accelerator.current_accelerator());"
        "print(t.device, (t + t).tolist(), torch.accelerator.device_count())"
    )
    name = os.environ.get(SETTING) or "neuron"
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, SETTING: name, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    output = (result.stdout or result.stderr).strip().splitlines()
    last = output[-1] if output else "no output"
    good = result.returncode == 0 and last.startswith(f"{name}:0 [2.0, 2.0]")
    return Check(
        f"{SETTING}={name} brings the device up",
        good,
        last,
        f"torch-agnostic backend build, after deleting {build.cache_root()}",
    )
