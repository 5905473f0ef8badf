// Autocast: one boxed kernel per policy; which operator has which policy is decided in Python.
#pragma once
#include <string>

namespace neuron {
// `policy` is "lower", "fp32", "fp32_result" or "promote"; `op` a name in aten with its overload ("sum.dim_IntList").
void register_autocast(const std::string& op, const std::string& policy);
}  // namespace neuron
