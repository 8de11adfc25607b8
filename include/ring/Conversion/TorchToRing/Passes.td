//===- Passes.td - Torch to ring ---------------------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_TORCHTORING_PASSES_TD
#define RING_CONVERSION_TORCHTORING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTorchToRingPass : Pass<"convert-torch-to-ring", "::mlir::ModuleOp"> {
  let summary = "lower attention of the torch dialect, ONNX, and their types";
  let description = [{
    The torch dialect is not linked: its ops are matched by name, in generic
    form, and its types by their text. In a function that has any,
    `!torch.vtensor<[1,4,64,32],f32>` becomes `tensor<1x4x64x32xf32>`, at the
    function's boundary as well, and

    | op | becomes |
    |---|---|
    | `torch.aten.scaled_dot_product_attention` | `ring.attention`; a row that sees nothing gives 0. `attn_mask` is a bias, one of booleans is 0 or -inf. Dropout has to be 0. Fewer heads of keys than of queries are grouped ones |
    | `_softmax`, `add`, `all.dim`, `bmm`, `clone`, `div`, `eq.Scalar`, `expand`, `full_like`, `matmul`, `mul`, `permute`, `reshape`, `view`, `where.self` of `torch.aten`; `Add`, `Constant`, `Div`, `MatMul`, `Mul`, `Reshape`, `Softmax`, `Transpose` of ONNX | linalg, which `ring-raise-attention` recognises |
    | `torch.hop_flex_attention` | `ring.attention` of f32 with what the functions that it names compute in its `score` region; a row that sees nothing gives 0. They may use `abs`, `add`, `bitwise_and`, `bitwise_not`, `bitwise_or`, `bitwise_xor`, `clone`, `div`, `exp`, `floor_divide`, `full`, `log`, `logical_and`, `logical_not`, `logical_or`, `maximum`, `minimum`, `mul`, `neg`, `scalar_tensor`, `sub`, `tanh`, `where.self`, comparisons and conversions |
    | `torch.operator "onnx.Attention"` of rank 4 | `ring.attention`; a row that sees nothing gives NaN. `softcap` is supported without a mask, `is_causal` for as many queries as keys |

    Ops whose results nothing uses are dropped, unless they write in place.
    Anything else of the dialect is an error at the op.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::ring::RingDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // RING_CONVERSION_TORCHTORING_PASSES_TD
