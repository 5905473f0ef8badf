// Opt-in debug mode (NEURON_REF_TRAP_HOST_ACCESS=1): device memory carries a memory protection key, and the key is
// closed except while a kernel runs. Host code that dereferences a device pointer then dies with a message, as it
// would with a real accelerator. Needs Linux and a CPU with the `pku` flag; opening and closing costs about 40 ns.
#pragma once
#include <cstddef>

namespace neuron {

// Whether the mode was asked for; raises if it was and this machine cannot provide it.
bool host_trap();
// Pages under the protection key, or nullptr when the machine has none left.
void* map_protected(size_t bytes);
void unmap_protected(void* pointer, size_t bytes);

// The calling thread may touch device memory while one of these lives.
class DeviceMemoryAccess {
 public:
  DeviceMemoryAccess() : rights_(host_trap() ? open() : 0) {}
  ~DeviceMemoryAccess() {
    if (host_trap()) restore(rights_);
  }
  DeviceMemoryAccess(const DeviceMemoryAccess&) = delete;
  DeviceMemoryAccess& operator=(const DeviceMemoryAccess&) = delete;

 private:
  static unsigned open();
  static void restore(unsigned rights);
  unsigned rights_;
};

}  // namespace neuron
