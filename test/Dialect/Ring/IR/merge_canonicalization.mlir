// RUN: ring-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @filled_identity_is_other
// CHECK-SAME:    %[[ACC:[^:]*]]: tensor<1x8x?x64xf32>, %[[MAX:[^:]*]]: tensor<1x8x?xf32>, %[[SUM:[^:]*]]: tensor<1x8x?xf32>
func.func @filled_identity_is_other(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %n: index)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %wide = tensor.empty(%n) : tensor<1x8x?x64xf32>
  %rows = tensor.empty(%n) : tensor<1x8x?xf32>
  %acc0 = linalg.fill ins(%zero : f32) outs(%wide : tensor<1x8x?x64xf32>) -> tensor<1x8x?x64xf32>
  %max0 = linalg.fill ins(%low : f32) outs(%rows : tensor<1x8x?xf32>) -> tensor<1x8x?xf32>
  %sum0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<1x8x?xf32>) -> tensor<1x8x?xf32>
  // CHECK-NOT: ring.merge
  %r:3 = ring.merge ins(%acc0, %max0, %sum0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  // CHECK: return %[[ACC]], %[[MAX]], %[[SUM]]
  return %r#0, %r#1, %r#2 : tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>
}

// CHECK-LABEL: @constant_identity_is_destination
// CHECK-SAME:    %[[ACC:[^:]*]]: tensor<1x8x4x64xf32>, %[[MAX:[^:]*]]: tensor<1x8x4xf32>, %[[SUM:[^:]*]]: tensor<1x8x4xf32>
func.func @constant_identity_is_destination(%acc: tensor<1x8x4x64xf32>, %max: tensor<1x8x4xf32>, %sum: tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) {
  %acc0 = arith.constant dense<0.0> : tensor<1x8x4x64xf32>
  %max0 = arith.constant dense<0xFF800000> : tensor<1x8x4xf32>
  %sum0 = arith.constant dense<0.0> : tensor<1x8x4xf32>
  // CHECK-NOT: ring.merge
  %r:3 = ring.merge ins(%acc, %max, %sum) outs(%acc0, %max0, %sum0)
    : (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
  // CHECK: return %[[ACC]], %[[MAX]], %[[SUM]]
  return %r#0, %r#1, %r#2 : tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>
}

// A row whose scores are -1e30, or even +inf, is a normal row.
// CHECK-LABEL: @other_numbers_are_no_identity
func.func @other_numbers_are_no_identity(%acc: tensor<1x8x4x64xf32>, %max: tensor<1x8x4xf32>, %sum: tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) {
  %acc0 = arith.constant dense<0.0> : tensor<1x8x4x64xf32>
  %low = arith.constant dense<-1.0e30> : tensor<1x8x4xf32>
  %high = arith.constant dense<0x7F800000> : tensor<1x8x4xf32>
  %sum0 = arith.constant dense<0.0> : tensor<1x8x4xf32>
  // CHECK-COUNT-2: ring.merge
  %r:3 = ring.merge ins(%acc0, %low, %sum0) outs(%acc, %max, %sum)
    : (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
  %s:3 = ring.merge ins(%acc0, %high, %sum0) outs(%acc, %max, %sum)
    : (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
  return %r#0, %s#0 : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>
}

// The state's type would change.
// CHECK-LABEL: @identity_of_other_type_stays
func.func @identity_of_other_type_stays(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>)
    -> tensor<1x8x4x64xf32> {
  %acc0 = arith.constant dense<0.0> : tensor<1x8x4x64xf32>
  %max0 = arith.constant dense<0xFF800000> : tensor<1x8x4xf32>
  %sum0 = arith.constant dense<0.0> : tensor<1x8x4xf32>
  // CHECK: ring.merge
  %r:3 = ring.merge ins(%acc, %max, %sum) outs(%acc0, %max0, %sum0)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
  return %r#0 : tensor<1x8x4x64xf32>
}
