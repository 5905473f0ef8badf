#include "pinned_memory.h"

#include <cstdlib>
#include <cstring>

namespace neuron {

constexpr size_t kPage = 4096;

PinnedMemory& PinnedMemory::instance() {
  static auto* memory = new PinnedMemory();  // never destroyed: tensors may outlive static destructors
  return *memory;
}

c10::DataPtr PinnedMemory::allocate(size_t bytes) {
  if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::kCPU)};
  const size_t size = (bytes + kPage - 1) / kPage * kPage;
  std::lock_guard<std::mutex> lock(mutex_);
  void* pointer = nullptr;
  if (auto hit = cached_.find(size); hit != cached_.end()) {
    pointer = hit->second;
    cached_.erase(hit);
  } else {
    TORCH_CHECK(!posix_memalign(&pointer, kPage, size), "cannot allocate ", bytes, " bytes of pinned memory");
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(size);
    stats_.num_host_alloc++;
  }
  stats_.active_requests.increase(1);
  stats_.active_bytes.increase(size);
  live_[reinterpret_cast<uintptr_t>(pointer)] = size;
  return {pointer, pointer, &release, c10::Device(c10::kCPU)};
}

void PinnedMemory::release(void* pointer) {
  if (!pointer) return;
  auto& self = instance();
  std::lock_guard<std::mutex> lock(self.mutex_);
  const auto found = self.live_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == self.live_.end()) return;
  self.stats_.active_requests.decrease(1);
  self.stats_.active_bytes.decrease(found->second);
  self.cached_.emplace(found->second, pointer);
  self.live_.erase(found);
}

bool PinnedMemory::contains(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto next = live_.upper_bound(address);
  return next != live_.begin() && address < std::prev(next)->first + std::prev(next)->second;
}
void PinnedMemory::copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

void PinnedMemory::empty_cache() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [size, pointer] : cached_) {
    std::free(pointer);
    stats_.allocations.decrease(1);
    stats_.allocated_bytes.decrease(size);
    stats_.num_host_free++;
  }
  cached_.clear();
}
at::HostStats PinnedMemory::get_stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}
void PinnedMemory::reset_accumulated_stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto* stat : {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes})
    stat->reset_accumulated();
}
void PinnedMemory::reset_peak_stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto* stat : {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes})
    stat->reset_peak();
}

}  // namespace neuron
