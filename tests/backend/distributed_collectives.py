"""Every collective, point-to-point and object communication.

torchrun --nproc-per-node 2 distributed_collectives.py BACKEND
"""

import torch
from distributed_report import DEVICE, full, record, report
from torch import distributed as dist


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


if __name__ == "__main__":
    report(collectives)
