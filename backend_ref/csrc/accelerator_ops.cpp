// Operators for which PyTorch asks more of an accelerator than of the CPU: convolution and attention under names that
// the CPU does not have, and histograms of integers.
#include "accounting.h"
#include "call_bridge.h"
#include "kernel_scope.h"
#include "stream.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/histc.h>
#include <torch/library.h>

namespace neuron {

using SymInts = c10::SymIntArrayRef;

static at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                              SymInts stride, SymInts padding, SymInts dilation, bool transposed,
                              SymInts output_padding, c10::SymInt groups) {
  account("aten::convolution_overrideable");
  synchronize(current_stream(input.device().index()));
  CallBridge bridge;
  auto input_cpu = bridge.to_cpu(input), weight_cpu = bridge.to_cpu(weight);
  std::optional<at::Tensor> bias_cpu;
  if (bias && bias->defined()) bias_cpu = bridge.to_cpu(*bias);
  KernelScope scope(bridge.device);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return bridge.to_device(at::convolution_symint(input_cpu, weight_cpu, bias_cpu, stride, padding, dilation, transposed,
                                                 output_padding, groups));
}
static std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight, SymInts stride, SymInts padding,
    SymInts dilation, bool transposed, SymInts output_padding, c10::SymInt groups, std::array<bool, 3> wanted) {
  account("aten::convolution_backward_overrideable");
  synchronize(current_stream(input.device().index()));
  CallBridge bridge;
  auto grad_cpu = bridge.to_cpu(grad), input_cpu = bridge.to_cpu(input), weight_cpu = bridge.to_cpu(weight);
  KernelScope scope(bridge.device);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::vector<c10::SymInt> bias_size{transposed ? weight_cpu.sym_size(1) * groups : weight_cpu.sym_size(0)};
  auto [d_input, d_weight, d_bias] =
      at::convolution_backward_symint(grad_cpu, input_cpu, weight_cpu, SymInts(bias_size), stride, padding, dilation,
                                      transposed, output_padding, groups, wanted);
  return {bridge.to_device(std::move(d_input)), bridge.to_device(std::move(d_weight)),
          bridge.to_device(std::move(d_bias))};
}

// Programs count integers this way on accelerators (mixture-of-experts layers do); the CPU's kernel refuses them.
static at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& low, const at::Scalar& high) {
  account("aten::histc");
  synchronize(current_stream(self.device().index()));
  CallBridge bridge;
  auto self_cpu = bridge.to_cpu(self);
  KernelScope scope(bridge.device);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (!at::isIntegralType(self.scalar_type(), /*includeBool=*/false))
    return bridge.to_device(at::histc(self_cpu, bins, low, high));
  return bridge.to_device(at::histc(self_cpu.to(at::kDouble), bins, low, high).to(self.scalar_type()));
}

// Decides from shapes alone, because fake tensors ask too.
static int64_t choose_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                const std::optional<at::Tensor>& mask, double dropout, bool causal,
                                std::optional<double> scale, bool grouped) {
  return at::native::_fused_sdp_choice_cpp(query, key, value, mask, dropout, causal, scale, grouped);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", TORCH_FN(convolution));
  m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
  m.impl("histc", TORCH_FN(histc));
  m.impl("_fused_sdp_choice", TORCH_FN(choose_attention));
}

}  // namespace neuron

// Without the stub scaled_dot_product_attention silently takes the slow math path.
namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &neuron::choose_attention)
}
