"""torch.compile for the device: compile the graph for the CPU and run it on aliases of the device tensors.

Several places in Inductor take "not the CPU" to mean "a GPU", so the graph is retargeted before Inductor sees
it. Shapes are static: each new shape is a new compilation, and they are counted.
"""

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import flex_attention
from .core import C
from .strictness import is_strict

__all__ = ["compilations", "reset_compilations"]

_compilations: Counter[tuple[tuple[int, ...], ...]] = Counter()


class DynamicShapeError(RuntimeError):
    """A graph with symbolic sizes reached the backend in strict mode."""


def compilations() -> dict[tuple[tuple[int, ...], ...], int]:
    """The shapes of a graph's inputs -> how many graphs were compiled for them. Symbolic sizes are -1."""
    return dict(_compilations)


def reset_compilations() -> None:
    """Forget the counts."""
    _compilations.clear()


def neuron(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """The backend function that `torch.compile(backend="neuron")` calls.

    Raises:
        DynamicShapeError: in strict mode, the graph has symbolic sizes.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._guards import detect_fake_mode
    from torch._inductor.compile_fx import partition_fn
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.virtualized import V

    for name, value in (("mode", None if mode == "default" else mode), ("options", options)):
        if value:
            warnings.warn(f"torch.compile({name}={value!r}) is for Inductor's devices and is ignored", stacklevel=2)
    _note_shapes(example_inputs)
    backend = aot_autograd(
        fw_compiler=functools.partial(_compile_graph, is_backward=False),
        bw_compiler=functools.partial(_compile_graph, is_backward=True),
        inference_compiler=_compile_for_inference,
        decompositions=select_decomp_table(),
        partition_fn=partition_fn,  # also runs the passes that replace random operators
    )
    with V.set_fake_mode(detect_fake_mode(example_inputs)):
        return backend(graph_module, example_inputs)


def _compile_for_inference(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
    from torch._inductor.compile_fx import _recursive_joint_graph_passes

    graph_module = _recursive_joint_graph_passes(graph_module)  # there is no partition to run them
    return _compile_graph(graph_module, example_inputs, is_inference=True)


def _note_shapes(example_inputs: Sequence[Any]) -> None:
    def sizes(value: Any) -> tuple[int, ...]:
        if isinstance(value, torch.SymInt):
            return (-1,)
        if not isinstance(value, torch.Tensor):
            return ()
        return tuple(-1 if isinstance(size, torch.SymInt) else size for size in value.shape)

    shapes = tuple(sizes(value) for value in example_inputs)
    if is_strict() and any(-1 in shape for shape in shapes):
        raise DynamicShapeError(
            "this device compiles static shapes only, and a dimension was marked dynamic or changed between "
            "calls. Pass dynamic=False to torch.compile, and pad the input to a fixed shape, so that it is "
            "compiled once."
        )
    _compilations[shapes] += 1


def _is_on_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == torch._C._get_privateuse1_backend_name()


def _retarget(graph_module: torch.fx.GraphModule, fake_mode: Any, example_inputs: Sequence[Any]) -> list[Any]:
    """Replace the device by the CPU in the graph, and recompute its metadata on CPU fakes with the same
    strides."""
    from torch._inductor.fx_passes.post_grad import view_to_reshape
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp
    from torch.utils._pytree import tree_map

    name = torch._C._get_privateuse1_backend_name()

    def cpu_device(value: Any) -> Any:
        return torch.device("cpu") if isinstance(value, torch.device) and value.type == name else value

    def cpu_fake(value: Any) -> Any:
        if not _is_on_device(value):
            return value
        with fake_mode:
            return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="cpu")

    for module in graph_module.modules():  # higher-order operators hold graphs of their own
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                if node.op not in ("placeholder", "output"):
                    node.args = tree_map(cpu_device, node.args)
                    node.kwargs = tree_map(cpu_device, node.kwargs)
            module.recompile()
    # The CPU's convolutions choose other strides than the ones that were traced, so a view may need a copy.
    view_to_reshape(graph_module)
    inputs = [cpu_fake(value) for value in example_inputs]
    FakeTensorProp(graph_module, fake_mode).propagate_dont_convert_inputs(*inputs)
    flex_attention.replace_by_dense_form(graph_module, fake_mode)
    return inputs


def _output_devices(graph_module: torch.fx.GraphModule) -> list[torch.device | None]:
    """The device of each output as the user will see it, read before the graph is retargeted."""
    output = next(node for node in graph_module.graph.nodes if node.op == "output")
    values = (node.meta.get("val") if isinstance(node, torch.fx.Node) else None for node in output.args[0])
    return [value.device if isinstance(value, torch.Tensor) else None for value in values]


def _compile_graph(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], **options: Any) -> Any:
    from torch._guards import detect_fake_mode
    from torch._inductor.compile_fx import compile_fx_inner

    name = torch._C._get_privateuse1_backend_name()
    output_devices = _output_devices(graph_module)
    seen = [value.device for value in example_inputs if isinstance(value, torch.Tensor)] + output_devices
    device = next((place.index or 0 for place in seen if place is not None and place.type == name), -1)
    cpu_inputs = _retarget(graph_module, detect_fake_mode(example_inputs), example_inputs)
    compiled = compile_fx_inner(graph_module, cpu_inputs, **options)

    def to_user(value: Any, place: torch.device | None) -> Any:
        return C.borrow_as_device(value, device) if place is not None and place.type == name else value

    def run(arguments: list[Any]) -> list[Any]:
        aliases = [C.borrow_as_cpu(value) if _is_on_device(value) else value for value in arguments]
        arguments.clear()
        with C.KernelScope(device):  # what the compiled code allocates is device memory (-1: a graph for the CPU)
            results = compiled(aliases)
        return [to_user(value, place) for value, place in zip(results, output_devices, strict=True)]

    run._boxed_call = True
    return run
