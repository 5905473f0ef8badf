// The device guard: how PyTorch switches devices and streams and records events.
#include "stream.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace neuron {

using Event = std::shared_ptr<Mark>;

struct GuardImpl final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kNeuron; }
  c10::Device getDevice() const override { return device(current_device()); }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) set_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) set_device_unchecked(device.index());
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto previous = getDevice();
    setDevice(device);
    return previous;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }
  // What dense kernels compute in: no quantized, sub-byte or raw-bits types.
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = 0;
    auto& has = capability.capability_data.supported_scalar_types;
    has.has_Byte = has.has_Char = has.has_Short = has.has_Int = has.has_Long = has.has_Bool = 1;
    has.has_Half = has.has_BFloat16 = has.has_Float = has.has_Double = 1;
    has.has_ComplexHalf = has.has_ComplexFloat = has.has_ComplexDouble = 1;
    has.has_Float8_e5m2 = has.has_Float8_e4m3fn = 1;
    has.has_UInt16 = has.has_UInt32 = has.has_UInt64 = 1;
    return capability;
  }

  c10::Stream getStream(c10::Device device) const override { return current_stream(device.index()); }
  c10::Stream getDefaultStream(c10::Device device) const override { return default_stream(device.index()); }
  c10::Stream getNewStream(c10::Device device, int = 0) const override { return pooled_stream(device.index()); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool = false) const override {
    return pooled_stream(device.index());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_stream(stream); }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return reinterpret_cast<void*>(intptr_t(stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override { return idle(stream); }
  void synchronizeStream(const c10::Stream& stream) const override { synchronize(stream); }
  void synchronizeDevice(const c10::DeviceIndex index) const override { synchronize_device(index); }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new Event();
    *static_cast<Event*>(*event) = neuron::record(stream);
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event) neuron::block(stream, *static_cast<Event*>(event));
  }
  bool queryEvent(void* event) const override { return !event || (*static_cast<Event*>(event))->query(); }
  void synchronizeEvent(void* event) const override {
    if (event) (*static_cast<Event*>(event))->wait();
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {  // milliseconds
    TORCH_CHECK(start && end, "elapsed_time needs two recorded events");
    auto &from = *static_cast<Event*>(start), &to = *static_cast<Event*>(end);
    TORCH_CHECK(from->query() && to->query(), "elapsed_time needs both events to be completed; synchronize first");
    return double(to->nanoseconds - from->nanoseconds) / 1e6;
  }
};

void install_guard() { c10::impl::DeviceGuardImplRegistrar registrar(kNeuron, new GuardImpl()); }

}  // namespace neuron
