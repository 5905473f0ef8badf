// Random numbers. Three modes, chosen by NEURON_REF_RNG:
//   counter (default): a state of 16 bytes (seed, offset), as accelerators have; DTensor's random operators need it.
//   mirror: each generator draws what a CPU generator with the same seed would draw.
//   shared: as mirror, and the default generator *is* the CPU's, so that a whole run, dropout included, can be
//           compared bit by bit with a CPU run.
#pragma once
#include "device.h"

#include <ATen/core/Generator.h>

namespace neuron {

const at::Generator& default_generator(c10::DeviceIndex index);
at::Generator new_generator(c10::DeviceIndex index);
// The CPU generator that one operator call draws from; advances the state of `generator`.
at::Generator cpu_generator_for(const at::Generator& generator);
// Whether device and CPU draw from one generator, so that the order of calls matters.
bool shares_cpu_generator();

// For operators that have no generator argument (native_dropout, rrelu): inside the scope the CPU's default generator
// continues the device's stream.
class BorrowedCpuGenerator {
 public:
  explicit BorrowedCpuGenerator(const at::Generator& source);
  ~BorrowedCpuGenerator();

 private:
  at::Generator one_call_, saved_;
};

}  // namespace neuron
