// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --check-prefix

//===----------------------------------------------------------------------===//
// One stack for the local tensors of all ranks
//===----------------------------------------------------------------------===//

// The local sequence is padded to the longest rank's: 10 positions on 4 ranks
// are 3, 7 keys are 2.
// RUN: ring-opt %t/cross.mlir --ring-shard-attention=ranks=4 -o %t.form1
// RUN: ring-opt %t.form1 --ring-expand-host -o %t.once
// RUN: FileCheck %s --check-prefix=CROSS --implicit-check-not="= ring.scatter" --implicit-check-not="= ring.gather" < %t.once
// CROSS-LABEL: func.func @cross(
// CROSS-SAME:    %[[Q:[^:]*]]: tensor<2x4x10x8xf16>, %[[K:[^:]*]]: tensor<2x2x7x8xf16>, %[[V:[^:]*]]: tensor<2x2x7x5xf16>)
// CROSS:         %[[QT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 2, 1], [1, 2, 3, 3, 1], [2, 5, 2, 2, 1], [3, 7, 3, 3, 1]]>
// CROSS:         %[[KT:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 1, 1], [1, 1, 2, 2, 1], [2, 3, 2, 2, 1], [3, 5, 2, 2, 1]]>
// CROSS:         %[[R:.*]] = ring.host.ranks
// CROSS:         %[[QE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x4x3x8xf16>
// CROSS:         %[[QS:.*]] = ring.host.scatter %[[Q]] by %[[QT]] dim 2 outs(%[[QE]])
// CROSS:         %[[KE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x2x2x8xf16>
// CROSS:         %[[KS:.*]] = ring.host.scatter %[[K]] by %[[KT]] dim 2 outs(%[[KE]])
// CROSS:         %[[VE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x2x2x5xf16>
// CROSS:         %[[VS:.*]] = ring.host.scatter %[[V]] by %[[KT]] dim 2 outs(%[[VE]])
// CROSS:         %[[OE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x4x3x5xf16>
// CROSS:         %[[LE:.*]] = tensor.empty(%[[R]]) : tensor<?x2x4x3xf32>
// CROSS:         %[[S:.*]]:2 = ring.host.run @cross_rank ranks 4 (%[[QS]], %[[KS]], %[[VS]]) outs(%[[OE]], %[[LE]])
// CROSS:         %[[OW:.*]] = tensor.empty() : tensor<2x4x10x5xf16>
// CROSS:         %[[O:.*]] = ring.host.gather %[[S]]#0 by %[[QT]] dim 2 outs(%[[OW]])
// CROSS:         %[[LW:.*]] = tensor.empty() : tensor<2x4x10xf32>
// CROSS:         %[[L:.*]] = ring.host.gather %[[S]]#1 by %[[QT]] dim 2 outs(%[[LW]])
// CROSS:         return %[[O]], %[[L]]
// CROSS-LABEL: func.func private @cross_rank(

// The rank function is as before, and there is nothing left to expand.
// RUN: sed -n '/@cross_rank(%%arg/,$p' %t.form1 > %t.rank
// RUN: sed -n '/@cross_rank(%%arg/,$p' %t.once | diff %t.rank -
// RUN: ring-opt --ring-expand-host %t.once | diff %t.once -

// A result that nobody gathers still has memory to go to.
// RUN: grep -v 'gather %3#1' %t.form1 | sed -e 's/return %4, %5 : tensor<2x4x10x5xf16>, tensor<2x4x10xf32>/return %4 : tensor<2x4x10x5xf16>/; s/@cross(\(.*\)) -> (\(tensor<2x4x10x5xf16>\), tensor<2x4x10xf32>)/@cross(\1) -> (\2)/' | ring-opt --ring-expand-host | %{check} UNUSED
// UNUSED: tensor.empty(%{{.*}}) : tensor<?x2x4x3xf32>
// UNUSED: ring.host.run {{.*}} -> (tensor<?x2x4x3x5xf16>, tensor<?x2x4x3xf32>)
// UNUSED: ring.host.gather
// UNUSED-NOT: ring.host.gather

// One local tensor as three operands (what CSE makes of self-attention), and
// two calls of one rank function.
// RUN: ring-opt %t/twice.mlir --ring-expand-host | %{check} TWICE
// TWICE-COUNT-3: ring.host.scatter %arg0 by
// TWICE:         ring.host.run @r ranks 2
// TWICE:         ring.host.gather
// TWICE-COUNT-3: ring.host.scatter %arg0 by
// TWICE:         ring.host.run @r ranks 2
// TWICE:         ring.host.gather
// TWICE-NOT:     ring.scatter

//===----------------------------------------------------------------------===//
// What cannot be expanded
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/wrong.mlir --ring-expand-host --split-input-file --verify-diagnostics -o /dev/null

//--- cross.mlir
func.func @cross(%q: tensor<2x4x10x8xf16>, %k: tensor<2x2x7x8xf16>, %v: tensor<2x2x7x5xf16>) -> (tensor<2x4x10x5xf16>, tensor<2x4x10xf32>) {
  %o, %lse = ring.attention %q, %k, %v : (tensor<2x4x10x8xf16>, tensor<2x2x7x8xf16>, tensor<2x2x7x5xf16>) -> (tensor<2x4x10x5xf16>, tensor<2x4x10xf32>)
  return %o, %lse : tensor<2x4x10x5xf16>, tensor<2x4x10xf32>
}

//--- twice.mlir
!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @f(%x: !w) -> (!w, !w) {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  %3 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  %4 = ring.gather %3 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2, %4 : !w, !w
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) : !t, !t
  return %q : !b
}

//--- wrong.mlir
!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @unscattered(%x: !b) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  // expected-error @below {{an operand of a rank function comes from no ring.scatter}}
  %1 = call @r(%x, %x, %x) : (!b, !b, !b) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) : !t, !t
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @ungathered(%x: !w) -> !b {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  // expected-error @below {{uses a local tensor outside ring.gather}}
  return %1 : !b
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) : !t, !t
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @table(%x: !w, %t: !t) -> !w {
  // expected-error @below {{layout table is no constant}}
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) : !t, !t
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @stride(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 1, 2], [1, 2, 2, 2, 1]]> : !t
  // expected-error @below {{entry 0 of a layout table has stride 1, expected its block 2 or more}}
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) : !t, !t
  return %q : !b
}

// -----

// The second `?` would be taken for a sequence.
!b = tensor<?x1x?x4xf32>
!w = tensor<?x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @batch(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  // expected-error @below {{feature 'dynamic shapes' is not supported by ring-expand-host}}
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) : !t, !t
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @length(%x: !w) -> !b {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  // expected-error @below {{feature 'dynamic shapes' is not supported by ring-expand-host}}
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !b
  return %2 : !b
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) : !t, !t
  return %q : !b
}
