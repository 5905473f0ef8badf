"""Tell torch.compile about the device: its backend, its default, its device interface.

Importing `torch._dynamo` takes seconds, so nothing is registered before a program imports it by itself.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .flex_attention import admit_device

REGISTRY = "torch._dynamo.backends.registry"
INTERFACES = "torch._dynamo.device_interface"
FLEX_ATTENTION = "torch.nn.attention.flex_attention"


def register(name: str) -> None:
    """Arrange for the registrations below to run when their modules are imported."""
    actions = {REGISTRY: _register_backend, INTERFACES: _register_interface, FLEX_ATTENTION: admit_device}
    for module_name, action in list(actions.items()):
        if module_name in sys.modules:
            action(sys.modules[module_name], name)
            del actions[module_name]
    if actions:
        sys.meta_path.insert(0, AfterImport({key: lambda module, a=a: a(module, name) for key, a in actions.items()}))


def _register_backend(registry: ModuleType, name: str) -> None:
    """Vendors of such devices select their own backend on their own device; so does this one."""

    def backend(*args: Any, **kwargs: Any) -> Any:
        from .compile_backend import neuron

        return neuron(*args, **kwargs)

    registry.register_backend(backend, name=name)
    registry.set_default_backend(name)


def _register_interface(interfaces: ModuleType, name: str) -> None:
    from .device_interface import interface_class

    interfaces.init_device_reg()  # else its own names, "tpu" among them, would replace this one later
    interface = interface_class(interfaces.DeviceInterface)
    interfaces.register_interface_for_device(name, interface)
    for index in range(interface.device_count()):
        interfaces.register_interface_for_device(f"{name}:{index}", interface)


class AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Runs an action on a module once it has been imported."""

    def __init__(self, actions: dict[str, Callable[[ModuleType], None]]) -> None:
        self.actions = actions
        self.loaders: dict[str, Any] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Take over the module once, and leave finding it to the others."""
        if fullname not in self.actions or fullname in self.loaders:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        self.loaders[fullname] = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loaders[spec.name].create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        loader = self.loaders[module.__name__]
        module.__spec__.loader = module.__loader__ = loader
        loader.exec_module(module)
        self.actions[module.__name__](module)
