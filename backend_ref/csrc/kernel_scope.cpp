#include "kernel_scope.h"

#include "allocator.h"

#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <utility>

namespace neuron {

static thread_local int kernel_device = -1;
int exchange_kernel_device(int device) { return std::exchange(kernel_device, device); }

struct KernelAllocator final : c10::Allocator {
  static inline c10::Allocator* host = nullptr;
  c10::DataPtr allocate(size_t bytes) override {
    if (kernel_device < 0) return host->allocate(bytes);
    return DeviceMemory::instance().allocate_on(c10::DeviceIndex(kernel_device), bytes, c10::Device(c10::kCPU));
  }
  // oneDNN frees through raw_deallocate(), possibly outside the scope that allocated: accept blocks of either origin.
  static void release_any(void* pointer) {
    if (pointer && !DeviceMemory::instance().try_release(pointer)) host->raw_deleter()(pointer);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_any; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};

void install_kernel_allocator() {
  KernelAllocator::host = c10::GetCPUAllocator();
  c10::SetCPUAllocator(new KernelAllocator(), /*priority=*/100);
}

}  // namespace neuron
