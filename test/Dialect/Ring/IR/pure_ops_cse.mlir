// RUN: ring-opt %s --cse | FileCheck %s

shard.grid @ring(shape = 4)

func.func private @use(index, index)

// CHECK-LABEL: @owner
func.func @owner(%round: index) {
  // CHECK: %[[OWNER:.*]] = ring.owner
  %a = ring.owner %round on @ring axis 0
  // CHECK-NEXT: call @use(%[[OWNER]], %[[OWNER]])
  %b = ring.owner %round on @ring axis 0
  call @use(%a, %b) : (index, index) -> ()
  return
}

// CHECK-LABEL: @local_ranks
func.func @local_ranks() {
  // CHECK: %[[RANKS:.*]] = ring.host.ranks
  %a = ring.host.ranks
  // CHECK-NEXT: call @use(%[[RANKS]], %[[RANKS]])
  %b = ring.host.ranks
  call @use(%a, %b) : (index, index) -> ()
  return
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<1x8x4x64xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) {
  // CHECK: %[[A:.*]] = ring.attention {{.*}} scale(1.000000e+00)
  %a = ring.attention %q, %q, %q scale(1.0) : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  %b = ring.attention %q, %q, %q scale(1.0) : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  // CHECK: %[[C:.*]] = ring.attention {{.*}} scale(2.000000e+00)
  %c = ring.attention %q, %q, %q scale(2.0) : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  // CHECK: return %[[A]], %[[A]], %[[C]]
  return %a, %b, %c : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>
}

// CHECK-LABEL: @scatter_and_gather
func.func @scatter_and_gather(%q: tensor<16xf32>, %t: tensor<4x5xi64>) -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK: %[[S:.*]] = ring.scatter
  %a = ring.scatter %q by %t dim 0 on @ring axis 0 : tensor<16xf32>, tensor<4x5xi64> -> tensor<?xf32>
  %b = ring.scatter %q by %t dim 0 on @ring axis 0 : tensor<16xf32>, tensor<4x5xi64> -> tensor<?xf32>
  // CHECK-NEXT: %[[G:.*]] = ring.gather %[[S]]
  %c = ring.gather %a by %t dim 0 on @ring axis 0 : tensor<?xf32>, tensor<4x5xi64> -> tensor<16xf32>
  %d = ring.gather %b by %t dim 0 on @ring axis 0 : tensor<?xf32>, tensor<4x5xi64> -> tensor<16xf32>
  // CHECK-NEXT: return %[[G]], %[[G]]
  return %c, %d : tensor<16xf32>, tensor<16xf32>
}

// CHECK-LABEL: @slices_and_state
func.func @slices_and_state(%r: index, %t: tensor<4x5xi64>, %q: tensor<1x8x4x64xf32>, %row: tensor<1x8x4xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) {
  // CHECK-COUNT-1: ring.slices
  // CHECK-NOT:     ring.slices
  %s0 = ring.slices at(%r, %r in %t, %t) : tensor<4x5xi64>, tensor<4x5xi64>
  %s1 = ring.slices at(%r, %r in %t, %t) : tensor<4x5xi64>, tensor<4x5xi64>
  // CHECK: %[[A:.*]]:3 = ring.online_attention
  %a:3 = ring.online_attention %q, %q, %q slices(%s0) scale(1.0) outs(%q, %row, %row)
    : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, !ring.slices, tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
  %b:3 = ring.online_attention %q, %q, %q slices(%s1) scale(1.0) outs(%q, %row, %row)
    : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, !ring.slices, tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
    -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
  // CHECK: return %[[A]]#0, %[[A]]#0
  return %a#0, %b#0 : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>
}

// CHECK-LABEL: @tables
func.func @tables(%s: index, %t: tensor<8x5xi64>) -> (index, index) {
  // CHECK-COUNT-1: ring.tables
  // CHECK-NOT:     ring.tables
  %a:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%t, %t) : (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  %b:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%t, %t) : (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  // CHECK: %[[N:.*]] = ring.padded_size
  %m = ring.padded_size %a#0 ranks 4 : tensor<8x5xi64>
  %n = ring.padded_size %b#0 ranks 4 : tensor<8x5xi64>
  // CHECK-NEXT: return %[[N]], %[[N]]
  return %m, %n : index, index
}
