// What ran on the device, how often, and what the emulated chip refuses to run.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/ScalarType.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace neuron {

// Set while anything below is switched on: the only cost of accounting when it is off.
extern std::atomic<bool> accounting;

// Counts a call; raises NotImplementedError if the operator was refused.
void account(const c10::OperatorHandle& op);
void account(const char* operator_name);
// Raises TypeError for a dtype that was refused.
void check_dtype(c10::ScalarType type);

void count_calls(bool on);
std::map<std::string, uint64_t> call_counts();
void reset_call_counts();
void refuse_operator(const std::string& name);
void refuse_dtype(c10::ScalarType type);
void accept_everything();

}  // namespace neuron
