// Copies between host and device, between devices, and of single values to Python.
#include "accounting.h"
#include "call_bridge.h"
#include "kernel_scope.h"
#include "pinned_memory.h"
#include "stream.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/resize_native.h>
#include <torch/library.h>

namespace neuron {

static bool pinned(const at::Tensor& tensor) {
  return PinnedMemory::instance().contains(tensor.storage().data());
}

// What the host may assume afterwards is what it may assume on a GPU: pageable sources have been read, and the host
// sees the result, except when it asked not to wait and its side of the copy is pinned.
static void copy_on_stream(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  const auto index = (target.is_cpu() ? source : target).device().index();
  const auto stream = current_stream(index);
  auto bridges = std::make_shared<std::pair<CallBridge, CallBridge>>();
  const bool staged = source.is_cpu() && !(non_blocking && pinned(source));
  auto from = staged ? source.clone() : bridges->first.to_cpu(source);
  auto to = bridges->second.to_cpu(target);
  enqueue(stream, [bridges, from, to, index] {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    KernelScope scope(index);
    at::Tensor destination = to;
    at::native::copy_(destination, from, false);
  });
  if (target.is_cpu() && !(non_blocking && pinned(target))) synchronize(stream);
}

static at::Tensor copy_between(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  account("aten::_copy_from");
  check_dtype(source.scalar_type());
  if (C10_UNLIKELY(asynchronous())) {
    copy_on_stream(source, target, non_blocking);
    return target;
  }
  CallBridge from, to;  // one bridge each: the two sides may be different devices
  auto source_cpu = from.to_cpu(source), target_cpu = to.to_cpu(target);
  KernelScope scope(to.device >= 0 ? to.device : from.device);
  at::native::copy_(target_cpu, source_cpu, false);
  return target;
}
static at::Tensor copy_and_resize(const at::Tensor& source, const at::Tensor& target) {
  at::native::resize_(target, source.sizes(), std::nullopt);
  return copy_between(source, target, false);
}
static at::Scalar item(const at::Tensor& tensor) {
  account("aten::_local_scalar_dense");
  synchronize(current_stream(tensor.device().index()));
  DeviceMemoryAccess access;
  return at::native::_local_scalar_dense_cpu(CallBridge().to_cpu(tensor));
}
static void record_stream(at::Tensor&, c10::Stream) {}  // work keeps its storages alive

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", TORCH_FN(copy_between));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(item));
  m.impl("record_stream", TORCH_FN(record_stream));
}
// copy_() reaches _copy_from with lazy conj/neg bits still set; the default handling would clone, that is copy_()
// again, without end. The CPU copy_ inside copy_between resolves the bits itself.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

}  // namespace neuron
