// Device events for torch.profiler: time stamps taken by the device's own events.
#include "stream.h"

#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>

namespace neuron {

struct ProfilerEvents final : torch::profiler::impl::ProfilerStubs {
  using Stub = torch::profiler::impl::ProfilerVoidEventStub;
  void record(c10::DeviceIndex* device, Stub* event, int64_t* cpu_nanoseconds) const override {
    const auto index = current_device();
    if (device) *device = index;
    *event = neuron::record(current_stream(index));
    if (cpu_nanoseconds) *cpu_nanoseconds = std::chrono::system_clock::now().time_since_epoch().count();
  }
  float elapsed(const Stub* start, const Stub* end) const override {  // microseconds
    auto *from = static_cast<Mark*>(start->get()), *to = static_cast<Mark*>(end->get());
    from->wait();
    to->wait();
    return float(double(to->nanoseconds - from->nanoseconds) / 1e3);
  }
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> action) const override {
    for (c10::DeviceIndex index = 0; index < device_count(); index++) action(index);
  }
  void synchronize() const override { synchronize_device(current_device()); }
};

void install_profiler() { torch::profiler::impl::registerPrivateUse1Methods(new ProfilerEvents()); }

}  // namespace neuron
