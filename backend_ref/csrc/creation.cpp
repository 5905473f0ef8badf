// Operators that create, view or resize storage: they touch no data, so there is no CPU kernel to run.
#include "accounting.h"
#include "allocator.h"
#include "call_bridge.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace neuron {

using Size = at::IntArrayRef;
using Type = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using MaybeDevice = std::optional<c10::Device>;
using Format = std::optional<at::MemoryFormat>;
constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

static at::ScalarType checked(Type type, Layout layout, std::optional<bool> pin) {
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
  TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kStrided) == at::kStrided, device_name(),
                              " has only dense strided tensors, not layout ", *layout);
  const auto dtype = c10::dtype_or_default(type);
  TORCH_CHECK_NOT_IMPLEMENTED(!c10::isQIntType(dtype), device_name(), " has no quantized tensors");
  check_dtype(dtype);
  return dtype;
}
static at::Tensor empty(Size size, Type type, Layout layout, MaybeDevice where, std::optional<bool> pin, Format format) {
  account("aten::empty.memory_format");
  c10::DeviceGuard guard(where.value_or(device(current_device())));
  return at::detail::empty_generic(size, &DeviceMemory::instance(), kKeys, checked(type, layout, pin), format);
}
static at::Tensor empty_strided(Size size, Size stride, Type type, Layout layout, MaybeDevice where,
                                std::optional<bool> pin) {
  account("aten::empty_strided");
  c10::DeviceGuard guard(where.value_or(device(current_device())));
  return at::detail::empty_strided_generic(size, stride, &DeviceMemory::instance(), kKeys, checked(type, layout, pin));
}
// A ZeroTensor has no data, and copy_() would read it.
static at::Tensor real_zeros(Size size, Type type, Layout layout, MaybeDevice where, std::optional<bool> pin) {
  return empty(size, type, layout, where, pin, std::nullopt).zero_();
}

static at::Tensor as_strided(const at::Tensor& self, Size size, Size stride, std::optional<int64_t> offset) {
  account("aten::as_strided");
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}
static at::Tensor view(const at::Tensor& self, Size size) {
  account("aten::view");
  return at::native::view(self, size);
}
static at::Tensor reshape_alias(const at::Tensor& self, Size size, Size stride) {
  account("aten::_reshape_alias");
  return at::native::_reshape_alias(self, size, stride);
}

static const at::Tensor& resize(const at::Tensor& self, Size size, Format format) {
  account("aten::resize_");
  return at::native::resize_(self, size, format);
}
static at::Tensor& set_storage(at::Tensor& self, at::Storage source) { return at::native::set_(self, source); }
static at::Tensor& set_storage_view(at::Tensor& self, at::Storage source, int64_t offset, Size size, Size stride) {
  return at::cpu::set_(self, source, offset, size, stride);
}
static at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  return at::native::set_tensor_(self, source);
}
static at::Tensor& set_empty(at::Tensor& self) {
  c10::Storage storage(make_storage(0, c10::DataPtr(nullptr, self.device()), &DeviceMemory::instance(), true));
  return self.set_(storage, 0, {0}, {});
}

// Module.to() swaps .data under the same Parameter only if this says yes. Without it tied weights come apart, and
// optimizers built before .to() keep updating the CPU copies.
static bool can_swap_data(const at::Tensor& self, const at::Tensor& other) {
  auto plain = [](const at::Tensor& tensor) {
    return tensor.layout() == c10::kStrided && (tensor.is_privateuseone() || tensor.is_cpu()) &&
           !tensor.unsafeGetTensorImpl()->is_python_dispatch();
  };
  return plain(self) && plain(other);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("_efficientzerotensor", TORCH_FN(real_zeros));
  m.impl("as_strided", TORCH_FN(as_strided));
  m.impl("view", TORCH_FN(view));
  m.impl("_reshape_alias", TORCH_FN(reshape_alias));
  m.impl("resize_", TORCH_FN(resize));
  m.impl("set_.source_Storage", TORCH_FN(set_storage));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_view));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  m.impl("set_", TORCH_FN(set_empty));
  m.impl("_has_compatible_shallow_copy_type", TORCH_FN(can_swap_data));
}

}  // namespace neuron
