"""FlexAttention on the device.

PyTorch admits it for a fixed list of devices, and its compiler has no backward of it for the CPU, to which
graphs are retargeted. So the device is admitted, and both directions are replaced by the operators' own dense
form, which is right for every score and mask function and needs memory for the whole matrix of scores.
"""

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten


def admit_device(module: ModuleType, name: str) -> None:
    """Let `torch.nn.attention.flex_attention` accept tensors on the device called `name`."""
    validate = module._validate_device

    def validate_device(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
        if query.device.type != name:
            validate(query, key, value)

    module._validate_device = validate_device


def replace_by_dense_form(graph_module: torch.fx.GraphModule, fake_mode: Any) -> None:
    """Replace the FlexAttention operators of a graph whose nodes carry fake CPU tensors."""
    from torch._higher_order_ops.flex_attention import (
        flex_attention,
        flex_attention_backward,
        math_attention,
        sdpa_dense_backward,
    )

    dense: dict[Any, Callable[..., Any]] = {
        flex_attention: math_attention,
        flex_attention_backward: sdpa_dense_backward,
    }
    found = [node for node in graph_module.graph.nodes if node.op == "call_function" and node.target in dense]
    for node in found:
        _inline(graph_module, node, dense[node.target], fake_mode)
    if found:
        graph_module.graph.eliminate_dead_code()
        graph_module.recompile()


def _inline(
    graph_module: torch.fx.GraphModule, node: torch.fx.Node, function: Callable[..., Any], fake_mode: Any
) -> None:
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    leaves, structure = tree_flatten((node.args, node.kwargs))
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.fx.Node) and leaf.op != "get_attr"]

    def run(*values: Any) -> Any:
        filled = [
            getattr(graph_module, leaf.target) if isinstance(leaf, torch.fx.Node) and leaf.op == "get_attr" else leaf
            for leaf in leaves
        ]
        for position, value in zip(tensors, values, strict=True):
            filled[position] = value
        args, kwargs = tree_unflatten(filled, structure)
        return function(*args, **kwargs)

    with fake_mode:
        traced = make_fx(run, decomposition_table=select_decomp_table())(
            *(leaves[position].meta["val"] for position in tensors)
        )
    inputs = [inner for inner in traced.graph.nodes if inner.op == "placeholder"]
    copied = dict(zip(inputs, (leaves[position] for position in tensors), strict=True))
    for inner in traced.graph.nodes:  # constants become attributes of the outer module, under names of their own
        if inner.op == "get_attr":
            unique = f"_dense_{node.name}_{inner.target}"
            setattr(graph_module, unique, getattr(traced, inner.target))
            inner.target = unique
    with graph_module.graph.inserting_before(node):
        results = graph_module.graph.graph_copy(traced.graph, copied)
    for user in list(node.users):
        _replace_result(user, results)
    graph_module.graph.erase_node(node)


def _replace_result(user: torch.fx.Node, results: Any) -> None:
    """Make a `getitem` of the operator, possibly nested, refer to the inlined result."""
    assert user.target is operator.getitem, f"unexpected use of FlexAttention's results: {user}"
    value = results[user.args[1]]
    if isinstance(value, tuple | list):
        for inner in list(user.users):
            _replace_result(inner, value)
    elif value is not None:
        user.replace_all_uses_with(value)
    user.graph.erase_node(user)
