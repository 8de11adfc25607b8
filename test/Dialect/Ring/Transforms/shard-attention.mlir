// RUN: split-file %s %t
// DEFINE: %{shard} = ring-opt --ring-shard-attention
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring.attention" --check-prefix

//===----------------------------------------------------------------------===//
// The two functions, on a grid of the pass's own
//===----------------------------------------------------------------------===//

// RUN: %{shard}=ranks=4 %t/attention.mlir | %{check} FORM1
// FORM1: shard.grid @ring(shape = 4)
// FORM1-LABEL: func.func @attention(
// FORM1-SAME:    %[[Q:.*]]: tensor<1x8x256x64xf32>, %[[K:.*]]: tensor<1x2x256x64xf32>, %[[V:.*]]: tensor<1x2x256x48xf32>)
// FORM1-SAME:    -> (tensor<1x8x256x48xf32>, tensor<1x8x256xf32>)
// FORM1-DAG:     %[[QT:.*]] = arith.constant dense<{{\[\[}}0, 0, 64, 64, 1], [1, 64, 64, 64, 1], [2, 128, 64, 64, 1], [3, 192, 64, 64, 1]]> : tensor<4x5xi64>
// FORM1:         %[[QL:.*]] = ring.scatter %[[Q]] by %[[QT]] dim 2 on @ring axis 0 : {{.*}} -> tensor<1x8x?x64xf32>
// FORM1:         %[[KL:.*]] = ring.scatter %[[K]] by %{{.*}} dim 2 on @ring axis 0 : {{.*}} -> tensor<1x2x?x64xf32>
// FORM1:         %[[VL:.*]] = ring.scatter %[[V]] by %{{.*}} dim 2 on @ring axis 0 : {{.*}} -> tensor<1x2x?x48xf32>
// FORM1:         %[[L:.*]]:2 = call @attention_rank(%[[QL]], %[[KL]], %[[VL]])
// FORM1:         %[[O:.*]] = ring.gather %[[L]]#0 by %[[QT]] dim 2 on @ring axis 0 : {{.*}} -> tensor<1x8x256x48xf32>
// FORM1:         %[[E:.*]] = ring.gather %[[L]]#1 by %[[QT]] dim 2 on @ring axis 0 : {{.*}} -> tensor<1x8x256xf32>
// FORM1:         return %[[O]], %[[E]]
// FORM1-LABEL: func.func private @attention_rank(
// FORM1-SAME:    %[[Q:[^:]*]]: tensor<1x8x?x64xf32>, %[[K:[^:]*]]: tensor<1x2x?x64xf32>, %[[V:[^:]*]]: tensor<1x2x?x48xf32>)
// FORM1-SAME:    -> (tensor<1x8x?x48xf32>, tensor<1x8x?xf32>)
// FORM1-SAME:    attributes {ring.layout = #ring.layout<contiguous>, ring.rank_of = @attention}
// FORM1-DAG:     %[[C0:.*]] = arith.constant 0 : index
// FORM1-DAG:     %[[C1:.*]] = arith.constant 1 : index
// FORM1-DAG:     %[[N:.*]] = arith.constant 4 : index
// FORM1-DAG:     %[[RANK:.*]] = shard.process_linear_index on @ring
// The state is (0, -inf, 0), f32.
// FORM1:         %[[ACC:.*]] = linalg.fill {{.*}} -> tensor<1x8x?x48xf32>
// FORM1:         %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// FORM1:         %[[MAX:.*]] = linalg.fill ins(%[[NONE]] : f32) {{.*}} -> tensor<1x8x?xf32>
// FORM1:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// FORM1:         %[[SUM:.*]] = linalg.fill ins(%[[ZERO]] : f32) {{.*}} -> tensor<1x8x?xf32>
// FORM1:         %[[S:.*]]:5 = scf.for %[[T:.*]] = %[[C0]] to %[[N]] step %[[C1]]
// FORM1-SAME:      iter_args(%[[A:.*]] = %[[ACC]], %[[M:.*]] = %[[MAX]], %[[P:.*]] = %[[SUM]], %[[KB:.*]] = %[[K]], %[[VB:.*]] = %[[V]])
// FORM1:           %[[OWNER:.*]] = ring.owner %[[T]] on @ring axis 0
// FORM1:           %[[W:.*]] = ring.slices at(%[[RANK]], %[[OWNER]] in {{.*}}) mask(<causal>) whole
// FORM1:           %[[U:.*]]:3 = ring.online_attention %[[Q]], %[[KB]], %[[VB]] slices(%[[W]]) scale(1.250000e-01) outs(%[[A]], %[[M]], %[[P]])
// FORM1:           %[[NEXT:.*]] = arith.addi %[[T]], %[[C1]]
// FORM1:           %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]]
// FORM1:           %[[B:.*]]:2 = scf.if %[[MORE]]
// FORM1:             %[[F:.*]] = ring.permute_start %[[KB]], %[[VB]] on @ring axis 0
// FORM1:             %[[R:.*]]:2 = ring.permute_wait %[[F]]
// FORM1:             scf.yield %[[R]]#0, %[[R]]#1
// FORM1:           } else {
// FORM1:             scf.yield %[[KB]], %[[VB]]
// FORM1:           scf.yield %[[U]]#0, %[[U]]#1, %[[U]]#2, %[[B]]#0, %[[B]]#1
// FORM1:         %[[D:.*]]:2 = ring.finalize %[[S]]#0, %[[S]]#1, %[[S]]#2 outs(
// FORM1:         return %[[D]]#0, %[[D]]#1

// Running the pass again changes nothing.
// RUN: %{shard}=ranks=4 %t/attention.mlir -o %t.once
// RUN: %{shard}=ranks=4 %t.once | diff %t.once -

// RUN: %{shard}=ranks=4 --remarks-filter=ring-shard-attention --remark-policy=all %t/attention.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: attention.mlir:2:14: remark: [Passed] ShardAttention | Category:ring-shard-attention | Function=attention
// REMARK-SAME: ranks=4, variant=pass-kv

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

// A grid that exists keeps its order; N is the axis' size.
// RUN: cat %t/grid.mlir %t/attention.mlir | %{shard}="grid=wires axis=1" | %{check} GRID
// RUN: cat %t/grid.mlir %t/attention.mlir | %{shard}="grid=wires axis=1 ranks=3" | %{check} GRID
// GRID-NOT: shard.grid @ring
// GRID:     shard.grid @wires(shape = 1x3) {ring.order = [0, 2, 1]}
// GRID-NOT: shard.grid @ring
// GRID:     ring.scatter {{.*}} on @wires axis 1
// GRID:     ring.gather {{.*}} on @wires axis 1
// GRID:     arith.constant 3 : index
// GRID:     shard.process_linear_index on @wires
// GRID:     ring.owner %{{.*}} on @wires axis 1
// GRID:     ring.permute_start {{.*}} on @wires axis 1

// A name that is taken: the new grid and the rank function get others.
// RUN: cat %t/taken.mlir %t/attention.mlir | %{shard}=ranks=2 | %{check} TAKEN
// TAKEN-DAG: shard.grid @[[NEW:ring_[0-9]+]](shape = 2)
// TAKEN-DAG: shard.grid @ring(shape = 7)
// TAKEN:     func.func private @attention_rank(i32) -> i32
// TAKEN:     ring.scatter {{.*}} on @[[NEW]] axis 0
// TAKEN:     call @[[RANK:attention_rank_[0-9]+]](
// TAKEN:     func.func private @[[RANK]](
// TAKEN-SAME: ring.rank_of = @attention

// One rank: the same form.
// RUN: %{shard}=ranks=1 %t/attention.mlir | %{check} ONE
// ONE: shard.grid @ring(shape = 1)
// ONE: call @attention_rank
// ONE: scf.for

//===----------------------------------------------------------------------===//
// Attentions
//===----------------------------------------------------------------------===//

// Queries and keys of two lengths have a table each. A rank without positions
// has no entry.
// RUN: %{shard}=ranks=4 %t/cross.mlir | %{check} CROSS
// CROSS-LABEL: func.func @cross(
// CROSS:         %[[QT:.*]] = arith.constant dense<{{\[\[}}1, 0, 1, 1, 1], [2, 1, 1, 1, 1], [3, 2, 1, 1, 1]]> : tensor<3x5xi64>
// CROSS:         %[[KT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 2, 1], [1, 2, 3, 3, 1], [2, 5, 2, 2, 1], [3, 7, 3, 3, 1]]> : tensor<4x5xi64>
// CROSS:         ring.scatter %{{.*}} by %[[QT]]
// CROSS:         ring.scatter %{{.*}} by %[[KT]]
// CROSS:         ring.scatter %{{.*}} by %[[KT]]
// CROSS:         ring.gather %{{.*}} by %[[QT]]
// CROSS-LABEL: func.func private @cross_rank(
// CROSS:         %[[QT:.*]] = arith.constant dense<{{\[\[}}1, 0,
// CROSS:         %[[KT:.*]] = arith.constant dense<{{\[\[}}0, 0,
// CROSS:         ring.slices at(%{{.*}}, %{{.*}} in %[[QT]], %[[KT]]) mask(<causal, align = bottom_right>) whole
// 1 result: no log-sum-exp is computed. The scale given is the one used.
// CROSS:         ring.online_attention {{.*}} scale(3.000000e+00)
// CROSS:         %[[O:.*]] = ring.finalize {{.*}} -> tensor<2x3x?x16xbf16>
// CROSS:         return %[[O]] : tensor<2x3x?x16xbf16>

// Without a mask.
// RUN: sed -e 's/mask(<causal, align = bottom_right>)//' %t/cross.mlir | %{shard}=ranks=4 | %{check} FULL
// FULL-NOT: mask(
// FULL:     ring.slices at(%{{.*}}, %{{.*}} in %{{.*}}, %{{.*}}) whole
// FULL-NOT: mask(

// Two in one function: two rank functions on one grid, and what surrounds them
// stays in the host function.
// RUN: %{shard}=ranks=2 %t/two.mlir | %{check} TWO
// TWO:        shard.grid @ring(shape = 2)
// TWO-NOT:    shard.grid
// TWO-LABEL:  func.func @two(
// TWO:          %[[X:.*]] = call @[[FIRST:two_rank[_0-9]*]](
// TWO:          %[[O:.*]] = ring.gather %[[X]]
// TWO:          %[[Y:.*]] = arith.negf %[[O]]
// TWO:          %[[Z:.*]] = ring.scatter %[[Y]]
// TWO:          call @[[SECOND:two_rank[_0-9]*]](%[[Z]],
// TWO-DAG:    func.func private @[[FIRST]]({{.*}}ring.rank_of = @two
// TWO-DAG:    func.func private @[[SECOND]]({{.*}}ring.rank_of = @two

// A module inside is another's.
// RUN: %{shard}=ranks=2 %t/inner.mlir | FileCheck %s --check-prefix=INNER
// INNER-NOT: ring.scatter
// INNER:     module @inner
// INNER:     ring.attention
// INNER-NOT: ring.scatter

//--- attention.mlir
func.func @attention(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x48xf32>) -> (tensor<1x8x256x48xf32>, tensor<1x8x256xf32>) {
  %o, %lse = ring.attention %q, %k, %v mask(<causal>)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x48xf32>) -> (tensor<1x8x256x48xf32>, tensor<1x8x256xf32>)
  return %o, %lse : tensor<1x8x256x48xf32>, tensor<1x8x256xf32>
}

//--- grid.mlir
shard.grid @wires(shape = 1x3) {ring.order = [0, 2, 1]}

//--- taken.mlir
shard.grid @ring(shape = 7)
func.func private @attention_rank(i32) -> i32

//--- cross.mlir
func.func @cross(%q: tensor<2x3x3x8xbf16>, %k: tensor<2x3x10x8xbf16>, %v: tensor<2x3x10x16xbf16>) -> tensor<2x3x3x16xbf16> {
  %o = ring.attention %q, %k, %v mask(<causal, align = bottom_right>) scale(3.0)
    : (tensor<2x3x3x8xbf16>, tensor<2x3x10x8xbf16>, tensor<2x3x10x16xbf16>) -> tensor<2x3x3x16xbf16>
  return %o : tensor<2x3x3x16xbf16>
}

//--- two.mlir
func.func @two(%x: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %o = ring.attention %x, %x, %x mask(<causal>)
    : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  %y = arith.negf %o : tensor<1x2x8x4xf32>
  %p = ring.attention %y, %x, %x
    : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %p : tensor<1x2x8x4xf32>
}

//--- inner.mlir
module {
  module @inner {
    func.func @self(%x: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
      %o = ring.attention %x, %x, %x
        : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
      return %o : tensor<1x2x8x4xf32>
    }
  }
}
