// RUN: ring-opt %s --ring-shard-attention=ranks=2 --split-input-file | FileCheck %s

// What each clause of ring.attention becomes: an operand of the rank function,
// on the work list, the step or the result.

// A bias with a row for each query is cut like the queries; its columns stay in
// the order of the whole sequence.
!q = tensor<2x4x8x4xf16>
!k = tensor<2x2x10x4xf16>
func.func @bias_rows(%q: !q, %k: !k, %b: tensor<2x1x8x10xf32>) -> !q {
  %o = ring.attention %q, %k, %k bias(%b) : (!q, !k, !k, tensor<2x1x8x10xf32>) -> !q
  return %o : !q
}
// CHECK-LABEL: func.func @bias_rows(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<2x4x8x4xf16>, %{{[^:]*}}: tensor<2x2x10x4xf16>, %[[B:[^:]*]]: tensor<2x1x8x10xf32>)
// CHECK-DAG:     %[[QT:.*]] = arith.constant dense<{{\[\[}}0, 0, 4, 4, 1], [1, 4, 4, 4, 1]]>
// CHECK-DAG:     %[[QL:.*]] = ring.scatter %[[Q]] by %[[QT]]
// CHECK:         %[[BL:.*]] = ring.scatter %[[B]] by %[[QT]] dim 2 on @ring axis 0 : {{.*}} -> tensor<2x1x?x10xf32>
// CHECK:         call @bias_rows_rank(%[[QL]], %{{.*}}, %{{.*}}, %[[BL]])
// CHECK-LABEL: func.func private @bias_rows_rank(
// CHECK-SAME:    %{{[^:]*}}: tensor<2x2x?x4xf16>, %[[B:[^:]*]]: tensor<2x1x?x10xf32>)
// CHECK:         ring.online_attention %{{.*}} slices(%{{[^)]*}}) bias(%[[B]]) scale(

// -----

// One row for all queries is the same on all ranks.
!q = tensor<2x4x8x4xf16>
!k = tensor<2x2x10x4xf16>
func.func @bias_one_row(%q: !q, %k: !k, %b: tensor<1x4x1x10xf16>) -> !q {
  %o = ring.attention %q, %k, %k bias(%b) : (!q, !k, !k, tensor<1x4x1x10xf16>) -> !q
  return %o : !q
}
// CHECK-LABEL: func.func @bias_one_row(
// CHECK-SAME:    %[[B:[^:]*]]: tensor<1x4x1x10xf16>)
// CHECK-COUNT-3: ring.scatter
// CHECK-NOT:     ring.scatter
// CHECK:         call @bias_one_row_rank(%{{.*}}, %{{.*}}, %{{.*}}, %[[B]])
// CHECK-LABEL: func.func private @bias_one_row_rank(
// CHECK-SAME:    %[[B:[^:]*]]: tensor<1x4x1x10xf16>)
// CHECK:         ring.online_attention %{{.*}} bias(%[[B]]) scale(

// -----

// Ids, lengths and offsets are replicated, and only the work list reads them.
!q = tensor<2x4x8x4xf16>
!k = tensor<2x2x10x4xf16>
func.func @visibility(%q: !q, %k: !k, %sq: tensor<2x8xi32>, %sk: tensor<2x10xi32>, %n: tensor<2xi32>, %o: tensor<2xi32>) -> !q {
  %r = ring.attention %q, %k, %k segments(%sq, %sk) lengths(%n) offsets(%o) mask(<causal>)
    : (!q, !k, !k, tensor<2x8xi32>, tensor<2x10xi32>, tensor<2xi32>, tensor<2xi32>) -> !q
  return %r : !q
}
// CHECK-LABEL: func.func @visibility(
// CHECK-SAME:    %[[SQ:[^:]*]]: tensor<2x8xi32>, %[[SK:[^:]*]]: tensor<2x10xi32>, %[[N:[^:]*]]: tensor<2xi32>, %[[O:[^:]*]]: tensor<2xi32>)
// CHECK-COUNT-3: ring.scatter
// CHECK-NOT:     ring.scatter
// CHECK:         call @visibility_rank(%{{.*}}, %{{.*}}, %{{.*}}, %[[SQ]], %[[SK]], %[[N]], %[[O]])
// CHECK-LABEL: func.func private @visibility_rank(
// CHECK-SAME:    %[[SQ:[^:]*]]: tensor<2x8xi32>, %[[SK:[^:]*]]: tensor<2x10xi32>, %[[N:[^:]*]]: tensor<2xi32>, %[[O:[^:]*]]: tensor<2xi32>)
// CHECK:         ring.slices at({{.*}}) segments(%[[SQ]], %[[SK]] : {{.*}}) lengths(%[[N]] : tensor<2xi32>) offsets(%[[O]] : tensor<2xi32>) mask(<causal>) whole
// CHECK:         ring.online_attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} slices(%{{[^)]*}}) scale(5.000000e-01) outs(

// -----

// Chunks and prefix are parts of the mask, and go where it goes.
!x = tensor<2x4x8x4xf32>
func.func @mask(%x: !x) -> !x {
  %o = ring.attention %x, %x, %x mask(<causal, window = [5, *], chunk = 6, prefix = 2>) : (!x, !x, !x) -> !x
  return %o : !x
}
// CHECK-LABEL: func.func private @mask_rank(
// CHECK:         ring.slices at({{.*}}) mask(<causal, window = [5, *], chunk = 6, prefix = 2>) whole

// -----

// Softcap and sinks: on the step, and on the result.
!x = tensor<2x4x8x4xf32>
func.func @softcap_and_sinks(%x: !x, %s: tensor<4xf32>) -> !x {
  %o = ring.attention %x, %x, %x sinks(%s) softcap(20.0) : (!x, !x, !x, tensor<4xf32>) -> !x
  return %o : !x
}
// CHECK-LABEL: func.func @softcap_and_sinks(
// CHECK-SAME:    %[[S:[^:]*]]: tensor<4xf32>)
// CHECK:         call @softcap_and_sinks_rank(%{{.*}}, %{{.*}}, %{{.*}}, %[[S]])
// CHECK-LABEL: func.func private @softcap_and_sinks_rank(
// CHECK-SAME:    %[[S:[^:]*]]: tensor<4xf32>)
// CHECK:         ring.online_attention {{.*}} scale(5.000000e-01) softcap(2.000000e+01) outs(
// CHECK-NOT:     sinks(
// CHECK:         ring.finalize %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} sinks(%[[S]]) outs(

// -----

// empty_rows(uniform): the host computes the mean of the values over all keys,
// in f64, once; every rank is given it.
!q = tensor<2x4x8x4xf16>
!k = tensor<2x2x10x4xf16>
func.func @uniform(%q: !q, %k: !k, %v: tensor<2x2x10x6xf16>) -> tensor<2x4x8x6xf16> {
  %o = ring.attention %q, %k, %v empty_rows(uniform) : (!q, !k, tensor<2x2x10x6xf16>) -> tensor<2x4x8x6xf16>
  return %o : tensor<2x4x8x6xf16>
}
// CHECK-DAG:   #[[ALL:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG:   #[[KEPT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-LABEL: func.func @uniform(
// CHECK-SAME:    %[[V:[^:]*]]: tensor<2x2x10x6xf16>)
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK:         %[[START:.*]] = linalg.fill ins(%[[ZERO]] : f64) outs(%{{.*}} : tensor<2x2x6xf64>)
// CHECK:         %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[KEPT]]], iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
// CHECK-SAME:      ins(%[[V]] : tensor<2x2x10x6xf16>) outs(%[[START]] : tensor<2x2x6xf64>)
// CHECK:           arith.addf %{{.*}} : f64
// CHECK:         %[[KEYS:.*]] = arith.constant 10 : index
// CHECK:         %[[CAST:.*]] = arith.index_cast %[[KEYS]] : index to i64
// CHECK:         %[[COUNT:.*]] = arith.sitofp %[[CAST]] : i64 to f64
// CHECK:         %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : {{.*}} outs(%{{.*}} : tensor<2x2x6xf32>)
// CHECK:           arith.divf %{{.*}}, %[[COUNT]] : f64
// CHECK:           arith.truncf %{{.*}} : f64 to f32
// CHECK:         call @uniform_rank(%{{.*}}, %{{.*}}, %{{.*}}, %[[MEAN]])
// CHECK-LABEL: func.func private @uniform_rank(
// CHECK-SAME:    %[[MEAN:[^:]*]]: tensor<2x2x6xf32>)
// CHECK-NOT:     %[[MEAN]]
// CHECK:         ring.finalize %{{.*}} empty_rows(uniform) mean(%[[MEAN]]) outs(

// -----

// empty_rows(nan) and what is the default: a word on the result.
!x = tensor<2x4x8x4xf32>
func.func @nan(%x: !x) -> (!x, !x) {
  %o = ring.attention %x, %x, %x empty_rows(nan) : (!x, !x, !x) -> !x
  %p = ring.attention %x, %x, %x empty_rows(zero) : (!x, !x, !x) -> !x
  return %o, %p : !x, !x
}
// CHECK-NOT: linalg.generic
// CHECK:     ring.finalize %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} empty_rows(zero) outs(
// CHECK-NOT: linalg.generic
// CHECK:     ring.finalize %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} empty_rows(nan) outs(

// -----

// A score region: what it captures is replicated, in the order of its first
// use and once; constants are made in the rank function.
!x = tensor<2x4x8x4xf32>
func.func @score(%x: !x, %unused: f32, %gain: f32, %slopes: tensor<4xf32>, %far: index) -> !x {
  %low = arith.constant -1.0e4 : f32
  %more = arith.constant 3 : index
  %shift = arith.addf %gain, %unused : f32
  %o = ring.attention %x, %x, %x score {
  ^bb0(%s: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %slope = tensor.extract %slopes[%head] : tensor<4xf32>
    %other = tensor.extract %slopes[%batch] : tensor<4xf32>
    %d = index.sub %qi, %ki
    %e = index.add %d, %more
    %near = index.cmp slt(%e, %far)
    %two = arith.constant 2.0 : f32
    %y = math.fma %slope, %two, %s : f32
    %z = math.fma %other, %gain, %y : f32
    %moved = arith.addf %z, %shift : f32
    %r = arith.select %near, %moved, %low : f32
    ring.yield %r : f32
  } : (!x, !x, !x) -> !x
  return %o : !x
}
// CHECK-LABEL: func.func @score(
// CHECK-SAME:    %[[UNUSED:[^:]*]]: f32, %[[GAIN:[^:]*]]: f32, %[[SLOPES:[^:]*]]: tensor<4xf32>, %[[FAR:[^:]*]]: index)
// CHECK:         %[[SHIFT:.*]] = arith.addf %[[GAIN]], %[[UNUSED]]
// CHECK:         call @score_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[SLOPES]], %[[FAR]], %[[GAIN]], %[[SHIFT]]) :
// CHECK-LABEL: func.func private @score_rank(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<2x4x?x4xf32>, %{{[^:]*}}: tensor<2x4x?x4xf32>, %{{[^:]*}}: tensor<2x4x?x4xf32>,
// CHECK-SAME:    %[[SLOPES:[^:]*]]: tensor<4xf32>, %[[FAR:[^:]*]]: index, %[[GAIN:[^:]*]]: f32, %[[SHIFT:[^:]*]]: f32)
// CHECK:         scf.for
// CHECK-DAG:       %[[LOW:.*]] = arith.constant -1.000000e+04 : f32
// CHECK-DAG:       %[[MORE:.*]] = arith.constant 3 : index
// CHECK:           ring.online_attention %[[Q]], {{.*}} score {
// CHECK-NEXT:      ^bb0(%[[S:[^:]*]]: f32, %[[BATCH:[^:]*]]: index, %[[HEAD:[^:]*]]: index, %[[QI:[^:]*]]: index, %[[KI:[^:]*]]: index):
// CHECK-NEXT:        %[[SLOPE:.*]] = tensor.extract %[[SLOPES]][%[[HEAD]]]
// CHECK-NEXT:        %[[OTHER:.*]] = tensor.extract %[[SLOPES]][%[[BATCH]]]
// CHECK-NEXT:        %[[D:.*]] = index.sub %[[QI]], %[[KI]]
// CHECK-NEXT:        %[[E:.*]] = index.add %[[D]], %[[MORE]]
// CHECK-NEXT:        %[[NEAR:.*]] = index.cmp slt(%[[E]], %[[FAR]])
// CHECK-NEXT:        %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:        %[[Y:.*]] = math.fma %[[SLOPE]], %[[TWO]], %[[S]]
// CHECK-NEXT:        %[[Z:.*]] = math.fma %[[OTHER]], %[[GAIN]], %[[Y]]
// CHECK-NEXT:        %[[MOVED:.*]] = arith.addf %[[Z]], %[[SHIFT]]
// CHECK-NEXT:        %[[R:.*]] = arith.select %[[NEAR]], %[[MOVED]], %[[LOW]]
// CHECK-NEXT:        ring.yield %[[R]]

// -----

// All of them: the bias that is cut comes before what is replicated.
!x = tensor<2x4x8x4xf32>
func.func @all(%x: !x, %g: f32, %s: tensor<4xf32>, %o: tensor<2xi32>, %n: tensor<2xi32>, %ids: tensor<2x8xi32>, %b: tensor<2x4x8x8xf32>) -> (!x, tensor<2x4x8xf32>) {
  %out, %lse = ring.attention %x, %x, %x bias(%b) segments(%ids, %ids) lengths(%n) offsets(%o) sinks(%s) empty_rows(uniform) score {
  ^bb0(%y: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %z = arith.mulf %y, %g : f32
    ring.yield %z : f32
  } : (!x, !x, !x, tensor<2x4x8x8xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xf32>) -> (!x, tensor<2x4x8xf32>)
  return %out, %lse : !x, tensor<2x4x8xf32>
}
// CHECK-LABEL: func.func @all(
// CHECK-SAME:    %[[G:[^:]*]]: f32, %[[S:[^:]*]]: tensor<4xf32>, %[[O:[^:]*]]: tensor<2xi32>, %[[N:[^:]*]]: tensor<2xi32>, %[[IDS:[^:]*]]: tensor<2x8xi32>, %[[B:[^:]*]]: tensor<2x4x8x8xf32>)
// CHECK:         %[[MEAN:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x4x4xf32>)
// CHECK:         %[[BL:.*]] = ring.scatter %[[B]]
// CHECK:         call @all_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[BL]], %[[IDS]], %[[IDS]], %[[N]], %[[O]], %[[S]], %[[MEAN]], %[[G]])
// CHECK-LABEL: func.func private @all_rank(
// CHECK-SAME:    %[[B:[^:]*]]: tensor<2x4x?x8xf32>, %[[SQ:[^:]*]]: tensor<2x8xi32>, %[[SK:[^:]*]]: tensor<2x8xi32>, %[[N:[^:]*]]: tensor<2xi32>, %[[O:[^:]*]]: tensor<2xi32>, %[[S:[^:]*]]: tensor<4xf32>, %[[MEAN:[^:]*]]: tensor<2x4x4xf32>, %[[G:[^:]*]]: f32)
// CHECK:         ring.slices at({{.*}}) segments(%[[SQ]], %[[SK]] : {{.*}}) lengths(%[[N]] : {{.*}}) offsets(%[[O]] :
// CHECK:         ring.online_attention {{.*}} bias(%[[B]])
// CHECK:           arith.mulf %{{.*}}, %[[G]]
// CHECK:         ring.finalize {{.*}} sinks(%[[S]]) empty_rows(uniform) mean(%[[MEAN]]) outs(

// -----

// What belongs to one attention is not given to the other's rank function.
!x = tensor<1x2x8x4xf32>
func.func @two(%x: !x, %n: tensor<1xi32>) -> (!x, !x) {
  %o = ring.attention %x, %x, %x lengths(%n) : (!x, !x, !x, tensor<1xi32>) -> !x
  %p = ring.attention %o, %x, %x : (!x, !x, !x) -> !x
  return %o, %p : !x, !x
}
// CHECK-LABEL: func.func @two(
// CHECK-SAME:    %[[N:[^:]*]]: tensor<1xi32>)
// CHECK:         call @[[FIRST:two_rank[_0-9]*]](%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[N]])
// CHECK:         call @[[SECOND:two_rank[_0-9]*]](%{{[^,]*}}, %{{[^,]*}}, %{{[^,)]*}}) :
