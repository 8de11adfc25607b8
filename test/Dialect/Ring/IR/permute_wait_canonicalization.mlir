// RUN: ring-opt %s --canonicalize | FileCheck %s

shard.grid @grid(shape = 1x4)

// CHECK-LABEL: @one_rank_receives_what_it_sends
// CHECK-SAME:    %[[K:[^:]*]]: tensor<4xf32>, %[[V:[^:]*]]: tensor<4xf32>
func.func @one_rank_receives_what_it_sends(%k: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: return %[[V]], %[[K]]
  %f = ring.permute_start %k, %v on @grid axis 0 : tensor<4xf32>, tensor<4xf32>
  %k1, %v1 = ring.permute_wait %f : !ring.future<tensor<4xf32>, tensor<4xf32>>
  return %v1, %k1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @one_rank_and_memrefs
// CHECK-SAME:    %[[K:[^:]*]]: memref<4xf32>
func.func @one_rank_and_memrefs(%k: memref<4xf32>) -> memref<4xf32> {
  // CHECK-NEXT: return %[[K]]
  %f = ring.permute_start %k on @grid axis 0 : memref<4xf32>
  %k1 = ring.permute_wait %f : !ring.future<memref<4xf32>>
  return %k1 : memref<4xf32>
}

// CHECK-LABEL: @one_rank_forwards
// CHECK-SAME:    %[[K:[^:]*]]: tensor<4xf32>
func.func @one_rank_forwards(%k: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: return %[[K]], %[[K]]
  %f1 = ring.permute_start %k on @grid axis 0 : tensor<4xf32>
  %f2 = ring.permute_start %f1 on @grid axis 0 : !ring.future<tensor<4xf32>>
  %k1 = ring.permute_wait %f1 : !ring.future<tensor<4xf32>>
  %k2 = ring.permute_wait %f2 : !ring.future<tensor<4xf32>>
  return %k1, %k2 : tensor<4xf32>, tensor<4xf32>
}

// Each branch waits once.
// CHECK-LABEL: @one_rank_waits_in_branches
// CHECK-SAME:    %[[K:[^:]*]]: tensor<4xf32>
func.func @one_rank_waits_in_branches(%k: tensor<4xf32>, %flag: i1) -> tensor<4xf32> {
  // CHECK-NEXT: return %[[K]]
  %f = ring.permute_start %k on @grid axis 0 : tensor<4xf32>
  %r = scf.if %flag -> tensor<4xf32> {
    %k1 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
    scf.yield %k1 : tensor<4xf32>
  } else {
    %k1 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
    scf.yield %k1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @many_ranks_transfer
func.func @many_ranks_transfer(%k: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      %[[F:.*]] = ring.permute_start
  // CHECK-NEXT: %[[R:.*]] = ring.permute_wait %[[F]]
  // CHECK-NEXT: return %[[R]]
  %f = ring.permute_start %k on @grid axis 1 : tensor<4xf32>
  %k1 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  return %k1 : tensor<4xf32>
}
