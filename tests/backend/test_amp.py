"""Autocast runs each operator in the precision that its policy says, and GradScaler scales."""

import pytest
import torch
from models import GPT

from backend_ref.amp import POLICIES


def test_policies(device):
    x = torch.randn(4, 4, device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        assert x.softmax(-1).dtype == torch.float32
        assert x.bfloat16().sum().dtype == torch.float32
        assert x.bfloat16().exp().dtype == torch.float32
        assert torch.cat([x, x.bfloat16()]).dtype == torch.float32
        assert torch.nn.LSTM(4, 4).to(device)(x)[0].dtype == torch.bfloat16
        with torch.autocast(device.type, enabled=False):
            assert (x @ x).dtype == torch.float32


def test_default_dtype_is_cudas(device):
    x = torch.randn(4, 4, device=device)
    with torch.autocast(device.type):
        assert (x @ x).dtype == torch.float16


def test_other_dtypes_are_refused(device):
    with pytest.warns(UserWarning, match="not supported"), torch.autocast(device.type, dtype=torch.int32):
        pass


def test_binary_cross_entropy_runs_in_the_type_it_is_given(device):
    with torch.autocast(device.type, dtype=torch.bfloat16):
        loss = torch.nn.functional.binary_cross_entropy(torch.rand(3, device=device), torch.ones(3, device=device))
    assert loss.dtype == torch.float32


def test_lists_are_those_of_cuda():
    ours = {f"aten::{name}" for names in POLICIES.values() for name in names}
    cuda = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    theirs = {name for name in cuda if name.startswith("aten::")}
    recurrent = {
        f"aten::{kind}.{form}" for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu") for form in ("input", "data")
    }
    assert ours - theirs == recurrent | {"aten::cat", "aten::stack"}
    left_out = {
        "binary_cross_entropy",
        "norm.Scalar",
        "norm.ScalarOpt_dim",
        "cudnn_convolution",
        "cudnn_convolution_transpose",
    }
    assert theirs - ours == {f"aten::{name}" for name in left_out}


def train(device, dtype):
    torch.manual_seed(0)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device, enabled=dtype is torch.float16)
    data = torch.randint(0, 256, (4, 17), generator=torch.Generator().manual_seed(1)).to(device)
    losses = []
    for _ in range(10):
        with torch.autocast(torch.device(device).type, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = model(data)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_training_in_mixed_precision_stays_close_to_full_precision(device, dtype):
    full, mixed = train("cpu", None), train(device.type, dtype)
    assert max(abs(a - b) for a, b in zip(full, mixed, strict=True)) < 0.05
    assert mixed[-1] < mixed[0]


def test_scaler_skips_a_step_with_infinite_gradients(device):
    weight = torch.nn.Parameter(torch.ones(2, device=device))
    optimizer = torch.optim.SGD([weight], 1.0)
    scaler = torch.amp.GradScaler(device.type, init_scale=4.0)
    scaler.scale((weight * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1, 1]
    assert scaler.get_scale() == 2.0


def test_checkpointing_under_autocast(device):
    x = torch.randn(4, 4, device=device, requires_grad=True)
    seen = []

    def block(v):
        seen.append((v @ v).dtype)
        return v @ v

    with torch.autocast(device.type, dtype=torch.bfloat16):
        torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).sum().backward()
    assert seen == [torch.bfloat16, torch.bfloat16]
