"""Make the device known to PyTorch under a name of the user's choice."""

import atexit

import torch

_registered: str | None = None


def registered_name() -> str | None:
    """The name under which the device is registered in this process, or None."""
    return _registered


def check_name(name: str) -> None:
    """Raise ValueError if `name` cannot be a device type of its own."""
    if not (name.isidentifier() and name.islower()):
        raise ValueError(f"{name!r} is not a device name; it takes a lower-case identifier such as 'neuron'")
    taken = torch._C._get_privateuse1_backend_name()
    if taken != "privateuseone":
        raise ValueError(f"another backend already uses PyTorch's place for new devices, under the name {taken!r}")
    if name != "privateuseone" and hasattr(torch, name):
        raise ValueError(f"torch.{name} already exists; choose a name that PyTorch does not use")


def register(name: str) -> None:
    """Register device, operators, autocast, process group and compile backend under `name`.

    Raises:
        ValueError: the name is taken or is not a device name.
        ImportError: the core has not been built, or was built for something else.
    """
    global _registered
    if _registered is not None:
        if name != _registered:
            raise ValueError(f"the device is already registered as {_registered!r}")
        return
    check_name(name)
    from .core import C

    C.install()
    torch.utils.rename_privateuse1_backend(name)
    _registered = name
    from . import amp, distributed, dynamo, recurrent, strictness
    from .device_module import device_module

    torch._register_device_module(name, device_module(name))
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    C.claim_cpu_operators()
    amp.register()
    recurrent.register()
    distributed.register(name)
    dynamo.register(name)
    strictness.apply_settings()
    atexit.register(C.settle)
