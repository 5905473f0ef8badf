// Asynchronous mode: the host works out the shape of a result with PyTorch's meta kernels, allocates it, and leaves
// the computation to the worker thread of the current stream.
#include "allocator.h"
#include "cpu_kernel.h"
#include "generator.h"
#include "kernel_scope.h"
#include "stream.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <memory>

namespace neuron {

using c10::IValue;
constexpr c10::DispatchKeySet kCpuKeys(c10::DispatchKey::CPU), kMetaKeys(c10::DispatchKey::Meta);

static at::Tensor meta_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_privateuseone()) return tensor;
  auto storage = make_storage(tensor.storage().nbytes(), c10::DataPtr(nullptr, c10::Device(c10::kMeta)),
                              c10::GetAllocator(c10::kMeta), true);
  return twin(tensor, c10::Storage(std::move(storage)));
}
static IValue meta_of(const IValue& value) {
  if (value.isTensor()) return meta_of(value.toTensor());
  if (value.isDevice() && value.toDevice().type() == kNeuron) return c10::Device(c10::kMeta);
  if (value.isGenerator()) return IValue();
  if (value.isTensorList()) {
    auto list = value.toTensorVector();
    for (auto& tensor : list) tensor = meta_of(tensor);
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      list.push_back(tensor ? std::optional<at::Tensor>(meta_of(*tensor)) : std::nullopt);
    return list;
  }
  return value;
}
static bool same_geometry(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides();
}

// The results as device tensors without contents; false if they cannot be told before the kernel runs.
static bool allocate_results(const c10::OperatorHandle& op, const Stack& arguments, c10::DeviceIndex index,
                             std::vector<at::Tensor>& results) {
  Stack meta;
  for (const auto& value : arguments) meta.push_back(meta_of(value));
  const Stack meta_arguments = meta;
  try {
    op.redispatchBoxed(kMetaKeys, &meta);
  } catch (const std::exception&) {
    return false;  // no meta kernel, or wrong arguments: run at once, and raise what the kernel raises
  }
  for (size_t i = 0; i < arguments.size(); i++)  // an out= argument that would be resized
    if (arguments[i].isTensor() && arguments[i].toTensor().defined() &&
        !same_geometry(arguments[i].toTensor(), meta_arguments[i].toTensor()))
      return false;
  for (size_t i = 0; i < meta.size(); i++) {
    if (!meta[i].isTensor()) return false;
    const auto& wanted = meta[i].toTensor();
    at::Tensor result;
    for (size_t j = 0; j < arguments.size(); j++)
      if (meta_arguments[j].isTensor() && meta_arguments[j].toTensor().is_same(wanted)) result = arguments[j].toTensor();
    if (!result.defined() && wanted.defined()) {
      c10::Device target = device(index);
      result = at::detail::empty_strided_generic(wanted.sizes(), wanted.strides(), &DeviceMemory::instance(),
                                                 c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                 wanted.scalar_type());
      TORCH_INTERNAL_ASSERT(result.device() == target);
    }
    results.push_back(std::move(result));
  }
  return true;
}

struct Deferred {
  CallBridge arguments, outputs;
  Stack stack;
  std::vector<at::Tensor> fresh;  // CPU aliases of the new results, undefined where the result is an argument
};

bool defer_cpu_kernel(const c10::OperatorHandle& op, const CallFacts& facts, Stack* stack) {
  if (facts.output_depends_on_data || facts.random_without_generator) return false;
  if (facts.generator_argument >= 0 && shares_cpu_generator()) return false;
  const size_t count = op.schema().arguments().size();
  const Stack arguments(stack->end() - count, stack->end());
  auto work = std::make_shared<Deferred>();
  for (const auto& value : arguments) {  // the device must be known before results are allocated
    if (value.isTensor()) work->arguments.to_cpu(value.toTensor());
    if (value.isDevice() && value.toDevice().type() == kNeuron)
      work->arguments.device = or_current(value.toDevice().index());
    if (value.isTensorList()) return false;  // in-place _foreach_* return nothing to tell them by
  }
  if (work->arguments.device < 0 || work->arguments.device != current_device()) return false;
  std::vector<at::Tensor> results;
  if (!allocate_results(op, arguments, c10::DeviceIndex(work->arguments.device), results)) return false;
  work->stack = arguments;
  translate_arguments(work->arguments, op, facts, &work->stack);
  for (const auto& result : results) {
    bool is_argument = false;
    for (const auto& value : arguments) is_argument |= value.isTensor() && value.toTensor().is_same(result);
    work->fresh.push_back(is_argument ? at::Tensor() : work->outputs.to_cpu(result));
  }
  enqueue(current_stream(-1), [op, work] {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    KernelScope scope(work->arguments.device);
    op.redispatchBoxed(kCpuKeys, &work->stack);
    for (size_t i = 0; i < work->fresh.size(); i++)
      if (work->fresh[i].defined()) work->fresh[i].copy_(work->stack[i].toTensor());
  });
  torch::jit::drop(*stack, count);
  for (auto& result : results) stack->emplace_back(std::move(result));
  return true;
}

}  // namespace neuron
