// Accelerator hooks: what torch.accelerator, generators, pinned memory and storage resizing ask of a device.
#include "allocator.h"
#include "generator.h"
#include "host_trap.h"
#include "pinned_memory.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <cstring>
#include <utility>

namespace neuron {

struct Hooks final : at::PrivateUse1HooksInterface {
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return device_count(); }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(c10::DeviceIndex index) const override { set_device(index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    const auto previous = current_device();
    set_device(index);
    return previous;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    const auto previous = current_device();
    if (index >= 0 && index < device_count()) set_device(index);
    return previous;
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &PinnedMemory::instance(); }
  bool isPinnedPtr(const void* pointer) const override { return PinnedMemory::instance().contains(pointer); }
  c10::Device getDeviceFromPtr(void* pointer) const override {
    const auto index = DeviceMemory::instance().device_of(pointer);
    TORCH_CHECK(index, "the pointer is not the start of a block of ", device_name(), " memory");
    return device(*index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index); }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override { return new_generator(index); }
  // FSDP frees and regrows the storages of its flat parameters through this.
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* impl = storage.unsafeGetStorageImpl();
    auto& memory = DeviceMemory::instance();
    auto fresh = memory.allocate_on(impl->device().index(), bytes, impl->device());
    if (const size_t kept = std::min(bytes, impl->nbytes()); kept && impl->data())
      memory.copy_data(fresh.get(), impl->data(), kept);
    impl->set_data_ptr_noswap(std::move(fresh));
    impl->set_nbytes(bytes);
  }
};

void install_hooks() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }

}  // namespace neuron
