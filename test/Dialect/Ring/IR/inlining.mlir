// RUN: ring-opt %s --inline | FileCheck %s

// A rank function runs once per rank; its body in the host function would run
// once.

shard.grid @ring(shape = 4)

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<16xf32>, %t: tensor<4x5xi64>) -> tensor<16xf32> {
  %local = ring.scatter %q by %t dim 0 on @ring axis 0 : tensor<16xf32>, tensor<4x5xi64> -> tensor<?xf32>
  // CHECK: call @attention_rank
  %result = call @attention_rank(%local) : (tensor<?xf32>) -> tensor<?xf32>
  %whole = ring.gather %result by %t dim 0 on @ring axis 0 : tensor<?xf32>, tensor<4x5xi64> -> tensor<16xf32>
  return %whole : tensor<16xf32>
}

// CHECK: func.func private @attention_rank
func.func private @attention_rank(%local: tensor<?xf32>) -> tensor<?xf32> attributes {ring.rank_of = @attention} {
  %f = ring.permute_start %local on @ring axis 0 : tensor<?xf32>
  %r = ring.permute_wait %f : !ring.future<tensor<?xf32>>
  return %r : tensor<?xf32>
}
