// While a kernel runs on this thread, CPU allocations come from device memory: results and scratch space are then on
// the device from birth (counted in the statistics, never copied) although a CPU kernel asked for them.
#pragma once
#include "host_trap.h"

namespace neuron {

// The device whose kernel runs on this thread; -1: none. Returns the previous one.
int exchange_kernel_device(int device);

class KernelScope {
 public:
  explicit KernelScope(int device) : outer_(exchange_kernel_device(device)) {}
  ~KernelScope() { exchange_kernel_device(outer_); }
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  DeviceMemoryAccess access_;
  int outer_;
};

void install_kernel_allocator();

}  // namespace neuron
