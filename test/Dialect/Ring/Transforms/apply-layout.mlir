// RUN: split-file %s %t
// DEFINE: %{layout} = ring-opt --ring-apply-layout
// DEFINE: %{check} = FileCheck %s --check-prefix

// RUN: ring-opt %t/self.mlir --ring-shard-attention=ranks=3 -o %t.form1

//===----------------------------------------------------------------------===//
// Tables: in the rank function, and around its call
//===----------------------------------------------------------------------===//

// Rank r holds chunks r and 2N-1-r: 0,5 / 1,4 / 2,3, the last two as one run.
// RUN: %{layout} %t.form1 -o %t.out
// RUN: %{check} ZIGZAG < %t.out
// RUN: %{check} BOTH < %t.out
// RUN: %{layout}=layout=zigzag %t.form1 -o %t.out
// RUN: %{check} ZIGZAG < %t.out
// RUN: %{check} BOTH < %t.out
// ZIGZAG-LABEL: func.func @self(
// ZIGZAG-DAG:     %[[QT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 2, 1], [0, 10, 2, 2, 1], [1, 2, 2, 2, 1], [1, 8, 2, 2, 1], [2, 4, 4, 4, 1]]> : tensor<5x5xi64>
// ZIGZAG-NOT:     tensor<3x5xi64>
// ZIGZAG-LABEL: func.func private @self_rank(
// ZIGZAG-SAME:    ring.layout = #ring.layout<zigzag>
// ZIGZAG-DAG:     %[[QT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 2, 1], [0, 10, 2, 2, 1], [1, 2, 2, 2, 1], [1, 8, 2, 2, 1], [2, 4, 4, 4, 1]]> : tensor<5x5xi64>
// ZIGZAG-NOT:     tensor<3x5xi64>

// RUN: %{layout}=layout=contiguous %t.form1 -o %t.out
// RUN: %{check} CONTIGUOUS < %t.out
// RUN: %{check} BOTH < %t.out
// CONTIGUOUS-LABEL: func.func @self(
// CONTIGUOUS:         arith.constant dense<{{\[\[}}0, 0, 4, 4, 1], [1, 4, 4, 4, 1], [2, 8, 4, 4, 1]]>
// CONTIGUOUS-LABEL: func.func private @self_rank(
// CONTIGUOUS-SAME:    ring.layout = #ring.layout<contiguous>
// CONTIGUOUS:         arith.constant dense<{{\[\[}}0, 0, 4, 4, 1], [1, 4, 4, 4, 1], [2, 8, 4, 4, 1]]>

// RUN: %{layout}=layout=striped %t.form1 -o %t.out
// RUN: %{check} STRIPED < %t.out
// RUN: %{check} BOTH < %t.out
// RUN: %{layout}=layout=striped:1 %t.form1 -o %t.out
// RUN: %{check} STRIPED < %t.out
// RUN: %{check} BOTH < %t.out
// STRIPED-LABEL: func.func @self(
// STRIPED:         arith.constant dense<{{\[\[}}0, 0, 1, 3, 4], [1, 1, 1, 3, 4], [2, 2, 1, 3, 4]]>
// STRIPED-LABEL: func.func private @self_rank(
// STRIPED-SAME:    ring.layout = #ring.layout<striped>
// STRIPED:         arith.constant dense<{{\[\[}}0, 0, 1, 3, 4], [1, 1, 1, 3, 4], [2, 2, 1, 3, 4]]>

// A last cycle that is cut short: rank 0 has 0..4 and 15..., that is none.
// RUN: %{layout}=layout=striped:5 %t.form1 -o %t.out
// RUN: %{check} STRIPED5 < %t.out
// RUN: %{check} BOTH < %t.out
// STRIPED5-LABEL: func.func @self(
// STRIPED5:         arith.constant dense<{{\[\[}}0, 0, 5, 5, 1], [1, 5, 5, 5, 1], [2, 10, 2, 2, 1]]>
// STRIPED5-LABEL: func.func private @self_rank(
// STRIPED5-SAME:    ring.layout = #ring.layout<striped, 5>
// STRIPED5:         arith.constant dense<{{\[\[}}0, 0, 5, 5, 1], [1, 5, 5, 5, 1], [2, 10, 2, 2, 1]]>

// RUN: %{layout}=layout=balanced %t.form1 -o %t.out
// RUN: %{check} BALANCED < %t.out
// RUN: %{check} BOTH < %t.out
// BALANCED:       func.func private @self_rank(
// BALANCED-SAME:    ring.layout = #ring.layout<balanced>

// Whatever the layout, one table for all of the host's ends and one for the
// rank's.
// BOTH-LABEL: func.func @self(
// BOTH:         %[[A:.*]] = arith.constant dense<[[TABLE:.*]]> : tensor<{{.*}}x5xi64>
// BOTH:         %[[B:.*]] = arith.constant dense<[[TABLE]]> : tensor<{{.*}}x5xi64>
// BOTH-NOT:     arith.constant
// BOTH:         ring.scatter %{{.*}} by %[[A]] dim 2
// BOTH:         ring.scatter %{{.*}} by %[[B]] dim 2
// BOTH:         ring.scatter %{{.*}} by %[[B]] dim 2
// BOTH:         ring.gather %{{.*}} by %[[A]] dim 2
// BOTH:         ring.gather %{{.*}} by %[[A]] dim 2
// BOTH-LABEL: func.func private @self_rank(
// BOTH:         %[[A:.*]] = arith.constant dense<[[TABLE]]> : tensor<{{.*}}x5xi64>
// BOTH:         %[[B:.*]] = arith.constant dense<[[TABLE]]> : tensor<{{.*}}x5xi64>
// BOTH-NOT:     arith.constant dense
// BOTH:         ring.slices at(%{{.*}}, %{{.*}} in %[[A]], %[[B]])

// Lengths that differ: a table each. The programs know only tables, so nothing
// but constants and the attribute changes.
// RUN: ring-opt %t/cross.mlir --ring-shard-attention=ranks=2 -o %t.cross
// RUN: %{layout}=layout=striped:2 %t.cross -o %t.cross.striped
// RUN: %{check} CROSS < %t.cross.striped
// CROSS-LABEL: func.func @cross(
// CROSS-DAG:     %[[QT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 4, 2], [1, 2, 2, 2, 1]]>
// CROSS-DAG:     %[[KT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 4, 2], [0, 8, 1, 1, 1], [1, 2, 2, 4, 2]]>
// CROSS:         ring.scatter %{{.*}} by %[[QT]]
// CROSS:         ring.scatter %{{.*}} by %[[KT]]
// CROSS:         ring.scatter %{{.*}} by %[[KT]]
// CROSS:         ring.gather %{{.*}} by %[[QT]]
// CROSS-LABEL: func.func private @cross_rank(
// CROSS-DAG:     %[[QT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 4, 2], [1, 2, 2, 2, 1]]>
// CROSS-DAG:     %[[KT:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 4, 2], [0, 8, 1, 1, 1], [1, 2, 2, 4, 2]]>
// CROSS:         ring.slices at(%{{.*}}, %{{.*}} in %[[QT]], %[[KT]])
// RUN: sed -E 's/dense<\[.*//; s/[0-9]x5xi64//g; s/ring.layout<[a-z0-9, ]*>//' %t.cross > %t.cross.program
// RUN: sed -E 's/dense<\[.*//; s/[0-9]x5xi64//g; s/ring.layout<[a-z0-9, ]*>//' %t.cross.striped | sort > %t.cross.other
// RUN: sort %t.cross.program | diff - %t.cross.other

// More ranks than positions, and no position at all.
// RUN: ring-opt %t/cross.mlir --ring-shard-attention=ranks=8 | %{layout}=layout=zigzag | ring-opt --ring-verify-schedule | %{check} FEW
// FEW: ring.layout = #ring.layout<zigzag>
// RUN: sed -e 's/x6x/x0x/; s/x6x/x0x/g; s/x9x/x0x/g' %t/cross.mlir | ring-opt --ring-shard-attention=ranks=2 | %{layout}=layout=balanced | %{check} EMPTY
// EMPTY: arith.constant dense<> : tensor<0x5xi64>

//===----------------------------------------------------------------------===//
// Again, back and too late
//===----------------------------------------------------------------------===//

// RUN: %{layout}=layout=zigzag %t.form1 -o %t.zigzag
// RUN: %{layout}=layout=zigzag %t.zigzag | diff %t.zigzag -
// From any layout to any other.
// RUN: %{layout}=layout=striped:2 %t.zigzag | %{layout}=layout=zigzag | diff %t.zigzag -

// Classified with the same layout: nothing to do.
// RUN: ring-opt %t.zigzag --ring-classify-blocks -o %t.classified
// RUN: %{layout}=layout=zigzag %t.classified | diff %t.classified -
// With another one, rounds that it needs may be gone.
// RUN: not %{layout}=layout=striped %t.classified -o /dev/null 2>&1 | %{check} LATE
// LATE: error: the layout of a program whose blocks have been classified cannot change

// RUN: not %{layout}=layout=zigzig %t.form1 -o /dev/null 2>&1 | %{check} UNKNOWN
// UNKNOWN: error: unknown layout 'zigzig', expected contiguous, zigzag, striped[:G] or balanced
// RUN: not %{layout}=layout=striped:0 %t.form1 -o /dev/null 2>&1 | %{check} ZERO
// ZERO: error: unknown layout 'striped:0', expected
// RUN: not %{layout}=layout=zigzag:2 %t.form1 -o /dev/null 2>&1 | %{check} WITH
// WITH: error: unknown layout 'zigzag:2', expected
// RUN: not %{layout}=layout= %t.form1 -o /dev/null 2>&1 | %{check} NAMELESS
// NAMELESS: error: unknown layout '', expected

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/long.mlir --ring-shard-attention=ranks=4 --ring-apply-layout --remarks-filter=ring-apply-layout -o /dev/null 2>&1 | %{check} REMARK
// REMARK: long.mlir:2:8: remark: [Passed] ApplyLayout | Category:ring-apply-layout | Function=long_rank
// REMARK-SAME: balance=1.00{{[0-9e+]*}}, layout=zigzag, round_balance=1.0

//===----------------------------------------------------------------------===//
// Programs that are not the compiler's own
//===----------------------------------------------------------------------===//

// Two attentions whose layouts differ, under `balanced`, read one local tensor:
// each gets its own.
// RUN: ring-opt %t/shared.mlir --ring-shard-attention=ranks=2 --cse -o %t.shared
// RUN: grep -c 'ring.scatter' %t.shared | %{check} BEFORE
// BEFORE: {{^}}1{{$}}
// RUN: %{layout}=layout=balanced %t.shared | ring-opt --ring-verify-schedule -o /dev/null

// RUN: not %{layout}=layout=zigzag %t/unscattered.mlir -o /dev/null 2>&1 | %{check} UNSCATTERED
// UNSCATTERED: unscattered.mlir:5:8: error: operand 1 of a rank function comes from no ring.scatter
// RUN: not %{layout}=layout=zigzag %t/ungathered.mlir -o /dev/null 2>&1 | %{check} UNGATHERED
// UNGATHERED: ungathered.mlir:8:8: error: uses a local tensor outside ring.gather

//--- self.mlir
func.func @self(%q: tensor<1x2x12x4xf32>, %k: tensor<1x1x12x4xf32>) -> (tensor<1x2x12x4xf32>, tensor<1x2x12xf32>) {
  %o, %lse = ring.attention %q, %k, %k mask(<causal>) : (tensor<1x2x12x4xf32>, tensor<1x1x12x4xf32>, tensor<1x1x12x4xf32>) -> (tensor<1x2x12x4xf32>, tensor<1x2x12xf32>)
  return %o, %lse : tensor<1x2x12x4xf32>, tensor<1x2x12xf32>
}

//--- cross.mlir
func.func @cross(%q: tensor<1x2x6x4xf32>, %k: tensor<1x2x9x4xf32>) -> tensor<1x2x6x4xf32> {
  %o = ring.attention %q, %k, %k : (tensor<1x2x6x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x4xf32>) -> tensor<1x2x6x4xf32>
  return %o : tensor<1x2x6x4xf32>
}

//--- long.mlir
func.func @long(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<causal>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- shared.mlir
func.func @shared(%x: tensor<1x2x96x4xf32>) -> (tensor<1x2x96x4xf32>, tensor<1x2x96x4xf32>) {
  %o = ring.attention %x, %x, %x mask(<causal>) : (tensor<1x2x96x4xf32>, tensor<1x2x96x4xf32>, tensor<1x2x96x4xf32>) -> tensor<1x2x96x4xf32>
  %p = ring.attention %x, %x, %x mask(<window = [3, 0]>) : (tensor<1x2x96x4xf32>, tensor<1x2x96x4xf32>, tensor<1x2x96x4xf32>) -> tensor<1x2x96x4xf32>
  return %o, %p : tensor<1x2x96x4xf32>, tensor<1x2x96x4xf32>
}

//--- unscattered.mlir
shard.grid @ring(shape = 2)
func.func @f(%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x?x4xf32>) -> tensor<1x1x4x4xf32> {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : tensor<1x1x4x4xf32>, tensor<2x5xi64> -> tensor<1x1x?x4xf32>
  %1 = call @r(%0, %k, %k) : (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32>
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : tensor<1x1x?x4xf32>, tensor<2x5xi64> -> tensor<1x1x4x4xf32>
  return %2 : tensor<1x1x4x4xf32>
}
func.func private @r(%q: tensor<1x1x?x4xf32>, %k: tensor<1x1x?x4xf32>, %v: tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32> attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : tensor<1x1x?x4xf32>
}

//--- ungathered.mlir
shard.grid @ring(shape = 2)
func.func private @use(tensor<1x1x?x4xf32>)
func.func @f(%q: tensor<1x1x4x4xf32>) {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : tensor<1x1x4x4xf32>, tensor<2x5xi64> -> tensor<1x1x?x4xf32>
  %1 = call @r(%0, %0, %0) : (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32>
  // A use that is no gather.
  %2 = arith.negf %1 : tensor<1x1x?x4xf32>
  call @use(%2) : (tensor<1x1x?x4xf32>) -> ()
  return
}
func.func private @r(%q: tensor<1x1x?x4xf32>, %k: tensor<1x1x?x4xf32>, %v: tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32> attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : tensor<1x1x?x4xf32>
}
