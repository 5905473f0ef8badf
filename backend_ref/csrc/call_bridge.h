// Translates one operator call between devices: device arguments become CPU aliases of the same memory, CPU results
// become device tensors. Nothing is copied.
#pragma once
#include "device.h"

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>

namespace neuron {

class CallBridge {
 public:
  // The CPU alias of a device tensor; other tensors are returned as they are.
  at::Tensor to_cpu(const at::Tensor& tensor);
  // The device tensor for a CPU result: the argument itself for in-place results, a view for a shared storage, and
  // otherwise the result's own memory under a new label.
  at::Tensor to_device(const at::Tensor& result);
  // All arguments have been translated: results come next.
  void end_of_arguments();
  // out= kernels may resize what they were given: carry new storage and geometry back to the device tensors.
  void write_back();

  int device = -1;  // index of the device of the arguments; -1: none seen yet
  at::Tensor cpu_operand;  // the first CPU tensor with dimensions among the arguments

 private:
  struct StoragePair {
    c10::StorageImpl* device;
    c10::intrusive_ptr<c10::StorageImpl> cpu;
    const void* data;
    c10::Storage keep_alive;
  };
  struct TensorPair {
    at::Tensor device, cpu;
  };
  c10::intrusive_ptr<c10::StorageImpl> alias_of(const c10::Storage& storage);
  template <class Pairs, class Match>
  auto* find(Pairs& pairs, const void* key, Match matches);
  template <class Pairs, class Keys>
  void remember(const Pairs& pairs, Keys keys);
  void add(TensorPair pair);
  void add(StoragePair pair);

  c10::SmallVector<StoragePair, 6> storages_;  // one alias per storage, so that overlap checks in kernels stay right
  c10::SmallVector<TensorPair, 6> tensors_;
  ska::flat_hash_map<const void*, size_t> positions_;  // of keys; used only by calls with many tensors (_foreach_*)
  size_t argument_storages_ = 0, argument_tensors_ = 0;
};

// A tensor over `storage` with the geometry and lazy bits of `like`.
at::Tensor twin(const at::Tensor& like, c10::Storage storage, c10::DispatchKey key);
c10::intrusive_ptr<c10::StorageImpl> make_storage(size_t bytes, c10::DataPtr data, c10::Allocator* allocator,
                                                  bool resizable);
// Aliases that own a reference to the storage they borrow, for code that runs outside of one operator call.
at::Tensor borrow_as_cpu(const at::Tensor& device_tensor);
at::Tensor borrow_as_device(const at::Tensor& cpu_tensor, c10::DeviceIndex index);

}  // namespace neuron
