// Page-locked host memory, as far as programs can see it: is_pinned(), DataLoader(pin_memory=True), the host cache.
#pragma once
#include <ATen/core/CachingHostAllocator.h>

#include <map>
#include <mutex>

namespace neuron {

class PinnedMemory final : public at::HostAllocator {
 public:
  static PinnedMemory& instance();
  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override;
  // Whether `pointer` lies inside a live pinned block.
  bool contains(const void* pointer);

  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override;
  at::HostStats get_stats() override;
  void reset_accumulated_stats() override;
  void reset_peak_stats() override;

 private:
  static void release(void* pointer);
  std::mutex mutex_;
  std::map<uintptr_t, size_t> live_;
  std::multimap<size_t, void*> cached_;
  at::HostStats stats_;
};

}  // namespace neuron
