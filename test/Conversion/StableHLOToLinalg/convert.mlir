// RUN: ring-opt %s --allow-unregistered-dialect --convert-stablehlo-to-linalg --split-input-file | FileCheck %s

// What the ops become; that the numbers are right is for
// Integration/stablehlo_ops.py.

// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @softmax_denominator(
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>
func.func @softmax_denominator(%x: tensor<2x8xf32>) -> tensor<2xf32> {
  // CHECK: %[[EXP:.*]] = linalg.generic {{{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[X]] : tensor<2x8xf32>)
  // CHECK: math.exp
  %e = "stablehlo.exponential"(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // The start is a scalar, so that matchers see it.
  // CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK: %[[FILL:.*]] = linalg.fill ins(%[[ZERO]] : f32)
  // CHECK: linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]]], iterator_types = ["parallel", "reduction"]}
  // CHECK-SAME: ins(%[[EXP]] : tensor<2x8xf32>) outs(%[[FILL]] : tensor<2xf32>)
  // CHECK: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
  // CHECK: arith.addf %[[OUT]], %[[IN]]
  %s = "stablehlo.reduce"(%e, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// Batch, rows of the left, columns of the right, what is summed over.
// CHECK-DAG: #[[LEFT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[RIGHT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func @scores
func.func @scores(%q: tensor<1x16x2x8xbf16>, %k: tensor<1x16x2x8xbf16>) -> tensor<1x2x16x16xbf16> {
  // CHECK: linalg.fill {{.*}} -> tensor<1x2x16x16xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[LEFT]], #[[RIGHT]], #[[OUT]]]
  // CHECK: arith.extf {{.*}} : bf16 to f32
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  %s = "stablehlo.dot_general"(%q, %k) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}>
    : (tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>) -> tensor<1x2x16x16xbf16>
  return %s : tensor<1x2x16x16xbf16>
}

// -----

// Attributes of older files, where they were no properties; those of other
// dialects are annotations.
// CHECK-LABEL: func @older
func.func @older(%x: tensor<2x8xf32>) -> tensor<8x2xf32> {
  // CHECK: linalg.transpose {{.*}} permutation = [1, 0]
  %t = "stablehlo.transpose"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>, mhlo.sharding = "{replicated}"} : (tensor<2x8xf32>) -> tensor<8x2xf32>
  return %t : tensor<8x2xf32>
}

// -----

// Weights stay in resources.
// CHECK-LABEL: func @weights
func.func @weights() -> tensor<2xf32> {
  // CHECK-NEXT: arith.constant dense_resource<w> : tensor<2xf32>
  // CHECK-NEXT: return
  %w = "stablehlo.constant"() <{value = dense_resource<w> : tensor<2xf32>}> : () -> tensor<2xf32>
  return %w : tensor<2xf32>
}
{-#
  dialect_resources: { builtin: { w: "0x040000000000803F00000040" } }
#-}
