#include "shutdown.h"

#include "stream.h"

#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

namespace neuron {

static void pass_through_autograd_thread(c10::DeviceIndex index) {
  auto leaf = at::zeros({1}, at::TensorOptions().device(device(index))).set_requires_grad(true);
  torch::autograd::grad({leaf.clone()}, {leaf}, {at::zeros_like(leaf)});
}

void settle() {
  if (!in_use()) return;
  for (c10::DeviceIndex index = 0; index < device_count(); index++) {
    synchronize_device(index);
    if (used_by_other_threads()) pass_through_autograd_thread(index);
    synchronize_device(index);
  }
}

}  // namespace neuron
