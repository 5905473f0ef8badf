// Translates one operator call between devices: device arguments become CPU aliases of the same memory, CPU results
// become device tensors. Nothing is copied, and every call of every operator comes through here: what it costs is
// what the backend costs.
#pragma once
#include "device.h"

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>

namespace neuron {

class CallBridge {
 public:
  // The CPU alias of a device tensor; other tensors are returned as they are.
  at::Tensor to_cpu(at::Tensor tensor);
  // The device tensor for a CPU result: the argument itself for in-place results, a view for a shared storage, and
  // otherwise the result itself under a new label.
  at::Tensor to_device(at::Tensor result);
  // out= kernels may resize what they were given: carry new storage and geometry back to the device tensors.
  void write_back();

  int device = -1;  // index of the device of the arguments; -1: none seen yet
  at::Tensor cpu_operand;  // the first CPU tensor with dimensions among the arguments

 private:
  struct StoragePair {
    c10::StorageImpl* device;  // alive as long as the tensors below
    c10::intrusive_ptr<c10::StorageImpl> cpu;
  };
  struct TensorPair {
    at::Tensor device, cpu;
  };
  c10::intrusive_ptr<c10::StorageImpl> alias_of(c10::StorageImpl* storage);

  c10::SmallVector<StoragePair, 6> storages_;  // one alias per storage, so that overlap checks in kernels stay right
  c10::SmallVector<TensorPair, 6> tensors_;
  ska::flat_hash_map<const void*, size_t> positions_;  // in storages_; used only by calls with many (_foreach_*)
};

// A tensor over `storage`, on its device, with the geometry and lazy bits of `like`.
at::Tensor twin(const at::Tensor& like, c10::Storage storage);
c10::intrusive_ptr<c10::StorageImpl> make_storage(size_t bytes, c10::DataPtr data, c10::Allocator* allocator,
                                                  bool resizable);
// Aliases that own a reference to the storage they borrow, for code that runs outside of one operator call.
at::Tensor borrow_as_cpu(const at::Tensor& device_tensor);
at::Tensor borrow_as_device(const at::Tensor& cpu_tensor, c10::DeviceIndex index);

}  // namespace neuron
