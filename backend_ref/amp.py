"""Automatic mixed precision: which operators autocast runs in which precision.

Vendors of such devices document CUDA's conventions, so these are CUDA's lists, without the operators of cuDNN
(whole recurrent layers stand in for them), without the `norm.*` overloads, which CUDA redispatches under
another signature, and without `binary_cross_entropy`, which CUDA autocast refuses instead of casting.
"""

import torch

from .core import C

__all__ = ["get_amp_supported_dtype", "is_bf16_supported"]

LOWER = """
    _convolution.deprecated _convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d.input
    conv_transpose3d.input convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm
    baddbmm bmm chain_matmul linalg_multi_dot scaled_dot_product_attention _scaled_dot_product_flash_attention
    _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input rnn_relu.data
"""
FP32 = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar
    pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim
    nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d
    hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss
    multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d upsample_nearest2d
    upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d
    _upsample_bicubic2d_aa
"""
# These have a dtype= argument: it is set, so that the sum is computed in float32 without a copy of the input.
FP32_RESULT = """
    prod prod.dim_int softmax.int log_softmax.int cumprod cumsum sum sum.dim_IntList linalg_vector_norm
    linalg_matrix_norm linalg_matrix_norm.str_ord
"""
# Mixed arguments are brought to the widest type among them.
PROMOTE = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack"

POLICIES = {
    "lower": LOWER.split(),
    "fp32": FP32.split(),
    "fp32_result": FP32_RESULT.split(),
    "promote": PROMOTE.split(),
}


def register() -> None:
    """Install the policies."""
    for policy, operators in POLICIES.items():
        for operator in operators:
            C.register_autocast(operator, policy)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that `torch.autocast` accepts for this device; without a dtype it takes float16, as on
    CUDA."""
    return [torch.bfloat16, torch.float16, torch.float32]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True: every kernel that computes in float32 here also computes in bfloat16."""
    return True
