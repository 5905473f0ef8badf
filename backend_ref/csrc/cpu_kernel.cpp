#include "cpu_kernel.h"

#include "accounting.h"
#include "generator.h"
#include "kernel_scope.h"
#include "stream.h"

#include <ATen/core/op_registration/adaption.h>
#include <torch/library.h>

#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace neuron {

using c10::IValue;

static CallFacts read_schema(const c10::OperatorHandle& op) {
  CallFacts facts;
  const auto& schema = op.schema();
  facts.arguments = schema.arguments().size();
  facts.results = schema.returns().size();
  facts.writes_arguments = schema.is_mutable();
  for (size_t i = 0; i < schema.arguments().size(); i++)
    if (schema.arguments()[i].type()->str().find("Generator") != std::string::npos) facts.generator_argument = int(i);
  static const std::unordered_set<std::string> mixed{"aten::index", "aten::index_put", "aten::index_put_",
                                                     "aten::_index_put_impl_", "aten::_to_copy", "aten::copy_"};
  facts.takes_cpu_operands = mixed.count(schema.name()) > 0;
  facts.random_without_generator = facts.generator_argument < 0 && op.hasTag(at::Tag::nondeterministic_seeded);
  facts.output_depends_on_data =
      op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
  for (const auto& result : schema.returns())
    if (result.alias_info() && !result.alias_info()->isWrite()) facts.returns_views = true;
  return facts;
}

void translate_arguments(CallBridge& bridge, const c10::OperatorHandle& op, const CallFacts& facts, Stack* stack) {
  const size_t first = stack->size() - facts.arguments;
  size_t cpu_argument = 0;
  for (size_t i = first; i < stack->size(); i++) {
    IValue& value = (*stack)[i];
    if (value.isTensor()) {
      const bool seen = bridge.cpu_operand.defined();
      value = bridge.to_cpu(std::move(value).toTensor());
      if (!seen && bridge.cpu_operand.defined()) cpu_argument = i - first;
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      list.reserve(value.toListRef().size());
      for (const IValue& tensor : value.toListRef()) list.push_back(bridge.to_cpu(tensor.toTensor()));
      value = std::move(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
        list.push_back(tensor ? std::optional<at::Tensor>(bridge.to_cpu(*tensor)) : std::nullopt);
      value = std::move(list);
    } else if (value.isDevice() && value.toDevice().type() == kNeuron) {
      if (bridge.device < 0) bridge.device = or_current(value.toDevice().index());
      value = c10::Device(c10::kCPU);
    } else if (value.isGenerator()) {
      const auto generator = value.toGenerator();
      TORCH_CHECK(generator.device().type() == kNeuron, "Expected a '", device_name(),
                  "' device type for generator but found '", generator.device().type(), "'");
      value = cpu_generator_for(generator);
    }
  }
  // Aliases would make mixed devices work silently; fail with PyTorch's own error instead.
  if (bridge.cpu_operand.defined() && !facts.takes_cpu_operands && bridge.device >= 0)
    c10::impl::common_device_check_failure(device(bridge.device), bridge.cpu_operand, op.schema().name().c_str(),
                                           op.schema().arguments()[cpu_argument].name().c_str());
  if (bridge.device < 0) bridge.device = current_device();
  // Without a generator the CPU kernel would use up the CPU's default stream of numbers.
  if (facts.generator_argument >= 0 && (*stack)[first + facts.generator_argument].isNone())
    (*stack)[first + facts.generator_argument] =
        cpu_generator_for(default_generator(c10::DeviceIndex(bridge.device)));
}

void run_cpu_kernel(const c10::OperatorHandle& op, const CallFacts& facts, Stack* stack) {
  if (C10_UNLIKELY(accounting)) account(op);
  if (C10_UNLIKELY(asynchronous()) && !facts.returns_views) {
    if (defer_cpu_kernel(op, facts, stack)) return;
    synchronize(current_stream(-1));
  }
  CallBridge bridge;
  translate_arguments(bridge, op, facts, stack);
  {
    KernelScope scope(bridge.device);
    std::optional<BorrowedCpuGenerator> borrowed;
    if (C10_UNLIKELY(facts.random_without_generator))
      borrowed.emplace(default_generator(c10::DeviceIndex(bridge.device)));
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  if (facts.writes_arguments) bridge.write_back();
  for (size_t i = stack->size() - facts.results; i < stack->size(); i++) {
    IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = bridge.to_device(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      auto list = value.toTensorList();
      for (size_t j = 0; j < list.size(); j++) list.set(j, bridge.to_device(list.extract(j)));
    }
  }
}

// The kernel of one operator.
struct CpuKernel final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    std::call_once(read_, [&] { facts_ = read_schema(op); });  // not before: there are more than a thousand
    run_cpu_kernel(op, facts_, stack);
  }

 private:
  std::once_flag read_;
  CallFacts facts_;
};

// The kernel of all operators that nobody claimed, such as a library's own.
struct FallbackKernel final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    kernel_of(op)(op, keys, stack);
  }

 private:
  CpuKernel& kernel_of(const c10::OperatorHandle& op) {
    std::lock_guard<std::mutex> lock(mutex_);
    return kernels_[&op.schema()];
  }
  std::mutex mutex_;
  std::unordered_map<const void*, CpuKernel> kernels_;
};

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunctor(std::make_unique<FallbackKernel>()));
}

// The fallback alone is not enough: operators that also have a composite kernel would take it on this device and give
// results that differ from the CPU in the last bits. So claim every operator that has a CPU kernel, and all
// _foreach_* ones.
int claim_cpu_operators() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  // Memory placement is not computation, and a nested tensor's constructor must stay composite to be refused.
  static const std::unordered_set<std::string> left_alone{"aten::_pin_memory", "aten::is_pinned",
                                                          "aten::_nested_tensor_from_mask"};
  using c10::DispatchKey;
  auto& dispatcher = c10::Dispatcher::singleton();
  int claimed = 0;
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0 || left_alone.count(name.name)) continue;
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasSchema() || op->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) continue;
    const bool foreach = name.name.rfind("aten::_foreach_", 0) == 0 &&
                         op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd);
    if (!foreach && !op->hasKernelForDispatchKey(DispatchKey::CPU)) continue;
    // With a composite that autograd sees through, a kernel of our own is right only if it has a derivative formula.
    if (op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
        !op->hasKernelForDispatchKey(DispatchKey::Autograd))
      continue;
    const auto overload = name.overload_name.empty() ? "" : "." + name.overload_name;
    library->impl((name.name.substr(6) + overload).c_str(),
                  torch::CppFunction::makeFromBoxedFunctor(std::make_unique<CpuKernel>()));
    claimed++;
  }
  return claimed;
}

}  // namespace neuron
