#include "call_bridge.h"

#include "accounting.h"
#include "allocator.h"

#include <ATen/EmptyTensor.h>

namespace neuron {

constexpr size_t kFew = 12;  // up to here a linear search beats a hash table

c10::intrusive_ptr<c10::StorageImpl> make_storage(size_t bytes, c10::DataPtr data, c10::Allocator* allocator,
                                                  bool resizable) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes, std::move(data), allocator,
                                               resizable);
}
at::Tensor twin(const at::Tensor& like, c10::Storage storage, c10::DispatchKey key) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like.dtype());
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

template <class Pairs, class Match>
auto* CallBridge::find(Pairs& pairs, const void* key, Match matches) {
  if (pairs.size() > kFew) {
    const auto hit = positions_.find(key);
    return hit == positions_.end() ? nullptr : &pairs[hit->second];
  }
  for (auto& pair : pairs)
    if (matches(pair)) return &pair;
  return static_cast<typename Pairs::value_type*>(nullptr);
}
template <class Pairs, class Keys>
void CallBridge::remember(const Pairs& pairs, Keys keys) {
  if (pairs.size() < kFew) return;
  for (size_t i = pairs.size() == kFew ? 0 : pairs.size() - 1; i < pairs.size(); i++)
    for (const void* key : keys(pairs[i])) positions_.emplace(key, i);
}
using Keys = std::array<const void*, 2>;
void CallBridge::add(TensorPair pair) {
  tensors_.push_back(std::move(pair));
  remember(tensors_, [](auto& p) { return Keys{p.device.unsafeGetTensorImpl(), p.cpu.unsafeGetTensorImpl()}; });
}
void CallBridge::add(StoragePair pair) {
  storages_.push_back(std::move(pair));
  remember(storages_, [](auto& p) { return Keys{p.device, p.cpu.get()}; });
}

at::Tensor CallBridge::to_cpu(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (!tensor.is_privateuseone()) {
    if (tensor.dim() > 0 && tensor.is_cpu() && !cpu_operand.defined()) cpu_operand = tensor;
    return tensor;
  }
  check_dense(tensor);
  auto* impl = tensor.unsafeGetTensorImpl();
  if (auto* known = find(tensors_, impl, [&](auto& pair) { return pair.device.unsafeGetTensorImpl() == impl; }))
    return known->cpu;
  if (device < 0) device = tensor.device().index();
  TORCH_CHECK(device == tensor.device().index(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              neuron::device(device), " and ", tensor.device(), "!");
  auto alias = twin(tensor, c10::Storage(alias_of(tensor.storage())), c10::DispatchKey::CPU);
  add(TensorPair{tensor, alias});
  return alias;
}

c10::intrusive_ptr<c10::StorageImpl> CallBridge::alias_of(const c10::Storage& storage) {
  auto* impl = storage.unsafeGetStorageImpl();
  if (auto* known = find(storages_, impl, [&](auto& pair) { return pair.device == impl; })) return known->cpu;
  void* data = const_cast<void*>(impl->data());
  auto alias = make_storage(impl->nbytes(), c10::DataPtr(data, c10::Device(c10::kCPU)), c10::GetAllocator(c10::kCPU),
                            impl->resizable());
  add(StoragePair{impl, alias, data, storage});
  return alias;
}

void CallBridge::end_of_arguments() {
  argument_storages_ = storages_.size();
  argument_tensors_ = tensors_.size();
}

// Blocks allocated inside a KernelScope already are device memory and only change their label; foreign blocks
// (static data, memory of another thread of the kernel) are copied.
static c10::DataPtr take_data(c10::StorageImpl& cpu, c10::DeviceIndex index) {
  if (cpu.data() == nullptr || cpu.data_ptr().get_deleter() == &DeviceMemory::release) {
    auto taken = cpu.set_data_ptr(c10::DataPtr(cpu.data_ptr().get(), c10::Device(c10::kCPU)));
    taken.unsafe_set_device(device(index));
    return taken;
  }
  auto& memory = DeviceMemory::instance();
  auto copied = memory.allocate_on(index, cpu.nbytes(), device(index));
  if (cpu.nbytes()) memory.copy_data(copied.get(), cpu.data(), cpu.nbytes());
  return copied;
}

at::Tensor CallBridge::to_device(const at::Tensor& result) {
  if (!result.defined() || !result.is_cpu()) return result;
  check_dense(result);
  check_dtype(result.scalar_type());
  auto* result_impl = result.unsafeGetTensorImpl();
  if (auto* known = find(tensors_, result_impl, [&](auto& p) { return p.cpu.unsafeGetTensorImpl() == result_impl; }))
    return known->device;
  auto* cpu = result.storage().unsafeGetStorageImpl();
  if (auto* known = find(storages_, cpu, [&](auto& pair) { return pair.cpu.get() == cpu; }))
    return twin(result, known->keep_alive, c10::DispatchKey::PrivateUse1);
  c10::Storage storage(make_storage(cpu->nbytes(), take_data(*cpu, c10::DeviceIndex(device)),
                                    &DeviceMemory::instance(), /*resizable=*/true));
  add(StoragePair{storage.unsafeGetStorageImpl(),
                  c10::intrusive_ptr<c10::StorageImpl>::unsafe_reclaim_from_nonowning(cpu), cpu->data(), storage});
  return twin(result, storage, c10::DispatchKey::PrivateUse1);
}

void CallBridge::write_back() {
  for (size_t i = 0; i < argument_storages_; i++) {
    auto& pair = storages_[i];
    if (pair.cpu->data() != pair.data)
      pair.device->set_data_ptr_noswap(take_data(*pair.cpu, pair.device->device().index()));
    if (pair.cpu->nbytes() != pair.device->nbytes()) pair.device->set_nbytes(pair.cpu->nbytes());
  }
  for (size_t i = 0; i < argument_tensors_; i++) {
    auto& [on_device, on_cpu] = tensors_[i];
    if (on_cpu.sizes() != on_device.sizes() || on_cpu.strides() != on_device.strides() ||
        on_cpu.storage_offset() != on_device.storage_offset())
      on_device.unsafeGetTensorImpl()->set_sizes_and_strides(on_cpu.sizes(), on_cpu.strides(),
                                                             on_cpu.storage_offset());
  }
}

static at::Tensor borrow(const at::Tensor& tensor, c10::Device label, c10::DispatchKey key) {
  auto* owner = new c10::Storage(tensor.storage());
  c10::DataPtr data(tensor.storage().mutable_data(), owner, [](void* p) { delete static_cast<c10::Storage*>(p); },
                    label);
  return twin(tensor, c10::Storage(make_storage(tensor.storage().nbytes(), std::move(data), nullptr, false)), key);
}
at::Tensor borrow_as_cpu(const at::Tensor& device_tensor) {
  check_dense(device_tensor);
  return borrow(device_tensor, c10::Device(c10::kCPU), c10::DispatchKey::CPU);
}
at::Tensor borrow_as_device(const at::Tensor& cpu_tensor, c10::DeviceIndex index) {
  check_dense(cpu_tensor);
  return borrow(cpu_tensor, device(index), c10::DispatchKey::PrivateUse1);
}

}  // namespace neuron
