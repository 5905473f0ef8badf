"""The ways to train in parallel.

torchrun --nproc-per-node 2 distributed_training.py BACKEND
"""

import tempfile

import torch
from distributed_report import DEVICE, full, record, report
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh


def losses(wrap, device, optimizer=torch.optim.AdamW, group=None, steps=4):
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = wrap(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).to(device))
    stepper = optimizer(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(7 + rank)
    found = []
    for _ in range(steps):
        loss = model(torch.randn(4, 8, generator=generator).to(device)).pow(2).mean()
        stepper.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        stepper.step()
        total = loss.detach().clone()
        dist.all_reduce(total, group=group)
        found.append(total.item())
    return found


def training(rank, world):
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.state_dict import get_model_state_dict
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP1
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor import randn as dtensor_randn
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.nn.parallel import DistributedDataParallel as DDP

    gloo = dist.new_group(backend="gloo")
    mesh = init_device_mesh("neuron", (world,))

    def sharded(model, **options):
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh, **options)
        return fully_shard(model, mesh=mesh, **options)

    @record
    def ddp_on_cpu():
        return losses(lambda model: DDP(model, process_group=gloo), "cpu", group=gloo)

    @record
    def ddp():
        return losses(lambda model: DDP(model, device_ids=[DEVICE.index]), DEVICE)

    @record
    def fsdp1():
        return losses(lambda model: FSDP1(model, device_id=DEVICE), DEVICE)

    @record
    def fsdp2():
        return losses(sharded, DEVICE)

    @record
    def fsdp2_mixed_precision():
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        return losses(lambda model: sharded(model, mp_policy=policy), DEVICE)

    @record
    def fsdp2_offload():
        return losses(lambda model: sharded(model, offload_policy=CPUOffloadPolicy()), DEVICE, torch.optim.SGD)

    @record
    def sgd():
        return losses(sharded, DEVICE, torch.optim.SGD)

    @record
    def dtensor():
        value = distribute_tensor(torch.arange(16.0, device=DEVICE).view(4, 4), mesh, [Shard(0)])
        product = (value @ value.T).redistribute(placements=[Replicate()]).to_local()
        return [product.device.type, product.sum().item()]

    @record
    def dtensor_random():
        torch.manual_seed(3)
        value = dtensor_randn(4, 4, device_mesh=mesh, placements=[Shard(0)])
        whole = value.full_tensor()
        return [list(value.to_local().shape), whole.unique().numel(), whole.sum().item()]

    @record
    def tensor_parallel():
        torch.manual_seed(0)
        plain = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)).to(DEVICE)
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)).to(DEVICE)
        parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        x = torch.ones(2, 8, device=DEVICE)
        model(x).sum().backward()
        plain(x).sum().backward()
        gradient = model[0].weight.grad
        return [
            isinstance(gradient, DTensor),
            torch.allclose(gradient.full_tensor(), plain[0].weight.grad, atol=1e-5),
        ]

    @record
    def pipeline():
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        torch.manual_seed(0)
        layers = [nn.Linear(8, 8).to(DEVICE), nn.Linear(8, 8).to(DEVICE)]
        stage = PipelineStage(layers[rank], rank, world, DEVICE)
        schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=lambda y, t: (y - t).square().mean())
        x, target = torch.ones(8, 8, device=DEVICE), torch.zeros(8, 8, device=DEVICE)
        found = []
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=target, losses=found)
        for layer in layers:
            layer.requires_grad_(True)
        whole = layers[1](layers[0](x)).square().mean()
        return [
            layers[rank].weight.grad.device.type,
            abs(sum(found) / 4 - whole).item() < 1e-6 if found else True,
        ]

    @record
    def distributed_checkpoint():
        folder = [tempfile.mkdtemp() if rank == 0 else None]
        dist.broadcast_object_list(folder)
        model = sharded(nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 4)).to(DEVICE))
        state = get_model_state_dict(model)
        before = {name: value.full_tensor().sum().item() for name, value in state.items()}
        checkpoint.save(state, checkpoint_id=folder[0])
        for value in state.values():
            value.to_local().zero_()
        checkpoint.load(state, checkpoint_id=folder[0])
        after = {name: value.full_tensor().sum().item() for name, value in state.items()}
        return [before == after, next(iter(state.values())).device.type]

    @record
    def mesh_of_two_dimensions():
        grid = init_device_mesh("neuron", (1, 2), mesh_dim_names=("outer", "inner"))
        value = full(1.0)
        dist.all_reduce(value, group=grid["inner"].get_group())
        return value[0].item()


if __name__ == "__main__":
    report(training)
