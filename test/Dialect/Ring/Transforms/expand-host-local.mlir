// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --check-prefix

// The host runs a local function on stacks of the ranks' tensors; in it the
// attentions get memory for their results. Queries and results have 10
// positions, 3 for the longest of 4 ranks, keys 7, 2 for the longest.
// RUN: ring-opt %t/local.mlir --ring-expand-host --allow-unregistered-dialect -o %t.once
// RUN: FileCheck %s --check-prefix=LOCAL --implicit-check-not="= ring.scatter" --implicit-check-not="= ring.gather" < %t.once
// LOCAL-LABEL: func.func @f(
// LOCAL-SAME:    %[[X:[^:]*]]: tensor<2x10x8xf16>, %[[Y:[^:]*]]: tensor<2x2x7x8xf16>, %[[W:[^:]*]]: tensor<8xf16>)
// LOCAL-DAG:     %[[XT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 2, 1], [1, 2, 3, 3, 1], [2, 5, 2, 2, 1], [3, 7, 3, 3, 1]]>
// LOCAL-DAG:     %[[YT:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 1, 1], [1, 1, 2, 2, 1], [2, 3, 2, 2, 1], [3, 5, 2, 2, 1]]>
// LOCAL:         %[[R:.*]] = ring.host.ranks
// LOCAL:         %[[XE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x3x8xf16>
// LOCAL:         %[[XS:.*]] = ring.host.scatter %[[X]] by %[[XT]] dim 1 outs(%[[XE]])
// LOCAL:         %[[YE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x2x2x8xf16>
// LOCAL:         %[[YS:.*]] = ring.host.scatter %[[Y]] by %[[YT]] dim 2 outs(%[[YE]])
// Results are as their gathers say: each along a dimension of its own.
// LOCAL:         %[[AE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x3x4xf32>
// LOCAL:         %[[BE:.*]] = tensor.empty(%[[R]]) : tensor<?x3x8xf16>
// LOCAL:         %[[S:.*]]:2 = ring.host.run @local ranks 4 (%[[XS]], %[[YS]]) replicated(%[[W]]) outs(%[[AE]], %[[BE]])
// LOCAL:         %[[AW:.*]] = tensor.empty() : tensor<2x10x4xf32>
// LOCAL:         %[[A:.*]] = ring.host.gather %[[S]]#0 by %[[XT]] dim 1 outs(%[[AW]])
// LOCAL:         %[[BW:.*]] = tensor.empty() : tensor<10x8xf16>
// LOCAL:         %[[B:.*]] = ring.host.gather %[[S]]#1 by %[[XT]] dim 0 outs(%[[BW]])
// LOCAL:         return %[[A]], %[[B]]

// But for the columns a result looks like the query.
// LOCAL-LABEL: func.func private @local(
// LOCAL-SAME:    %[[X:[^:]*]]: tensor<2x?x8xf16>, %[[Y:[^:]*]]: tensor<2x2x?x8xf16>, %{{.*}}: tensor<8xf16>)
// LOCAL:         %[[Q:.*]] = "test.queries"(%[[X]])
// LOCAL:         %[[ROWS:.*]] = tensor.dim %[[Q]], %{{.*}} : tensor<2x4x?x8xf16>
// LOCAL:         %[[OE:.*]] = tensor.empty(%[[ROWS]]) : tensor<2x4x?x5xf16>
// LOCAL:         %[[ROWS:.*]] = tensor.dim %[[Q]], %{{.*}} : tensor<2x4x?x8xf16>
// LOCAL:         %[[LE:.*]] = tensor.empty(%[[ROWS]]) : tensor<2x4x?xf32>
// LOCAL:         %[[O:.*]]:2 = ring.call @attention (%[[Q]], %[[Y]], %[[Y]]) outs(%[[OE]], %[[LE]])
// LOCAL:         "test.results"(%[[O]]#0, %[[O]]#1)

// There is nothing left to expand.
// RUN: ring-opt --ring-expand-host %t.once --allow-unregistered-dialect | diff %t.once -

// RUN: ring-opt %t/wrong.mlir --ring-expand-host --split-input-file --verify-diagnostics -o /dev/null

//--- local.mlir
!t = tensor<4x5xi64>
shard.grid @ring(shape = 4)
func.func @f(%x: tensor<2x10x8xf16>, %y: tensor<2x2x7x8xf16>, %w: tensor<8xf16>) -> (tensor<2x10x4xf32>, tensor<10x8xf16>) {
  %xt = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 3, 3, 1], [2, 5, 2, 2, 1], [3, 7, 3, 3, 1]]> : !t
  %yt = arith.constant dense<[[0, 0, 1, 1, 1], [1, 1, 2, 2, 1], [2, 3, 2, 2, 1], [3, 5, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %xt dim 1 on @ring axis 0 : tensor<2x10x8xf16>, !t -> tensor<2x?x8xf16>
  %1 = ring.scatter %y by %yt dim 2 on @ring axis 0 : tensor<2x2x7x8xf16>, !t -> tensor<2x2x?x8xf16>
  %2:2 = call @local(%0, %1, %w) : (tensor<2x?x8xf16>, tensor<2x2x?x8xf16>, tensor<8xf16>) -> (tensor<2x?x4xf32>, tensor<?x8xf16>)
  %3 = ring.gather %2#0 by %xt dim 1 on @ring axis 0 : tensor<2x?x4xf32>, !t -> tensor<2x10x4xf32>
  %4 = ring.gather %2#1 by %xt dim 0 on @ring axis 0 : tensor<?x8xf16>, !t -> tensor<10x8xf16>
  return %3, %4 : tensor<2x10x4xf32>, tensor<10x8xf16>
}
func.func private @local(%x: tensor<2x?x8xf16>, %y: tensor<2x2x?x8xf16>, %w: tensor<8xf16>) -> (tensor<2x?x4xf32>, tensor<?x8xf16>) attributes {ring.local, ring.rank_of = @f} {
  %q = "test.queries"(%x) : (tensor<2x?x8xf16>) -> tensor<2x4x?x8xf16>
  %o:2 = call @attention(%q, %y, %y) : (tensor<2x4x?x8xf16>, tensor<2x2x?x8xf16>, tensor<2x2x?x8xf16>) -> (tensor<2x4x?x5xf16>, tensor<2x4x?xf32>)
  %r:2 = "test.results"(%o#0, %o#1) : (tensor<2x4x?x5xf16>, tensor<2x4x?xf32>) -> (tensor<2x?x4xf32>, tensor<?x8xf16>)
  return %r#0, %r#1 : tensor<2x?x4xf32>, tensor<?x8xf16>
}
func.func private @attention(%q: tensor<2x4x?x8xf16>, %k: tensor<2x2x?x8xf16>, %v: tensor<2x2x?x8xf16>) -> (tensor<2x4x?x5xf16>, tensor<2x4x?xf32>) attributes {ring.rank_of = @f} {
  %r:2 = "test.attention"(%q, %k, %v) : (tensor<2x4x?x8xf16>, tensor<2x2x?x8xf16>, tensor<2x2x?x8xf16>) -> (tensor<2x4x?x5xf16>, tensor<2x4x?xf32>)
  return %r#0, %r#1 : tensor<2x4x?x5xf16>, tensor<2x4x?xf32>
}

//--- wrong.mlir
!b = tensor<?x4xf32>
!w = tensor<4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @no_scatter(%x: !b) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  // expected-error @below {{no operand of a rank function comes from a ring.scatter}}
  %0 = call @local(%x) : (!b) -> !b
  %1 = ring.gather %0 by %t dim 0 on @ring axis 0 : !b, !t -> !w
  return %1 : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @no_scatter} {
  return %x : !b
}

// -----

!b = tensor<?x4xf32>
!w = tensor<4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @no_gather(%x: !w) {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 0 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{a result of a local rank function has no ring.gather}}
  %1 = call @local(%0) : (!b) -> !b
  return
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @no_gather} {
  return %x : !b
}

// -----

!b = tensor<?x4xf32>
!w = tensor<4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @ungathered(%x: !w) -> !b {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 0 on @ring axis 0 : !w, !t -> !b
  %1 = call @local(%0) : (!b) -> !b
  // expected-error @below {{uses a local tensor outside ring.gather}}
  return %1 : !b
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @ungathered} {
  return %x : !b
}

// -----

!b = tensor<?x4xf32>
!w = tensor<4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @order(%x: !w, %n: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 0 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{operand 1 of a rank function is a local tensor after replicated ones}}
  %1 = call @local(%n, %0) : (!w, !b) -> !b
  %2 = ring.gather %1 by %t dim 0 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @local(%n: !w, %x: !b) -> !b attributes {ring.local, ring.rank_of = @order} {
  return %x : !b
}

// -----

!b = tensor<?x4xf32>
!w = tensor<4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @stride(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 1, 2], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %u dim 0 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{entry 0 of a layout table has stride 1, expected its block 2 or more}}
  %1 = call @local(%0) : (!b) -> !b
  %2 = ring.gather %1 by %t dim 0 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @stride} {
  return %x : !b
}
