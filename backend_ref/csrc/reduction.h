// Reductions that gloo does not have, in terms of those it has.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <functional>
#include <vector>

namespace neuron {

using Tensors = std::vector<at::Tensor>;
using Finish = std::function<void()>;
enum class Inputs { in_place, kept };  // whether a collective may overwrite its inputs

// AVG: sums, and divides by `size` afterwards. PREMUL_SUM: scales the inputs (a copy of them, if they are to be kept)
// and sums. Changes `op` and `inputs` accordingly and returns what remains to be done with `outputs` once the
// collective has finished. All tensors are CPU tensors.
Finish emulate_reduction(c10d::ReduceOp& op, Tensors& inputs, const Tensors& outputs, Inputs policy, int size);

}  // namespace neuron
