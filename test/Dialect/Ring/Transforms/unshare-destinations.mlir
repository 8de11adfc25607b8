// RUN: ring-opt --ring-unshare-destinations %s | FileCheck %s
// RUN: ring-opt --ring-unshare-destinations %s -o %t.once
// RUN: ring-opt --ring-unshare-destinations %t.once | diff %t.once -

// Each op has memory of its own, next to it; a fill is copied with what it
// fills.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant
// CHECK-NEXT:    %[[E0:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %[[A:.*]] = linalg.exp ins(%[[X]] {{.*}} outs(%[[E0]]
// CHECK-NEXT:    %[[E1:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %[[F1:.*]] = linalg.fill ins(%[[ZERO]] {{.*}} outs(%[[E1]]
// CHECK-NEXT:    %[[B:.*]] = linalg.add ins(%[[A]], %[[X]] {{.*}} outs(%[[F1]]
// CHECK-NEXT:    %[[E2:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %[[F2:.*]] = linalg.fill ins(%[[ZERO]] {{.*}} outs(%[[E2]]
// CHECK-NEXT:    %[[C:.*]] = linalg.add ins(%[[B]], %[[A]] {{.*}} outs(%[[F2]]
// CHECK-NEXT:    return %[[C]]
func.func @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.add ins(%a, %x : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %c = linalg.add ins(%b, %a : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

// A fill of a tensor that holds something is no memory to write to.
// CHECK-LABEL: func.func @filled(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK:         %[[F:.*]] = linalg.fill {{.*}} outs(%[[X]]
// CHECK-NOT:     linalg.fill
// CHECK:         return %[[F]], %[[F]]
func.func @filled(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %f, %f : tensor<4xf32>, tensor<4xf32>
}
