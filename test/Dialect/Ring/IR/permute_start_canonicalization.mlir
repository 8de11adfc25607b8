// RUN: ring-opt %s --canonicalize | FileCheck %s

shard.grid @one(shape = 1)
shard.grid @ring(shape = 4)

// CHECK-LABEL: @start_of_one_rank_goes
func.func @start_of_one_rank_goes(%k: tensor<4xf32>) {
  // CHECK-NEXT: return
  %f = ring.permute_start %k on @one axis 0 : tensor<4xf32>
  return
}

// A missing wait is not hidden: ring-verify-schedule is to find it.
// CHECK-LABEL: @start_without_wait_stays
func.func @start_without_wait_stays(%k: tensor<4xf32>) {
  // CHECK: ring.permute_start
  %f = ring.permute_start %k on @ring axis 0 : tensor<4xf32>
  return
}
