#include "call_bridge.h"

#include "accounting.h"
#include "allocator.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/TensorOptions.h>

namespace neuron {

constexpr size_t kFew = 12;  // up to here a linear search beats a hash table

c10::intrusive_ptr<c10::StorageImpl> make_storage(size_t bytes, c10::DataPtr data, c10::Allocator* allocator,
                                                  bool resizable) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes, std::move(data), allocator,
                                               resizable);
}
at::Tensor twin(const at::Tensor& like, c10::Storage storage) {
  const c10::DispatchKeySet key(c10::computeDispatchKey(std::nullopt, std::nullopt, storage.device()));
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), key, like.dtype());
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  if (like.is_conj()) impl->_set_conj(true);
  if (like.is_neg()) impl->_set_neg(true);
  return tensor;
}

static void check_dense(const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.is_quantized(),
                              device_name(), " has only dense strided tensors, not layout ", tensor.layout(),
                              tensor.is_quantized() ? " with a quantized dtype" : "");
}

at::Tensor CallBridge::to_cpu(at::Tensor tensor) {
  if (!tensor.defined()) return tensor;
  if (!tensor.is_privateuseone()) {
    if (tensor.dim() > 0 && tensor.is_cpu() && !cpu_operand.defined()) cpu_operand = tensor;
    return tensor;
  }
  check_dense(tensor);
  if (tensors_.size() <= kFew)  // a kernel may ask whether two arguments are the same; those of long lists do not
    for (auto& pair : tensors_)
      if (pair.device.is_same(tensor)) return pair.cpu;
  if (device < 0) device = tensor.device().index();
  TORCH_CHECK(device == tensor.device().index(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              neuron::device(device), " and ", tensor.device(), "!");
  auto alias = twin(tensor, c10::Storage(alias_of(tensor.storage().unsafeGetStorageImpl())));
  tensors_.push_back({std::move(tensor), alias});
  return alias;
}

c10::intrusive_ptr<c10::StorageImpl> CallBridge::alias_of(c10::StorageImpl* storage) {
  if (storages_.size() <= kFew) {
    for (auto& pair : storages_)
      if (pair.device == storage) return pair.cpu;
  } else if (const auto hit = positions_.find(storage); hit != positions_.end()) {
    return storages_[hit->second].cpu;
  }
  void* data = const_cast<void*>(storage->data());
  auto alias = make_storage(storage->nbytes(), c10::DataPtr(data, c10::Device(c10::kCPU)),
                            c10::GetAllocator(c10::kCPU), storage->resizable());
  storages_.push_back({storage, alias});
  if (storages_.size() > kFew)
    for (size_t i = positions_.size(); i < storages_.size(); i++) positions_.emplace(storages_[i].device, i);
  return alias;
}

// Whether the memory of a result was allocated inside a KernelScope, and so is device memory already; if not it is
// foreign: static data, or memory of another thread of the kernel.
static bool born_on_device(const c10::StorageImpl& cpu) {
  return cpu.data() == nullptr || cpu.data_ptr().get_deleter() == &DeviceMemory::release;
}
static c10::DataPtr take_data(c10::StorageImpl& cpu, c10::DeviceIndex index) {
  if (born_on_device(cpu)) {
    auto taken = cpu.set_data_ptr(c10::DataPtr(cpu.data_ptr().get(), c10::Device(c10::kCPU)));
    taken.unsafe_set_device(device(index));
    return taken;
  }
  auto& memory = DeviceMemory::instance();
  auto copied = memory.allocate_on(index, cpu.nbytes(), device(index));
  if (cpu.nbytes()) memory.copy_data(copied.get(), cpu.data(), cpu.nbytes());
  return copied;
}

at::Tensor CallBridge::to_device(at::Tensor result) {
  if (!result.defined() || !result.is_cpu()) return result;
  check_dense(result);
  check_dtype(result.scalar_type());
  auto* storage = result.storage().unsafeGetStorageImpl();
  if (result.storage().use_count() > 1) {  // otherwise it is no alias of an argument: the bridge would hold it too
    for (auto& pair : tensors_)
      if (pair.cpu.is_same(result)) return pair.device;
    for (auto& pair : storages_)
      if (pair.cpu.get() == storage)
        return twin(result, c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(pair.device)));
  }
  if (!born_on_device(*storage) || result.use_count() > 1)
    return twin(result, c10::Storage(make_storage(storage->nbytes(), take_data(*storage, c10::DeviceIndex(device)),
                                                  &DeviceMemory::instance(), /*resizable=*/true)));
  storage->_mutable_data_ptr_no_checks().unsafe_set_device(neuron::device(c10::DeviceIndex(device)));
  storage->set_allocator(&DeviceMemory::instance());
  result.unsafeGetTensorImpl()->set_storage_keep_dtype(result.storage());  // takes over the storage's new device
  result.unsafeGetTensorImpl()->_change_backend_component_keys(neuron::device(c10::DeviceIndex(device)));
  return result;
}

void CallBridge::write_back() {
  for (auto& [on_device, on_cpu] : storages_) {
    if (on_cpu->data() != on_device->data())
      on_device->set_data_ptr_noswap(take_data(*on_cpu, on_device->device().index()));
    if (on_cpu->nbytes() != on_device->nbytes()) on_device->set_nbytes(on_cpu->nbytes());
  }
  for (auto& [on_device, on_cpu] : tensors_)
    if (on_cpu.sizes() != on_device.sizes() || on_cpu.strides() != on_device.strides() ||
        on_cpu.storage_offset() != on_device.storage_offset())
      on_device.unsafeGetTensorImpl()->set_sizes_and_strides(on_cpu.sizes(), on_cpu.strides(),
                                                             on_cpu.storage_offset());
}

static at::Tensor borrow(const at::Tensor& tensor, c10::Device label) {
  auto* owner = new c10::Storage(tensor.storage());
  c10::DataPtr data(tensor.storage().mutable_data(), owner, [](void* p) { delete static_cast<c10::Storage*>(p); },
                    label);
  return twin(tensor, c10::Storage(make_storage(tensor.storage().nbytes(), std::move(data), nullptr, false)));
}
at::Tensor borrow_as_cpu(const at::Tensor& device_tensor) {
  check_dense(device_tensor);
  return borrow(device_tensor, c10::Device(c10::kCPU));
}
at::Tensor borrow_as_device(const at::Tensor& cpu_tensor, c10::DeviceIndex index) {
  check_dense(cpu_tensor);
  return borrow(cpu_tensor, device(index));
}

}  // namespace neuron
