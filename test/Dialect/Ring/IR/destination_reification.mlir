// RUN: ring-opt %s --canonicalize | FileCheck %s

// Sizes of results are those of the destinations.

// CHECK-LABEL: @online_attention
// CHECK-SAME:    %[[ACC:[^:]*]]: tensor<1x8x?x64xf32>
func.func @online_attention(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %kv: tensor<1x8x?x64xf32>, %s: !ring.slices) -> index {
  %c2 = arith.constant 2 : index
  %r:3 = ring.online_attention %kv, %kv, %kv slices(%s) scale(1.0) outs(%acc, %row, %row)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  // CHECK: %[[DIM:.*]] = tensor.dim %[[ACC]],
  // CHECK: return %[[DIM]]
  %dim = tensor.dim %r#0, %c2 : tensor<1x8x?x64xf32>
  return %dim : index
}

// CHECK-LABEL: @finalize
// CHECK-SAME:    %[[LSE:[^:]*]]: tensor<1x8x?xf32>
func.func @finalize(%lse: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xf16>) -> index {
  %c2 = arith.constant 2 : index
  %r:2 = ring.finalize %acc, %row, %row outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf16>, tensor<1x8x?xf32>) -> (tensor<1x8x?x64xf16>, tensor<1x8x?xf32>)
  // CHECK: %[[DIM:.*]] = tensor.dim %[[LSE]],
  // CHECK: return %[[DIM]]
  %dim = tensor.dim %r#1, %c2 : tensor<1x8x?xf32>
  return %dim : index
}

func.func private @rank()

// CHECK-LABEL: @call
// CHECK-SAME:    %[[OUT:[^:]*]]: tensor<1x8x?x64xf32>, %[[LSE:[^:]*]]: tensor<1x8x?xf32>
func.func @call(%out: tensor<1x8x?x64xf32>, %lse: tensor<1x8x?xf32>, %q: tensor<1x8x?x64xf32>) -> (index, index) {
  %c2 = arith.constant 2 : index
  %r:2 = ring.call @rank (%q) outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>) -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>)
  // CHECK-DAG: %[[ROWS:.*]] = tensor.dim %[[OUT]],
  // CHECK-DAG: %[[LSE_ROWS:.*]] = tensor.dim %[[LSE]],
  // CHECK: return %[[ROWS]], %[[LSE_ROWS]]
  %rows = tensor.dim %r#0, %c2 : tensor<1x8x?x64xf32>
  %lse_rows = tensor.dim %r#1, %c2 : tensor<1x8x?xf32>
  return %rows, %lse_rows : index, index
}
