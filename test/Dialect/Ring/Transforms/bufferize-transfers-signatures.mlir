// RUN: ring-opt %s --split-input-file --verify-diagnostics --ring-bufferize-transfers | FileCheck %s

// Each use of what arrived reads a tensor of its own.
// CHECK-LABEL: func.func private @two_uses(
// CHECK:         %[[B:.*]] = ring.permute_wait %{{.*}} : !ring.future<memref<4xf32, strided<[?], offset: ?>>>
// CHECK-DAG:     %[[T0:.*]] = bufferization.to_tensor %[[B]] restrict : memref<4xf32, {{.*}}> to tensor<4xf32>
// CHECK-DAG:     %[[T1:.*]] = bufferization.to_tensor %[[B]] restrict : memref<4xf32, {{.*}}> to tensor<4xf32>
// CHECK-DAG:     tensor.cast %[[T0]] : tensor<4xf32> to tensor<?xf32>
// CHECK-DAG:     tensor.cast %[[T1]] : tensor<4xf32> to tensor<?xf32>
shard.grid @ring(shape = 2)
func.func private @two_uses(%k: tensor<4xf32>) -> (tensor<?xf32>, tensor<?xf32>) attributes {ring.rank_of = @f} {
  %f = ring.permute_start %k on @ring axis 0 : tensor<4xf32>
  %k1 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  %a = tensor.cast %k1 : tensor<4xf32> to tensor<?xf32>
  %b = tensor.cast %k1 : tensor<4xf32> to tensor<?xf32>
  return %a, %b : tensor<?xf32>, tensor<?xf32>
}

// -----

shard.grid @ring(shape = 2)
// expected-error @+1 {{takes or returns '!ring.future<tensor<4xf32>>', expected transfers that end where they start}}
func.func private @takes_a_future(%f: !ring.future<tensor<4xf32>>) attributes {ring.rank_of = @f} {
  %k1 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  return
}

// -----

// What else yields has other operands than results.
// CHECK-LABEL: func.func private @while_loop(
// CHECK:         scf.while
shard.grid @ring(shape = 2)
func.func private @while_loop(%k: tensor<4xf32>, %c: i1) -> index attributes {ring.rank_of = @f} {
  %zero = arith.constant 0 : index
  %f = ring.permute_start %k on @ring axis 0 : tensor<4xf32>
  %k1 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  %r = scf.while (%i = %zero, %t = %k1) : (index, tensor<4xf32>) -> index {
    scf.condition(%c) %i : index
  } do {
  ^bb0(%i: index):
    scf.yield %i, %k1 : index, tensor<4xf32>
  }
  return %r : index
}
