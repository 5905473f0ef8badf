#include "autocast.h"

#include "cpu_kernel.h"

#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace neuron {

using c10::IValue;
using c10::OperatorHandle;

struct BelowAutocast {
  c10::impl::ExcludeDispatchKeyGuard guard{c10::DispatchKeySet(c10::DispatchKey::AutocastPrivateUse1)};
};
template <class Visit>
static void visit_tensors(const OperatorHandle& op, Stack* stack, Visit visit) {
  for (size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); i++) {
    IValue& value = (*stack)[i];
    if (value.isTensor() && value.toTensor().defined()) {
      value = visit(value.toTensor());
    } else if (value.isTensorList()) {
      auto list = value.toTensorVector();
      for (auto& tensor : list) tensor = visit(tensor);
      value = std::move(list);
    }
  }
}
static void call_cast_to(at::ScalarType type, const OperatorHandle& op, Stack* stack) {
  visit_tensors(op, stack, [type](const at::Tensor& t) { return at::autocast::cached_cast(type, t, kNeuron); });
  op.callBoxed(stack);
}

static void lower(const OperatorHandle& op, Stack* stack) {
  BelowAutocast below;
  call_cast_to(at::autocast::get_autocast_dtype(kNeuron), op, stack);
}
static void fp32(const OperatorHandle& op, Stack* stack) {
  BelowAutocast below;
  call_cast_to(at::kFloat, op, stack);
}
static void promote(const OperatorHandle& op, Stack* stack) {
  BelowAutocast below;
  auto widest = at::autocast::get_autocast_dtype(kNeuron);
  visit_tensors(op, stack, [&](const at::Tensor& t) {
    widest = at::autocast::prioritize(widest, t, kNeuron);
    return t;
  });
  call_cast_to(widest, op, stack);
}
// sum, softmax, ...: asks for a float32 result instead of casting the argument.
static void fp32_result(const OperatorHandle& op, Stack* stack) {
  BelowAutocast below;
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  const IValue& self = (*stack)[first];
  for (size_t i = 0; i < arguments.size(); i++)
    if (arguments[i].name() == "dtype" && (*stack)[first + i].isNone() && self.isTensor() &&
        at::autocast::is_eligible(self.toTensor(), kNeuron))
      (*stack)[first + i] = IValue(int64_t(at::kFloat));
  op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

void register_autocast(const std::string& op, const std::string& policy) {
  static auto* library =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastPrivateUse1, __FILE__, __LINE__);
  using torch::CppFunction;
  auto kernel = [&]() -> CppFunction {
    if (policy == "lower") return CppFunction::makeFromBoxedFunction<&lower>();
    if (policy == "fp32") return CppFunction::makeFromBoxedFunction<&fp32>();
    if (policy == "promote") return CppFunction::makeFromBoxedFunction<&promote>();
    TORCH_CHECK(policy == "fp32_result", "unknown autocast policy ", policy);
    return CppFunction::makeFromBoxedFunction<&fp32_result>();
  };
  library->impl(op.c_str(), kernel());
}

}  // namespace neuron
