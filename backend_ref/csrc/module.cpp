// What Python sees of the C++ core.
#include "accounting.h"
#include "allocator.h"
#include "autocast.h"
#include "cpu_kernel.h"
#include "generator.h"
#include "kernel_scope.h"
#include "pinned_memory.h"
#include "shutdown.h"
#include "stream.h"

#include <torch/csrc/utils/pybind.h>

namespace neuron {

void install_guard();
void install_hooks();
void install_profiler();
void bind_process_group(pybind11::module_& m);

// Once per process: PyTorch keeps what it is given here until it ends.
static void install() {
  static const bool once = [] {
    c10::SetAllocator(kNeuron, &DeviceMemory::instance());
    at::setHostAllocator(kNeuron, &PinnedMemory::instance());
    install_kernel_allocator();
    install_guard();
    install_hooks();
    install_profiler();
    return true;
  }();
  (void)once;
}

// A KernelScope for `with`.
struct PythonKernelScope {
  explicit PythonKernelScope(int index) : device(index) {}
  int device;
  std::optional<KernelScope> scope;
  std::optional<BorrowedCpuGenerator> random;  // CPU code without a generator draws the device's numbers
  void enter() {
    if (device >= 0) {
      synchronize(current_stream(c10::DeviceIndex(device)));
      random.emplace(default_generator(c10::DeviceIndex(device)));
    }
    scope.emplace(device);
  }
  void exit() {
    scope.reset();
    random.reset();
  }
};

static std::vector<std::tuple<uintptr_t, size_t, size_t, int>> live_blocks() {
  std::vector<std::tuple<uintptr_t, size_t, size_t, int>> blocks;
  for (auto& [pointer, block] : DeviceMemory::instance().live_blocks())
    blocks.emplace_back(reinterpret_cast<uintptr_t>(pointer), block.size, block.requested, block.device);
  return blocks;
}

}  // namespace neuron

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using namespace neuron;
  namespace py = pybind11;
  const auto released = py::call_guard<py::gil_scoped_release>();

  m.def("install", &install);
  m.def("claim_cpu_operators", &claim_cpu_operators);
  m.def("register_autocast", &register_autocast);
  bind_process_group(m);

  m.def("device_count", [] { return int(device_count()); });
  m.def("current_device", [] { return int(current_device()); });
  m.def("set_device", [](int index) { set_device(c10::DeviceIndex(index)); });
  m.def("use_device", &use_device);
  m.def("in_use", &in_use);
  m.def("in_bad_fork", &in_bad_fork);
  m.def("current_stream_id", [](int index) { return current_stream(c10::DeviceIndex(index)).id(); });
  m.def("synchronize_stream", [](int index, int64_t id) {
    synchronize(c10::Stream(c10::Stream::UNSAFE, device(c10::DeviceIndex(index)), id));
  }, released);
  m.def("settle", &settle, released);
  m.def("asynchronous", &asynchronous);
  // Keeps a stream from going on until the returned mark is reached: for tests of synchronisation.
  py::class_<Mark, std::shared_ptr<Mark>>(m, "Mark").def("reach", &Mark::reach);
  m.def("stall_stream", [](int index, int64_t id) {
    auto mark = std::make_shared<Mark>();
    block(c10::Stream(c10::Stream::UNSAFE, device(c10::DeviceIndex(index)), id), mark);
    return mark;
  });
  m.def("default_generator", [](int index) { return default_generator(c10::DeviceIndex(index)); });
  m.def("set_memory_fraction", [](int index, double fraction) {
    DeviceMemory::instance().set_fraction(c10::DeviceIndex(index), fraction);
  });
  m.def("live_blocks", &live_blocks);

  m.def("count_calls", &count_calls);
  m.def("call_counts", &call_counts);
  m.def("reset_call_counts", &reset_call_counts);
  m.def("refuse_operator", &refuse_operator);
  m.def("refuse_dtype", &refuse_dtype);
  m.def("accept_everything", &accept_everything);

  // For compiled graphs: run CPU code on aliases of device tensors, with its allocations on the device.
  py::class_<PythonKernelScope>(m, "KernelScope")
      .def(py::init<int>())
      .def("__enter__", &PythonKernelScope::enter)
      .def("__exit__", [](PythonKernelScope& self, const py::args&) { self.exit(); });
  m.def("borrow_as_cpu", &borrow_as_cpu);
  m.def("borrow_as_device", [](const at::Tensor& t, int index) { return borrow_as_device(t, c10::DeviceIndex(index)); });
}
