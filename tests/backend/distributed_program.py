"""Run on every rank by torchrun: collectives, then the ways to train in parallel; prints one JSON object per
rank.

torchrun --nproc-per-node 2 distributed_program.py SECTION [BACKEND]
"""

import json
import os
import sys
import tempfile

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

torch.set_num_threads(1)
DEVICE = torch.device("neuron", int(os.environ.get("LOCAL_RANK", 0)))
RESULTS = {}


def full(value, length=2, dtype=torch.float32):
    return torch.full((length,), value, device=DEVICE, dtype=dtype)


def record(function):
    """Store what `function` returns under its name, an error as text."""
    try:
        RESULTS[function.__name__] = function()
    except Exception as error:
        RESULTS[function.__name__] = f"{type(error).__name__}: {str(error).splitlines()[0]}"


def collectives(rank, world):
    other = 1 - rank

    @record
    def all_reduce():
        sums = []
        for op in (
            dist.ReduceOp.SUM,
            dist.ReduceOp.AVG,
            dist.ReduceOp.MAX,
            dist.ReduceOp.MIN,
            dist.ReduceOp.PRODUCT,
        ):
            value = full(float(rank + 1))
            dist.all_reduce(value, op=op)
            sums.append(value[0].item())
        return sums

    @record
    def all_reduce_premul_sum():
        value = full(float(rank + 1))
        dist.all_reduce(value, op=dist._make_nccl_premul_sum(0.5))
        scaled = full(float(rank + 1))
        dist.all_reduce(scaled, op=dist._make_nccl_premul_sum(full(2.0, 1)))
        return [value[0].item(), scaled[0].item()]

    @record
    def all_reduce_dtypes():
        sums = []
        for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int32, torch.uint8):
            value = full(rank + 1, dtype=dtype)
            dist.all_reduce(value)
            sums.append(value[0].item())
        return sums

    @record
    def asynchronous():
        value = full(1.0)
        work = dist.all_reduce(value, async_op=True)
        work.wait()
        return [value.tolist(), work.is_completed(), work.get_future().wait()[0].device.type]

    @record
    def broadcast():
        value = full(float(rank))
        dist.broadcast(value, src=1)
        return value.tolist()

    @record
    def reduce():
        value = full(float(rank + 1))
        dist.reduce(value, dst=0, op=dist.ReduceOp.AVG)
        return value.tolist() if rank == 0 else None

    @record
    def all_gather():
        parts = [full(0.0) for _ in range(world)]
        dist.all_gather(parts, full(float(rank)))
        out = full(0.0, 4)
        dist.all_gather_into_tensor(out, full(float(rank)))
        return [[part[0].item() for part in parts], out.tolist()]

    @record
    def gather_and_scatter():
        parts = [full(0.0) for _ in range(world)] if rank == 0 else None
        dist.gather(full(float(rank)), parts, dst=0)
        out = full(0.0)
        dist.scatter(out, [full(5.0), full(6.0)] if rank == 0 else None, src=0)
        return [[part[0].item() for part in parts] if parts else None, out.tolist()]

    @record
    def reduce_scatter():
        out, source = full(0.0), torch.arange(4.0, device=DEVICE)
        results = []
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist._make_nccl_premul_sum(0.5)):
            dist.reduce_scatter_tensor(out, source, op=op)
            results.append(out.tolist())
        dist.reduce_scatter(out, [full(1.0), full(2.0)])
        return [*results, out.tolist(), source.tolist()]

    @record
    def all_to_all():
        parts = [full(0.0) for _ in range(world)]
        dist.all_to_all(parts, [full(float(rank)), full(float(rank + 10))])
        out = full(0.0, 3)
        sizes = [1, 2] if rank == 0 else [2, 1]
        dist.all_to_all_single(out, torch.arange(3.0, device=DEVICE) + 10 * rank, sizes, sizes)
        return [[part[0].item() for part in parts], out.tolist()]

    @record
    def point_to_point():
        out = full(-1.0)
        if rank == 0:
            dist.send(full(3.0), 1)
            dist.recv(out, 1)
        else:
            dist.recv(out, 0)
            dist.send(out + 1, 0)
        both = full(-1.0)
        operations = [dist.P2POp(dist.isend, full(float(rank)), other), dist.P2POp(dist.irecv, both, other)]
        for request in dist.batch_isend_irecv(operations):
            request.wait()
        return [out[0].item(), both[0].item()]

    @record
    def objects():
        parts = [None] * world
        dist.all_gather_object(parts, {"rank": rank})
        shared = [f"from {rank}"]
        dist.broadcast_object_list(shared, src=1)
        received = [None] * world if rank == 0 else None
        dist.gather_object(rank, received, dst=0)
        return [parts, shared, received]

    @record
    def functional():
        import torch.distributed._functional_collectives as fc

        total = fc.all_reduce(full(1.0), "sum", dist.group.WORLD) + 0
        gathered = fc.all_gather_tensor(full(float(rank)), 0, dist.group.WORLD) + 0
        scattered = fc.reduce_scatter_tensor(torch.ones(4, device=DEVICE), "avg", 0, dist.group.WORLD) + 0
        return [total.tolist(), gathered.tolist(), scattered.tolist()]

    @record
    def coalesced():
        values = [full(float(rank)), full(1.0, 3)]
        dist.all_reduce_coalesced(values)
        return [value.tolist() for value in values]

    @record
    def groups():
        dist.barrier(device_ids=[DEVICE.index])
        alone = [dist.new_group([r], backend="neuron") for r in range(world)][rank]
        value = full(float(rank))
        dist.all_reduce(value, group=alone)
        return [value[0].item(), dist.get_backend(alone)]

    @record
    def default_backend():
        return dist.get_default_backend_for_device(DEVICE)

    @record
    def current_device():
        return torch.ones(1, device="neuron").device.index


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


def main():
    section, backend = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cpu:gloo,neuron:neuron"
    dist.init_process_group(backend)
    {"collectives": collectives, "training": training}[section](dist.get_rank(), dist.get_world_size())
    everything = [None] * dist.get_world_size()
    dist.all_gather_object(everything, RESULTS)
    dist.barrier()
    if dist.get_rank() == 0:
        print("RESULTS", json.dumps(everything))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
