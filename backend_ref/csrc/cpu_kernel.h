// The one kernel behind nearly every operator.
#pragma once
#include "call_bridge.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace neuron {

using Stack = torch::jit::Stack;

// What the schema of an operator says about how to call it; computed once per operator.
struct CallFacts {
  size_t arguments = 0, results = 0;
  int generator_argument = -1;
  bool writes_arguments = false;            // and may resize them
  bool takes_cpu_operands = false;          // index tensors may stay on the CPU, as on CUDA
  bool random_without_generator = false;    // draws numbers, but has no generator argument
  bool returns_views = false;               // touches metadata only
  bool output_depends_on_data = false;      // the shape of the result is known only afterwards
};

// Replaces every device tensor, device and generator among the arguments by its CPU counterpart.
void translate_arguments(CallBridge& bridge, const c10::OperatorHandle& op, const CallFacts& facts, Stack* stack);

// Runs the CPU kernel of `op` on aliases of the device storages.
void run_cpu_kernel(const c10::OperatorHandle& op, const CallFacts& facts, Stack* stack);
// The same on the current stream's thread, if the result's shape can be told beforehand. Returns false if not.
bool defer_cpu_kernel(const c10::OperatorHandle& op, const CallFacts& facts, Stack* stack);

// Registers run_cpu_kernel for every operator of PyTorch that has a CPU kernel; returns how many.
int claim_cpu_operators();

}  // namespace neuron
