#include "allocator.h"

#include "host_trap.h"

#include <cstdlib>
#include <cstring>

namespace neuron {

constexpr size_t kSmallStep = 512, kSmallLimit = 1u << 20, kLargeStep = 2u << 20;

static size_t rounded(size_t bytes) {
  const size_t step = bytes > kSmallLimit ? kLargeStep : host_trap() ? 4096 : kSmallStep;
  return (bytes + step - 1) / step * step;
}
static void* from_system(size_t size) {
  if (host_trap()) return map_protected(size);
  void* pointer = nullptr;
  return posix_memalign(&pointer, 64, size) ? nullptr : pointer;
}
static void to_system(void* pointer, size_t size) {
  if (host_trap()) return unmap_protected(pointer, size);
  std::free(pointer);
}

DeviceMemory& DeviceMemory::instance() {
  static auto* memory = new DeviceMemory();  // never destroyed: tensors may outlive static destructors
  return *memory;
}
DeviceMemory::DeviceMemory() : pools_(device_count()) {
  for (auto& pool : pools_) {
    pool.capacity = pool.limit = size_t(number_setting("NEURON_REF_MEMORY_MB", 16384)) << 20;
    pool.small.resize(kSmallLimit / kSmallStep + 1);
  }
}
DeviceMemory::Pool& DeviceMemory::pool(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && size_t(index) < pools_.size(), device_name(), ":", int(index), " does not exist");
  return pools_[index];
}

void* DeviceMemory::take_cached(Pool& pool, size_t& size) {
  if (size <= kSmallLimit) {
    auto& free_blocks = pool.small[size / kSmallStep];
    if (free_blocks.empty()) return nullptr;
    void* pointer = free_blocks.back();
    free_blocks.pop_back();
    return pointer;
  }
  // A block up to an eighth too large is better than a new one.
  for (auto next = pool.large.lower_bound(size); next != pool.large.end() && next->first <= size + size / 8; ++next) {
    if (next->second.empty()) continue;
    size = next->first;
    void* pointer = next->second.back();
    next->second.pop_back();
    return pointer;
  }
  return nullptr;
}
void DeviceMemory::drop_cache(Pool& pool) {
  auto give_back = [&](std::vector<void*>& blocks, size_t size) {
    for (void* pointer : blocks) {
      to_system(pointer, size);
      pool.stats.reserved_bytes[0].decrease(size);
      pool.stats.segment[0].decrease(1);
      pool.stats.num_device_free++;
    }
    blocks.clear();
  };
  for (size_t i = 0; i < pool.small.size(); i++) give_back(pool.small[i], i * kSmallStep);
  for (auto& [size, blocks] : pool.large) give_back(blocks, size);
  pool.large.clear();
}

void* DeviceMemory::acquire(size_t wanted, c10::DeviceIndex index) {
  if (wanted == 0) return nullptr;
  use_device();
  size_t size = rounded(wanted);
  std::lock_guard<std::mutex> lock(mutex_);
  Pool& pool = this->pool(index);
  auto& stats = pool.stats;
  void* pointer = take_cached(pool, size);
  if (!pointer) {
    auto full = [&] { return size_t(stats.reserved_bytes[0].current) + size > pool.limit; };
    if (full()) {
      stats.num_alloc_retries++;
      drop_cache(pool);
    }
    if (full() || !(pointer = from_system(size))) {
      stats.num_ooms++;
      TORCH_CHECK_WITH(OutOfMemoryError, false, device_name(), " out of memory. Tried to allocate ", wanted,
                       " bytes on ", device(index), ", which has ", pool.limit, " bytes, of which ",
                       stats.allocated_bytes[0].current, " are allocated by PyTorch.");
    }
    stats.reserved_bytes[0].increase(size);
    stats.segment[0].increase(1);
    stats.num_device_alloc++;
  }
  stats.allocation[0].increase(1);
  stats.active[0].increase(1);
  stats.allocated_bytes[0].increase(size);
  stats.active_bytes[0].increase(size);
  stats.requested_bytes[0].increase(wanted);
  live_.emplace(pointer, Block{size, wanted, index});
  return pointer;
}
c10::DataPtr DeviceMemory::allocate_on(c10::DeviceIndex index, size_t bytes, c10::Device label) {
  void* pointer = acquire(bytes, index);
  return {pointer, pointer, &release, label};
}

bool DeviceMemory::try_release(void* pointer) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(pointer);
  if (found == live_.end()) return false;
  const Block block = found->second;
  live_.erase(found);
  Pool& pool = pools_[block.device];
  pool.stats.allocation[0].decrease(1);
  pool.stats.active[0].decrease(1);
  pool.stats.allocated_bytes[0].decrease(block.size);
  pool.stats.active_bytes[0].decrease(block.size);
  pool.stats.requested_bytes[0].decrease(block.requested);
  (block.size <= kSmallLimit ? pool.small[block.size / kSmallStep] : pool.large[block.size]).push_back(pointer);
  return true;
}
void DeviceMemory::release(void* pointer) {
  if (pointer && !in_bad_fork()) instance().try_release(pointer);  // a forked child frees what its parent still uses
}
std::optional<c10::DeviceIndex> DeviceMemory::device_of(void* pointer) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(pointer);
  return found == live_.end() ? std::nullopt : std::make_optional(found->second.device);
}
void DeviceMemory::copy_data(void* to, const void* from, size_t bytes) const {
  DeviceMemoryAccess access;
  std::memcpy(to, from, bytes);
}

void DeviceMemory::emptyCache(c10::MempoolId_t) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& pool : pools_) drop_cache(pool);
}
c10::CachingDeviceAllocator::DeviceStats DeviceMemory::getDeviceStats(c10::DeviceIndex index) {
  std::lock_guard<std::mutex> lock(mutex_);
  return pool(index).stats;
}
template <class Action>
void DeviceMemory::for_each_stat(c10::DeviceIndex index, Action action) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& stats = pool(index).stats;
  for (auto* stat : {&stats.allocation, &stats.segment, &stats.active, &stats.allocated_bytes, &stats.reserved_bytes,
                     &stats.active_bytes, &stats.requested_bytes})
    action((*stat)[0]);
}
void DeviceMemory::resetAccumulatedStats(c10::DeviceIndex index) {
  for_each_stat(index, [](auto& stat) { stat.reset_accumulated(); });
  std::lock_guard<std::mutex> lock(mutex_);
  pool(index).stats.num_alloc_retries = pool(index).stats.num_ooms = 0;
}
void DeviceMemory::resetPeakStats(c10::DeviceIndex index) {
  for_each_stat(index, [](auto& stat) { stat.reset_peak(); });
}
std::pair<size_t, size_t> DeviceMemory::getMemoryInfo(c10::DeviceIndex index) {
  std::lock_guard<std::mutex> lock(mutex_);
  Pool& pool = this->pool(index);
  return {pool.capacity - size_t(pool.stats.reserved_bytes[0].current), pool.capacity};
}
void DeviceMemory::set_fraction(c10::DeviceIndex index, double fraction) {
  TORCH_CHECK(fraction >= 0 && fraction <= 1, "a memory fraction lies between 0 and 1, not ", fraction);
  std::lock_guard<std::mutex> lock(mutex_);
  Pool& pool = this->pool(index);
  pool.limit = size_t(double(pool.capacity) * fraction);
}
std::vector<std::pair<void*, DeviceMemory::Block>> DeviceMemory::live_blocks() {
  std::lock_guard<std::mutex> lock(mutex_);
  return {live_.begin(), live_.end()};
}

}  // namespace neuron
