// RUN: ring-opt %s --canonicalize | FileCheck %s

shard.grid @ring(shape = 4x1)

// CHECK-LABEL: @one_rank_owns_every_block
func.func @one_rank_owns_every_block(%round: index) -> index {
  // CHECK: %[[OWNER:.*]] = arith.constant 0 : index
  // CHECK: return %[[OWNER]]
  %owner = ring.owner %round on @ring axis 1
  return %owner : index
}

// CHECK-LABEL: @many_ranks_take_turns
func.func @many_ranks_take_turns(%round: index) -> index {
  // CHECK: %[[OWNER:.*]] = ring.owner %{{.*}} on @ring axis 0
  // CHECK: return %[[OWNER]]
  %owner = ring.owner %round on @ring axis 0
  return %owner : index
}
