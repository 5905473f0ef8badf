"""Recurrent layers and cells.

PyTorch asks every device that is not the CPU for fused recurrent cells, which the CPU does not have. So the
CPU's own layer runs here, recorded by autograd on aliases of the device tensors; the layer as a whole is one
node of the device's graph. As with cuDNN, it has no second derivative.
"""

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from .core import C

aten = torch.ops.aten
LAYERS = [
    aten.lstm.input,
    aten.lstm.data,
    aten.gru.input,
    aten.gru.data,
    aten.rnn_tanh.input,
    aten.rnn_tanh.data,
    aten.rnn_relu.input,
    aten.rnn_relu.data,
    aten.lstm_cell.default,
    aten.gru_cell.default,
]
_library: torch.library.Library | None = None  # operators are unregistered when it is collected


class RecordedOnCpu(torch.autograd.Function):
    """Runs a CPU operator under its own autograd recording; `values` are its flattened arguments."""

    @staticmethod
    def forward(ctx: Any, operator: Any, structure: Any, *values: Any) -> tuple[torch.Tensor, ...]:
        device = next(v.device for v in values if _on_device(v))
        aliases = [C.borrow_as_cpu(v) if _on_device(v) else v for v in values]
        for alias, needed in zip(aliases, ctx.needs_input_grad[2:], strict=True):
            if needed:
                alias.requires_grad_()
        with torch.enable_grad(), C.KernelScope(device.index):
            results = operator(*tree_unflatten(aliases, structure))
        results = results if isinstance(results, tuple) else (results,)
        ctx.device, ctx.recorded, ctx.aliases = device, results, aliases
        return tuple(C.borrow_as_device(result.detach(), device.index) for result in results)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        wanted = [alias for alias, needed in zip(ctx.aliases, ctx.needs_input_grad[2:], strict=True) if needed]
        with C.KernelScope(ctx.device.index):
            found = iter(
                torch.autograd.grad(
                    ctx.recorded,
                    wanted,
                    [C.borrow_as_cpu(gradient) for gradient in gradients],
                    retain_graph=True,
                    allow_unused=True,
                )
            )
        on_device = (next(found) if needed else None for needed in ctx.needs_input_grad[2:])
        return (
            None,
            None,
            *(None if g is None else C.borrow_as_device(g, ctx.device.index) for g in on_device),
        )


def _on_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == torch._C._get_privateuse1_backend_name()


def _is_plain(value: Any) -> bool:
    """Whether `value` has memory to alias: no fake tensor, no subclass, no function transform."""
    return not isinstance(value, torch.Tensor) or (
        type(value) in (torch.Tensor, torch.nn.Parameter) and not torch._C._functorch.is_functorch_wrapped_tensor(value)
    )


def _layer(operator: Any) -> Any:
    def run(*args: Any) -> Any:
        values, structure = tree_flatten(args)
        if torch._C._len_torch_dispatch_stack() or not all(map(_is_plain, values)):
            return decomposition(operator)(*args)
        results = RecordedOnCpu.apply(operator, structure, *values)
        return results if len(operator._schema.returns) > 1 else results[0]

    return run


def decomposition(operator: Any) -> Any:
    """The operator in terms of simpler ones, for tracing."""
    if operator is aten.lstm_cell.default:
        return _lstm_cell
    if operator is aten.gru_cell.default:
        return _gru_cell
    import torch._decomp.decompositions  # takes a second to import, and most programs never need it

    return operator.py_kernels[torch._C.DispatchKey.CompositeImplicitAutograd]


def _lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    gates = torch.nn.functional.linear(input, w_ih, b_ih) + torch.nn.functional.linear(hx[0], w_hh, b_hh)
    in_gate, forget_gate, cell_gate, out_gate = gates.chunk(4, 1)
    cell = forget_gate.sigmoid() * hx[1] + in_gate.sigmoid() * cell_gate.tanh()
    return out_gate.sigmoid() * cell.tanh(), cell


def _gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    from_input = torch.nn.functional.linear(input, w_ih, b_ih).chunk(3, 1)
    from_hidden = torch.nn.functional.linear(hx, w_hh, b_hh).chunk(3, 1)
    reset_gate = (from_hidden[0] + from_input[0]).sigmoid()
    input_gate = (from_hidden[1] + from_input[1]).sigmoid()
    new_gate = (from_input[2] + from_hidden[2] * reset_gate).tanh()
    return (hx - new_gate) * input_gate + new_gate


def register() -> None:
    """Install the layers and cells."""
    global _library
    _library = torch.library.Library("aten", "IMPL")
    for operator in LAYERS:
        name = operator._schema.name.removeprefix("aten::")
        overload = operator._schema.overload_name
        for key in ("AutogradPrivateUse1", "PrivateUse1"):
            _library.impl(f"{name}.{overload}" if overload else name, _layer(operator), key)
