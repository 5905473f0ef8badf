#include "reduction.h"

#include "host_trap.h"

#include <ATen/ops/mul.h>

namespace neuron {

static void divide(const at::Tensor& tensor, int size) {
  DeviceMemoryAccess access;
  if (at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)) {
    tensor.div_(size, "trunc");
  } else {
    tensor.div_(size);
  }
}

static void scale(Tensors& inputs, const c10d::PreMulSumSupplement& factor, Inputs policy) {
  DeviceMemoryAccess access;
  for (auto& input : inputs) {
    const auto multiplier = factor.tensor_factor.defined() ? factor.tensor_factor.cpu() : at::Tensor();
    if (policy == Inputs::kept) input = input.clone();
    if (multiplier.defined()) {
      input.mul_(multiplier);
    } else {
      input.mul_(factor.double_factor);
    }
  }
}

Finish emulate_reduction(c10d::ReduceOp& op, Tensors& inputs, const Tensors& outputs, Inputs policy, int size) {
  if (op == c10d::ReduceOp::AVG) {
    op = c10d::ReduceOp::SUM;
    return [outputs, size] {
      for (const auto& tensor : outputs) divide(tensor, size);
    };
  }
  if (op == c10d::ReduceOp::PREMUL_SUM) {
    const auto* factor = static_cast<c10d::PreMulSumSupplement*>(op.supplement_.get());
    TORCH_CHECK(factor, "ReduceOp.PREMUL_SUM needs a factor");
    scale(inputs, *factor, policy);
    op = c10d::ReduceOp::SUM;
  }
  return nullptr;
}

}  // namespace neuron
