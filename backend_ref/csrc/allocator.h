// Device memory: a caching allocator per device with a capacity, statistics and an out-of-memory error.
#pragma once
#include "device.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/flat_hash_map.h>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace neuron {

// Deriving from DeviceAllocator, not just Allocator, is what makes torch.accelerator.memory_* and empty_cache work.
class DeviceMemory final : public c10::DeviceAllocator {
 public:
  static DeviceMemory& instance();

  c10::DataPtr allocate(size_t bytes) override { return allocate_on(current_device(), bytes, device(current_device())); }
  // `label` is the device the pointer claims to be on: kernels get device memory that calls itself CPU memory.
  c10::DataPtr allocate_on(c10::DeviceIndex index, size_t bytes, c10::Device label);
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override;
  // The deleter of every block: also tells whether a DataPtr is ours.
  static void release(void* pointer);
  // False if `pointer` is not a live block.
  bool try_release(void* pointer);
  std::optional<c10::DeviceIndex> device_of(void* pointer);

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t = {0, 0}) override;
  // Blocks are reference counted by the work that uses them, so another stream's use needs no note.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override;
  void resetAccumulatedStats(c10::DeviceIndex index) override;
  void resetPeakStats(c10::DeviceIndex index) override;
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override;
  // At most `fraction` (0 to 1) of the device's memory may be reserved from now on.
  void set_fraction(c10::DeviceIndex index, double fraction);

  struct Block {
    size_t size, requested;
    c10::DeviceIndex device;
  };
  std::vector<std::pair<void*, Block>> live_blocks();

 private:
  struct Pool {
    c10::CachingDeviceAllocator::DeviceStats stats;
    size_t capacity = 0, limit = 0;
    std::vector<std::vector<void*>> small;  // free blocks by size / kSmallStep: no search, no bookkeeping memory
    std::map<size_t, std::vector<void*>> large;
  };
  DeviceMemory();
  void* acquire(size_t wanted, c10::DeviceIndex index);
  static void* take_cached(Pool& pool, size_t& size);
  static void drop_cache(Pool& pool);
  Pool& pool(c10::DeviceIndex index);
  template <class Action>
  void for_each_stat(c10::DeviceIndex index, Action action);

  std::mutex mutex_;
  std::vector<Pool> pools_;
  ska::flat_hash_map<void*, Block> live_;
};

}  // namespace neuron
