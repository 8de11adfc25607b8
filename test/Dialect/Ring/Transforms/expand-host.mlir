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
// What every rank is given, and sizes of run time
//===----------------------------------------------------------------------===//

// The bias has a stack; ids, lengths, sinks and what the score region captures
// go to every rank as they are.
// RUN: ring-opt %t/clauses.mlir --ring-shard-attention=ranks=2 --ring-expand-host | %{check} CLAUSES
// CLAUSES-LABEL: func.func @clauses(
// CLAUSES-SAME:    %[[X:[^:]*]]: tensor<2x4x8x4xf32>, %[[B:[^:]*]]: tensor<1x4x8x8xf32>, %[[IDS:[^:]*]]: tensor<2x8xi32>, %[[N:[^:]*]]: tensor<2xi32>, %[[S:[^:]*]]: tensor<4xf32>, %[[G:[^:]*]]: f32)
// CLAUSES-DAG:     %[[T:.*]] = arith.constant dense<{{.*}}> : tensor<2x5xi64>
// CLAUSES:         %[[BE:.*]] = tensor.empty(%{{.*}}) : tensor<?x1x4x4x8xf32>
// CLAUSES:         %[[BS:.*]] = ring.host.scatter %[[B]] by %[[T]] dim 2 outs(%[[BE]])
// CLAUSES:         ring.host.run @clauses_rank ranks 2 (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[BS]]) replicated(%[[IDS]], %[[IDS]], %[[N]], %[[S]], %[[G]]) outs(%{{[^,]*}}) :

// Tables of run time: they say what stacks are padded to, and are replicated.
// Sizes are those of the whole tensors; a gather gives what it is said to.
// RUN: ring-opt %t/dynamic.mlir --ring-shard-attention=ranks=4 --cse --ring-expand-host -o %t.dynamic
// RUN: %{check} DYNAMIC < %t.dynamic
// RUN: ring-opt --ring-expand-host %t.dynamic | diff %t.dynamic -
// DYNAMIC-LABEL: func.func @dynamic(
// DYNAMIC-SAME:    %[[Q:[^:]*]]: tensor<?x4x?x8xf32>, %[[K:[^:]*]]: tensor<?x2x?x8xf32>, %[[V:[^:]*]]: tensor<?x2x?x6xf32>)
// DYNAMIC-DAG:     %[[B:.*]] = tensor.dim %[[Q]], %c0
// DYNAMIC-DAG:     %[[SQ:.*]] = tensor.dim %[[Q]], %c2
// DYNAMIC:         %[[T:.*]]:2 = ring.tables <contiguous> ranks 4
// DYNAMIC:         %[[R:.*]] = ring.host.ranks
// DYNAMIC:         %[[PQ:.*]] = ring.padded_size %[[T]]#0 ranks 4 : tensor<?x5xi64>
// DYNAMIC:         %[[QB:.*]] = tensor.dim %[[Q]], %c0
// DYNAMIC:         %[[QE:.*]] = tensor.empty(%[[R]], %[[QB]], %[[PQ]]) : tensor<?x?x4x?x8xf32>
// DYNAMIC:         %[[QS:.*]] = ring.host.scatter %[[Q]] by %[[T]]#0 dim 2 outs(%[[QE]])
// DYNAMIC:         %[[PK:.*]] = ring.padded_size %[[T]]#1 ranks 4
// DYNAMIC:         %[[KB:.*]] = tensor.dim %[[K]], %c0
// DYNAMIC:         %[[KE:.*]] = tensor.empty(%[[R]], %[[KB]], %[[PK]]) : tensor<?x?x2x?x8xf32>
// DYNAMIC:         %[[KS:.*]] = ring.host.scatter %[[K]] by %[[T]]#1 dim 2 outs(%[[KE]])
// DYNAMIC:         %[[VS:.*]] = ring.host.scatter %[[V]] by %[[T]]#1 dim 2 outs(%{{.*}})
// DYNAMIC:         %[[OB:.*]] = tensor.dim %[[Q]], %c0
// DYNAMIC:         %[[OP:.*]] = ring.padded_size %[[T]]#0 ranks 4
// DYNAMIC:         %[[OE:.*]] = tensor.empty(%[[R]], %[[OB]], %[[OP]]) : tensor<?x?x4x?x6xf32>
// DYNAMIC:         %[[LB:.*]] = tensor.dim %[[Q]], %c0
// DYNAMIC:         %[[LP:.*]] = ring.padded_size %[[T]]#0 ranks 4
// DYNAMIC:         %[[LE:.*]] = tensor.empty(%[[R]], %[[LB]], %[[LP]]) : tensor<?x?x4x?xf32>
// DYNAMIC:         %[[S:.*]]:2 = ring.host.run @dynamic_rank ranks 4 (%[[QS]], %[[KS]], %[[VS]]) replicated(%[[T]]#0, %[[T]]#1) outs(%[[OE]], %[[LE]])
// DYNAMIC:         %[[OW:.*]] = tensor.empty(%[[B]], %[[SQ]]) : tensor<?x4x?x6xf32>
// DYNAMIC:         ring.host.gather %[[S]]#0 by %[[T]]#0 dim 2 outs(%[[OW]])
// DYNAMIC:         %[[LW:.*]] = tensor.empty(%[[B]], %[[SQ]]) : tensor<?x4x?xf32>
// DYNAMIC:         ring.host.gather %[[S]]#1 by %[[T]]#0 dim 2 outs(%[[LW]])

// A dynamic batch with constant tables.
// RUN: ring-opt %t/batch.mlir --ring-shard-attention=ranks=4 --ring-expand-host | FileCheck %s --check-prefix=BATCH --implicit-check-not=ring.padded_size
// BATCH-LABEL: func.func @batch(
// BATCH-SAME:    %[[X:[^:]*]]: tensor<?x4x10x8xf32>)
// BATCH:         %[[R:.*]] = ring.host.ranks
// BATCH:         %[[B:.*]] = tensor.dim %[[X]], %{{c0.*}} :
// BATCH:         tensor.empty(%[[R]], %[[B]]) : tensor<?x?x4x3x8xf32>

//===----------------------------------------------------------------------===//
// What cannot be expanded
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/wrong.mlir --ring-expand-host --split-input-file --verify-diagnostics -o /dev/null

//--- cross.mlir
func.func @cross(%q: tensor<2x4x10x8xf16>, %k: tensor<2x2x7x8xf16>, %v: tensor<2x2x7x5xf16>) -> (tensor<2x4x10x5xf16>, tensor<2x4x10xf32>) {
  %o, %lse = ring.attention %q, %k, %v : (tensor<2x4x10x8xf16>, tensor<2x2x7x8xf16>, tensor<2x2x7x5xf16>) -> (tensor<2x4x10x5xf16>, tensor<2x4x10xf32>)
  return %o, %lse : tensor<2x4x10x5xf16>, tensor<2x4x10xf32>
}

//--- clauses.mlir
!x = tensor<2x4x8x4xf32>
func.func @clauses(%x: !x, %b: tensor<1x4x8x8xf32>, %ids: tensor<2x8xi32>, %n: tensor<2xi32>, %s: tensor<4xf32>, %g: f32) -> !x {
  %o = ring.attention %x, %x, %x bias(%b) segments(%ids, %ids) lengths(%n) sinks(%s) score {
  ^bb0(%y: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %z = arith.mulf %y, %g : f32
    ring.yield %z : f32
  } : (!x, !x, !x, tensor<1x4x8x8xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2xi32>, tensor<4xf32>) -> !x
  return %o : !x
}

//--- dynamic.mlir
func.func @dynamic(%q: tensor<?x4x?x8xf32>, %k: tensor<?x2x?x8xf32>, %v: tensor<?x2x?x6xf32>) -> (tensor<?x4x?x6xf32>, tensor<?x4x?xf32>) {
  %o, %lse = ring.attention %q, %k, %v : (tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x6xf32>) -> (tensor<?x4x?x6xf32>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x6xf32>, tensor<?x4x?xf32>
}

//--- batch.mlir
func.func @batch(%x: tensor<?x4x10x8xf32>) -> tensor<?x4x10x8xf32> {
  %o = ring.attention %x, %x, %x : (tensor<?x4x10x8xf32>, tensor<?x4x10x8xf32>, tensor<?x4x10x8xf32>) -> tensor<?x4x10x8xf32>
  return %o : tensor<?x4x10x8xf32>
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
  // expected-error @below {{operand 0 of a rank function comes from no ring.scatter}}
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

// Local tensors come first: the rank function's arguments do.
!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @order(%x: !w, %n: tensor<1xi32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{operand 4 of a rank function is a local tensor after replicated ones}}
  %1 = call @r(%0, %0, %0, %n, %0) : (!b, !b, !b, tensor<1xi32>, !b) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @r(%q: !b, %k: !b, %v: !b, %n: tensor<1xi32>, %b: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) : !t, !t
  return %q : !b
}
