"""The module behind `torch.neuron`: the contract that PyTorch and the libraries on top of it expect of a
device.

Each capability has its own file; this one only puts them together. `torch.neuron.memory` and
`torch.neuron.random` are modules, as they are in `torch.cuda`.
"""

import sys
from types import ModuleType

from . import amp, compile_backend, devices, memory, operators, random, streams, strictness

CAPABILITIES = (devices, memory, random, streams, amp, operators, strictness, compile_backend)


def device_module(name: str) -> ModuleType:
    """The module to register as `torch.<name>`; everything public of the capabilities, and `_`-names PyTorch
    calls."""
    module = ModuleType(f"torch.{name}", __doc__)
    for capability in CAPABILITIES:
        for public in capability.__all__:
            setattr(module, public, getattr(capability, public))
    module.memory = memory
    module.random = random
    module.default_generators = random.default_generators
    module._lazy_init = devices.init
    module._is_in_bad_fork = devices._is_in_bad_fork
    module.__all__ = sorted(public for capability in CAPABILITIES for public in capability.__all__)
    sys.modules[module.__name__] = module
    return module
