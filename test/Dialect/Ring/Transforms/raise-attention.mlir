// Attention as PyTorch's scaled_dot_product_attention is exported to linalg:
// one op is left, with the operands of the function.

// DEFINE: %{raise} = ring-opt --ring-raise-attention --remarks-filter=ring-raise-attention

// RUN: %{raise} %S/Inputs/torch_sdpa_causal_f32.mlir 2>&1 | FileCheck %s --check-prefix=CAUSAL
// CAUSAL: remark: [Passed] RaiseAttention
// CAUSAL-SAME: Function=main
// CAUSAL-SAME: heads=4, kv_heads=4, mask=#ring.mask<causal>, scale=1.767767e-01
// CAUSAL: func.func @main(%[[Q:.*]]: tensor<1x4x64x32xf32>, %[[K:.*]]: tensor<1x4x64x32xf32>, %[[V:.*]]: tensor<1x4x64x32xf32>)
// CAUSAL-NEXT: %[[O:.*]] = ring.attention %[[Q]], %[[K]], %[[V]] mask(<causal>) scale(0.176776692)
// CAUSAL-SAME: : (tensor<1x4x64x32xf32>, tensor<1x4x64x32xf32>, tensor<1x4x64x32xf32>) -> tensor<1x4x64x32xf32>
// CAUSAL-NEXT: return %[[O]]

// RUN: %{raise} %S/Inputs/torch_sdpa_explicit_scale.mlir 2>&1 | FileCheck %s --check-prefix=SCALE
// SCALE: func.func @main(%[[Q:.*]]: tensor<1x3x33x64xf32>, %[[K:.*]]: tensor<1x3x33x64xf32>, %[[V:.*]]: tensor<1x3x33x64xf32>)
// SCALE-NEXT: %[[O:.*]] = ring.attention %[[Q]], %[[K]], %[[V]] mask(<causal>) scale(3.000000e-01) :
// SCALE-NEXT: return %[[O]]

// RUN: %{raise} %S/Inputs/torch_sdpa_dv_ne_dk.mlir 2>&1 | FileCheck %s --check-prefix=DV
// DV: func.func @main(%[[Q:.*]]: tensor<1x2x77x32xf32>, %[[K:.*]]: tensor<1x2x77x32xf32>, %[[V:.*]]: tensor<1x2x77x48xf32>)
// DV-NEXT: %[[O:.*]] = ring.attention %[[Q]], %[[K]], %[[V]] scale(0.176776692)
// DV-SAME: -> tensor<1x2x77x48xf32>
// DV-NEXT: return %[[O]]

// Heads are not repeated.
// RUN: %{raise} %S/Inputs/torch_sdpa_gqa_causal.mlir 2>&1 | FileCheck %s --check-prefix=GQA
// GQA: heads=8, kv_heads=2
// GQA: func.func @main(%[[Q:.*]]: tensor<1x8x64x32xf32>, %[[K:.*]]: tensor<1x2x64x32xf32>, %[[V:.*]]: tensor<1x2x64x32xf32>)
// GQA-NEXT: %[[O:.*]] = ring.attention %[[Q]], %[[K]], %[[V]] mask(<causal>) scale(0.176776692)
// GQA-NEXT: return %[[O]]

// A head that is not floor(h / group) is read through the repeated tensor.
// RUN: sed -e 's/^#map6 = .*/#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>/; s/1x2x4x64x32/1x4x2x64x32/g' \
// RUN:   %S/Inputs/torch_sdpa_gqa_causal.mlir | %{raise} 2>&1 | FileCheck %s --check-prefix=MAJOR
// MAJOR: heads=8, kv_heads=8
// MAJOR: ring.attention %arg0, %collapsed, %collapsed_0
// MAJOR-SAME: : (tensor<1x8x64x32xf32>, tensor<1x8x64x32xf32>, tensor<1x8x64x32xf32>)

// A factor that is not constant stays outside.
// RUN: sed -e 's/%%arg2: tensor<1x4x64x32xf32>)/%%arg2: tensor<1x4x64x32xf32>, %%scale: f32)/; s/mulf %%in, %%38/mulf %%in, %%scale/' \
// RUN:   %S/Inputs/torch_sdpa_causal_f32.mlir | %{raise} 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: %[[Q:.*]] = linalg.generic
// OUTSIDE: arith.mulf %{{.*}}, %arg3
// OUTSIDE: arith.mulf %{{.*}}, %arg3
// OUTSIDE: ring.attention %[[Q]], %{{.*}}, %arg2 mask(<causal>) scale(1.000000e+00)

// Without a factor.
// RUN: sed -e 's/linalg.yield %%39 : f32/linalg.yield %%in : f32/' \
// RUN:   %S/Inputs/torch_sdpa_causal_f32.mlir | %{raise} 2>&1 | FileCheck %s --check-prefix=NOSCALE
// NOSCALE: ring.attention %arg0, %arg1, %arg2 mask(<causal>) scale(1.000000e+00)

// A dead use of the scores' maximum is none.
// RUN: sed -e 's/^    return/    %%dead = tensor.collapse_shape %%22#1 [[0], [1, 2]] : tensor<1x4x64xi64> into tensor<1x256xi64>\n&/' \
// RUN:   %S/Inputs/torch_sdpa_causal_f32.mlir | %{raise} 2>&1 | FileCheck %s --check-prefix=DEAD
// DEAD: ring.attention %arg0, %arg1, %arg2

// Each function by itself, beside declarations and ops of unknown dialects.
// RUN: cat %S/Inputs/generic_attention.mlir > %t.mlir
// RUN: sed -n -e '/^func/,$p' %S/Inputs/generic_attention.mlir | sed -e 's/@generic/@second/; s/^  return/  "unknown.use"(%%o) : (!output) -> ()\n&/' >> %t.mlir
// RUN: echo 'func.func private @declared(tensor<4xf32>) "unknown.op"() : () -> ()' >> %t.mlir
// RUN: %{raise} --allow-unregistered-dialect %t.mlir 2>&1 | FileCheck %s --check-prefix=MANY
// MANY-DAG: remark: [Passed] RaiseAttention | Category:ring-raise-attention | Function=generic
// MANY-DAG: remark: [Passed] RaiseAttention | Category:ring-raise-attention | Function=second
// MANY: func.func @generic
// MANY: ring.attention
// MANY: func.func @second
// MANY: %[[O:.*]] = ring.attention
// MANY-NEXT: "unknown.use"(%[[O]])
// MANY: func.func private @declared
// MANY: "unknown.op"

// RUN: echo "module {}" | %{raise} 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: module {
// EMPTY-NEXT: }

// A module without attention has nothing to remark on.
// RUN: echo "func.func @f(%%a: tensor<4x4xf32>, %%b: tensor<4x4xf32>) -> tensor<4x4xf32> { %%0 = linalg.matmul ins(%%a, %%a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%%b : tensor<4x4xf32>) -> tensor<4x4xf32> return %%0 : tensor<4x4xf32> }" \
// RUN:   | %{raise} 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=remark
// NONE: linalg.matmul
