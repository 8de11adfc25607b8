// RUN: split-file %s %t
// DEFINE: %{file} = %t/documents.mlir
// DEFINE: %{layout} = balanced
// DEFINE: %{form1} = ring-opt %{file} --ring-shard-attention=ranks=2
// DEFINE: %{form2} = %{form1} --ring-apply-layout=layout=%{layout}
// DEFINE: %{check} = FileCheck %s --check-prefix

//===----------------------------------------------------------------------===//
// Where ids, lengths or offsets decide how much there is to do, `balanced`
// tables are computed by the host and given to the ranks
//===----------------------------------------------------------------------===//

// RUN: %{form2} -o %t.balanced
// RUN: FileCheck %s --check-prefix=BALANCED --implicit-check-not="tensor<2x5xi64>" < %t.balanced
// BALANCED-LABEL: func.func @documents(
// BALANCED-SAME:    %[[X:[^:]*]]: tensor<2x1x48x4xf32>, %[[B:[^:]*]]: tensor<2x1x48x48xf32>, %[[SQ:[^:]*]]: tensor<2x48xi32>, %[[SK:[^:]*]]: tensor<2x48xi32>, %[[N:[^:]*]]: tensor<2xi32>)
// BALANCED-DAG:     %[[LQ:.*]] = arith.constant 48 : index
// BALANCED-DAG:     %[[LK:.*]] = arith.constant 48 : index
// BALANCED:         %[[ENTRIES:.*]] = arith.constant 128 : index
// BALANCED:         %[[TQ:.*]] = tensor.empty(%[[ENTRIES]]) : tensor<?x5xi64>
// BALANCED:         %[[TK:.*]] = tensor.empty(%[[ENTRIES]]) : tensor<?x5xi64>
// BALANCED:         %[[T:.*]]:2 = ring.tables <balanced> ranks 2 sizes(%{{.*}}, %{{.*}}) segments(%[[SQ]], %[[SK]]) lengths(%[[N]]) mask(<causal>) outs(%[[TQ]], %[[TK]])
// BALANCED-NEXT:    %[[QL:.*]] = ring.scatter %[[X]] by %[[T]]#0 dim 2
// BALANCED-NEXT:    %[[KL:.*]] = ring.scatter %[[X]] by %[[T]]#1 dim 2
// BALANCED-NEXT:    %[[VL:.*]] = ring.scatter %[[X]] by %[[T]]#1 dim 2
// The bias is cut like the queries.
// BALANCED-NEXT:    %[[BL:.*]] = ring.scatter %[[B]] by %[[T]]#0 dim 2
// BALANCED-NEXT:    %[[O:.*]]:2 = call @documents_rank(%[[QL]], %[[KL]], %[[VL]], %[[BL]], %[[SQ]], %[[SK]], %[[N]], %[[T]]#0, %[[T]]#1)
// BALANCED-NEXT:    ring.gather %[[O]]#0 by %[[T]]#0 dim 2
// BALANCED-NEXT:    ring.gather %[[O]]#1 by %[[T]]#0 dim 2
// BALANCED-LABEL: func.func private @documents_rank(
// BALANCED-SAME:    %[[N:[^:]*]]: tensor<2xi32>, %[[TQ:[^:]*]]: tensor<?x5xi64>, %[[TK:[^:]*]]: tensor<?x5xi64>) ->
// BALANCED-SAME:    ring.layout = #ring.layout<balanced>
// BALANCED:         ring.slices at(%{{.*}}, %{{.*}} in %[[TQ]], %[[TK]]) segments({{.*}}) lengths(%[[N]] : tensor<2xi32>) mask(<causal>) whole : tensor<?x5xi64>, tensor<?x5xi64>

// The other layouts do not look at them: their tables stay constants.
// RUN: ring-opt %{file} --ring-shard-attention=ranks=2 --ring-apply-layout=layout=zigzag | %{check} ZIGZAG
// ZIGZAG-NOT:   ring.tables
// ZIGZAG:       arith.constant dense<{{\[\[}}0, 0, 12, 12, 1], [0, 36, 12, 12, 1], [1, 12, 24, 24, 1]]>
// ZIGZAG:       call @documents_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) :
// ZIGZAG-LABEL: func.func private @documents_rank(
// ZIGZAG:         arith.constant dense<{{\[\[}}0, 0, 12, 12, 1]

// Offsets alone, and lengths alone, are a reason; a bias, sinks and the like
// are none.
// REDEFINE: %{file} = %t/offsets.mlir
// RUN: %{form2} | %{check} OFFSETS
// OFFSETS: ring.tables <balanced> ranks 2 sizes(%{{.*}}, %{{.*}}) offsets(%{{.*}}) mask(<causal>) outs(
// REDEFINE: %{file} = %t/lengths.mlir
// RUN: %{form2} | %{check} LENGTHS
// LENGTHS: ring.tables <balanced> ranks 2 sizes(%{{.*}}, %{{.*}}) lengths(%{{.*}}) outs(
// REDEFINE: %{file} = %t/known.mlir
// RUN: %{form2} | %{check} KNOWN
// KNOWN-NOT: ring.tables

//===----------------------------------------------------------------------===//
// Dynamic lengths: the tables are arguments already
//===----------------------------------------------------------------------===//

// REDEFINE: %{file} = %t/dynamic.mlir
// REDEFINE: %{layout} = zigzag
// RUN: %{form2} -o %t.zigzag
// RUN: FileCheck %s --check-prefix=DYNAMIC < %t.zigzag
// DYNAMIC-LABEL: func.func @dynamic(
// DYNAMIC-SAME:    %[[Q:[^:]*]]: tensor<1x2x?x4xf32>, %[[K:[^:]*]]: tensor<1x2x?x4xf32>)
// DYNAMIC:         %[[SQ:.*]] = tensor.dim %[[Q]], %{{c2.*}} :
// DYNAMIC:         %[[SK:.*]] = tensor.dim %[[K]], %{{c2.*}} :
// DYNAMIC-NOT:     ring.tables <contiguous>
// DYNAMIC:         %[[ENTRIES:.*]] = arith.constant 4 : index
// DYNAMIC:         %[[TQ:.*]] = tensor.empty(%[[ENTRIES]])
// DYNAMIC:         %[[TK:.*]] = tensor.empty(%[[ENTRIES]])
// DYNAMIC:         %[[T:.*]]:2 = ring.tables <zigzag> ranks 2 sizes(%[[SQ]], %[[SK]]) mask(<causal, align = bottom_right>) outs(%[[TQ]], %[[TK]])
// DYNAMIC:         ring.scatter %[[Q]] by %[[T]]#0
// DYNAMIC:         ring.scatter %[[K]] by %[[T]]#1
// DYNAMIC:         ring.scatter %[[K]] by %[[T]]#1
// DYNAMIC:         call @dynamic_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[T]]#0, %[[T]]#1) :
// DYNAMIC:         ring.gather %{{.*}} by %[[T]]#0
// DYNAMIC-LABEL: func.func private @dynamic_rank(
// DYNAMIC-SAME:    %{{[^:]*}}: tensor<1x2x?x4xf32>, %{{[^:]*}}: tensor<1x2x?x4xf32>, %{{[^:]*}}: tensor<1x2x?x4xf32>, %[[TQ:[^:]*]]: tensor<?x5xi64>, %[[TK:[^:]*]]: tensor<?x5xi64>) ->
// DYNAMIC-SAME:    ring.layout = #ring.layout<zigzag>
// DYNAMIC:         ring.slices at(%{{.*}}, %{{.*}} in %[[TQ]], %[[TK]])

// How many entries there may be depends on the layout.
// REDEFINE: %{layout} = striped:3
// RUN: %{form2} | %{check} STRIPED
// STRIPED: %[[ENTRIES:.*]] = arith.constant 4 : index
// STRIPED: tensor.empty(%[[ENTRIES]])
// STRIPED: tensor.empty(%[[ENTRIES]])
// STRIPED: ring.tables <striped, 3> ranks 2
// REDEFINE: %{layout} = balanced
// RUN: %{form2} | %{check} ROOM
// ROOM: %[[ENTRIES:.*]] = arith.constant 128 : index
// ROOM: tensor.empty(%[[ENTRIES]])
// ROOM: tensor.empty(%[[ENTRIES]])
// ROOM: ring.tables <balanced> ranks 2

//===----------------------------------------------------------------------===//
// Again, and another one
//===----------------------------------------------------------------------===//

// RUN: ring-opt --ring-apply-layout=layout=zigzag %t.zigzag | diff %t.zigzag -
// RUN: ring-opt --ring-apply-layout=layout=balanced %t.balanced | diff %t.balanced -

// Another layout takes the tables' place; the rank function has no more
// arguments than before, and no tables of the old kind are left.
// RUN: ring-opt --ring-apply-layout=layout=balanced %t.zigzag -o %t.again
// RUN: %{check} AGAIN < %t.again
// AGAIN-NOT: ring.tables
// AGAIN:     %[[T:.*]]:2 = ring.tables <balanced> ranks 2
// AGAIN-NOT: ring.tables
// AGAIN:     call @dynamic_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[T]]#0, %[[T]]#1) :
// AGAIN:     func.func private @dynamic_rank({{.*}}tensor<1x2x?x4xf32>, %{{[^:]*}}: tensor<?x5xi64>, %{{[^:]*}}: tensor<?x5xi64>) ->
// RUN: ring-opt --ring-apply-layout=layout=zigzag %t.balanced | FileCheck %s --check-prefix=BACK
// BACK-NOT: ring.tables
// BACK:     %[[T:.*]]:2 = ring.tables <zigzag> ranks 2 sizes(%{{.*}}, %{{.*}}) segments(
// BACK-NOT: ring.tables
// BACK:     call @documents_rank({{.*}}, %[[T]]#0, %[[T]]#1) :

// Two calls of one rank function: tables for each.
// RUN: ring-opt %t/twice.mlir --ring-apply-layout=layout=balanced -o %t.twice
// RUN: %{check} TWICE < %t.twice
// RUN: ring-opt %t.twice --ring-verify-schedule -o /dev/null
// TWICE:     %[[T:.*]]:2 = ring.tables <balanced> ranks 2 sizes(%{{.*}}, %{{.*}}) lengths(%[[N:.*]]) outs(
// TWICE:     call @r(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[N]], %[[T]]#0, %[[T]]#1)
// TWICE:     ring.gather %{{.*}} by %[[T]]#0
// TWICE:     %[[U:.*]]:2 = ring.tables <balanced> ranks 2 sizes(%{{.*}}, %{{.*}}) lengths(%[[M:.*]]) outs(
// TWICE:     call @r(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[M]], %[[U]]#0, %[[U]]#1)
// TWICE:     ring.gather %{{.*}} by %[[U]]#0
// TWICE-NOT: ring.tables

// Canonicalization gives tables the number of their entries, and puts casts
// behind them: no obstacle, and what is replaced goes with its casts.
// RUN: %{form1} --canonicalize --cse --ring-apply-layout=layout=balanced -o %t.canonical
// RUN: %{check} CANONICAL < %t.canonical
// RUN: ring-opt %t.canonical --canonicalize --cse --ring-classify-blocks --canonicalize --ring-verify-schedule -o /dev/null
// CANONICAL-NOT: ring.tables
// CANONICAL-NOT: tensor.cast
// CANONICAL:     %[[T:.*]]:2 = ring.tables <balanced> ranks 2
// CANONICAL-NOT: ring.tables
// CANONICAL-NOT: tensor.cast
// CANONICAL:     call @dynamic_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[T]]#0, %[[T]]#1) :

// One local tensor that is query and key: each gets the table of its own.
// RUN: ring-opt %t/lengths.mlir --ring-shard-attention=ranks=2 --cse --ring-apply-layout=layout=balanced -o %t.shared
// RUN: %{check} SHARED < %t.shared
// RUN: ring-opt %t.shared --ring-verify-schedule -o /dev/null
// SHARED:     %[[T:.*]]:2 = ring.tables <balanced>
// SHARED:     ring.scatter %{{.*}} by %[[T]]#0
// SHARED:     ring.scatter %{{.*}} by %[[T]]#1
// SHARED:     ring.scatter %{{.*}} by %[[T]]#1

// RUN: ring-opt %t.zigzag --ring-classify-blocks -o %t.classified
// RUN: not ring-opt %t.classified --ring-apply-layout=layout=striped -o /dev/null 2>&1 | %{check} LATE
// LATE: error: the layout of a program whose blocks have been classified cannot change

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

// RUN: %{form2} --remarks-filter=ring-apply-layout -o /dev/null 2>&1 | %{check} REMARK
// REMARK: remark: [Passed] ApplyLayout | Category:ring-apply-layout | Function=dynamic_rank | Remark="tables are computed at run time", layout=balanced{{$}}

//===----------------------------------------------------------------------===//
// Programs that are not the compiler's own
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/wrong.mlir --ring-apply-layout=layout=balanced --split-input-file --verify-diagnostics -o /dev/null

//--- documents.mlir
!x = tensor<2x1x48x4xf32>
func.func @documents(%x: !x, %b: tensor<2x1x48x48xf32>, %sq: tensor<2x48xi32>, %sk: tensor<2x48xi32>, %n: tensor<2xi32>) -> (!x, tensor<2x1x48xf32>) {
  %o, %lse = ring.attention %x, %x, %x bias(%b) segments(%sq, %sk) lengths(%n) mask(<causal>)
    : (!x, !x, !x, tensor<2x1x48x48xf32>, tensor<2x48xi32>, tensor<2x48xi32>, tensor<2xi32>) -> (!x, tensor<2x1x48xf32>)
  return %o, %lse : !x, tensor<2x1x48xf32>
}

//--- offsets.mlir
!x = tensor<2x1x48x4xf32>
func.func @offsets(%x: !x, %n: tensor<2xi32>) -> !x {
  %o = ring.attention %x, %x, %x offsets(%n) mask(<causal>) : (!x, !x, !x, tensor<2xi32>) -> !x
  return %o : !x
}

//--- lengths.mlir
!x = tensor<2x1x48x4xf32>
func.func @lengths(%x: !x, %n: tensor<2xi32>) -> !x {
  %o = ring.attention %x, %x, %x lengths(%n) : (!x, !x, !x, tensor<2xi32>) -> !x
  return %o : !x
}

//--- known.mlir
!x = tensor<2x1x48x4xf32>
func.func @known(%x: !x, %b: tensor<1x1x48x48xf32>, %s: tensor<1xf32>) -> !x {
  %o = ring.attention %x, %x, %x bias(%b) sinks(%s) mask(<causal, chunk = 6>) softcap(3.0) empty_rows(uniform)
    : (!x, !x, !x, tensor<1x1x48x48xf32>, tensor<1xf32>) -> !x
  return %o : !x
}

//--- dynamic.mlir
!x = tensor<1x2x?x4xf32>
func.func @dynamic(%q: !x, %k: !x) -> !x {
  %o = ring.attention %q, %k, %k mask(<causal, align = bottom_right>) : (!x, !x, !x) -> !x
  return %o : !x
}

//--- twice.mlir
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @f(%x: !w, %n: tensor<1xi32>, %m: tensor<1xi32>) -> (!w, !w) {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0, %n) : (!b, !b, !b, tensor<1xi32>) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  %3 = call @r(%0, %0, %0, %m) : (!b, !b, !b, tensor<1xi32>) -> !b
  %4 = ring.gather %3 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2, %4 : !w, !w
}
func.func private @r(%q: !b, %k: !b, %v: !b, %n: tensor<1xi32>) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) lengths(%n : tensor<1xi32>) whole : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) lengths(%n : tensor<1xi32>) whole : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

//--- wrong.mlir
// Lengths that the rank function makes itself: the host does not know them.
!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<2x5xi64>
shard.grid @ring(shape = 2)
func.func @f(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = call @r(%0, %0, %0) : (!b, !b, !b) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @r(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %n = arith.constant dense<3> : tensor<1xi32>
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{ids, lengths, offsets or tables of a work list are no arguments of the rank function}}
  %s = ring.slices at(%c0, %owner in %t, %t) lengths(%n : tensor<1xi32>) whole : !t, !t
  return %q : !b
}

// -----

// Tables that are arguments, from nowhere.
!b = tensor<1x1x?x4xf32>
!w = tensor<1x1x4x4xf32>
!t = tensor<?x5xi64>
shard.grid @ring(shape = 2)
func.func @f(%x: !w, %t: !t) -> !w {
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{a layout table comes from no ring.tables}}
  %1 = call @r(%0, %0, %0, %t) : (!b, !b, !b, !t) -> !b
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %2 : !w
}
func.func private @r(%q: !b, %k: !b, %v: !b, %t: !t) -> !b attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%c0, %owner in %t, %t) whole : !t, !t
  return %q : !b
}

// -----

// A table that the rank function computes.
!b = tensor<1x1x?x4xf32>
!t = tensor<?x5xi64>
shard.grid @ring(shape = 2)
func.func private @r(%q: !b, %k: !b, %v: !b, %n: index, %i: tensor<?x5xi64>) -> !b attributes {ring.rank_of = @f} {
  %t:2 = ring.tables <zigzag> ranks 2 sizes(%n, %n) outs(%i, %i) : (index, index, !t, !t) -> (!t, !t)
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{layout table is neither a constant nor an argument}}
  %s = ring.slices at(%c0, %owner in %t#0, %t#1) whole : !t, !t
  return %q : !b
}

// -----

// Query and key tables that are two arguments in one work list and one in the
// other.
!b = tensor<1x1x?x4xf32>
!t = tensor<?x5xi64>
shard.grid @ring(shape = 2)
func.func private @r(%q: !b, %k: !b, %v: !b, %t: !t, %u: !t) -> !b attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-note @below {{the other is here}}
  %s = ring.slices at(%c0, %owner in %t, %u) whole : !t, !t
  // expected-error @below {{tables or mask differ from those of another work list of the function}}
  %w = ring.slices at(%c0, %owner in %t, %t) whole : !t, !t
  return %q : !b
}
