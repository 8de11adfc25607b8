// RUN: split-file %s %t
// DEFINE: %{file} = %t/softcap.mlir
// DEFINE: %{convert} = ring-opt %{file} --convert-ring-to-vector=vector-bits=128 --canonicalize
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --implicit-check-not=math.exp --implicit-check-not=math.tanh --check-prefix
// DEFINE: %{no_nan} = %python %ring_src_root/test/Target/CPU/Inputs/nan_constants.py

// What changes a score, in the order of the contract: scale, softcap, bias, the
// `score` region, the mask.

//===----------------------------------------------------------------------===//
// Softcap
//===----------------------------------------------------------------------===//

// cap * tanh(x / cap) on vectors, without libm: a polynomial near 0, exp(-2|x|)
// else, with the sign of x.
// RUN: %{convert} -o %t.softcap
// RUN: %{check} SOFTCAP < %t.softcap
// RUN: %{no_nan} %t.softcap
// SOFTCAP-LABEL: func.func private @f_attention(
// SOFTCAP-DAG:     %[[CAP:.*]] = arith.constant dense<3.000000e+01> : vector<8xf32>
// SOFTCAP-DAG:     %[[SCALE:.*]] = arith.constant dense<5.000000e-01> : vector<8xf32>
// Neither positions nor a bias are asked for.
// SOFTCAP-NOT:     call @ring_slices_query_positions(
// SOFTCAP-NOT:     call @ring_slices_key_positions(
// SOFTCAP:         %[[X:.*]] = arith.mulf %{{.*}}, %[[SCALE]] : vector<8xf32>
// SOFTCAP-NEXT:    %[[Y:.*]] = arith.divf %[[X]], %[[CAP]] : vector<8xf32>
// SOFTCAP-NEXT:    %[[ABS:.*]] = math.absf %[[Y]] : vector<8xf32>
// SOFTCAP:         vector.fma
// SOFTCAP:         %[[FAR:.*]] = math.copysign %{{.*}}, %[[Y]] : vector<8xf32>
// SOFTCAP:         %[[IS_NEAR:.*]] = arith.cmpf olt, %[[ABS]], %{{.*}} : vector<8xf32>
// SOFTCAP:         %[[TANH:.*]] = arith.select %[[IS_NEAR]], %{{.*}}, %[[FAR]]
// SOFTCAP-NEXT:    %[[CAPPED:.*]] = arith.mulf %[[TANH]], %[[CAP]] : vector<8xf32>
// SOFTCAP-NEXT:    vector.store %[[CAPPED]], %{{.*}} : memref<96x64xf32>

//===----------------------------------------------------------------------===//
// Bias
//===----------------------------------------------------------------------===//

// A tile of it is loaded once, [key][query]: the row is the rank's own, the
// column the key's place in the whole sequence.
// REDEFINE: %{file} = %t/bias.mlir
// RUN: %{convert} -o %t.bias
// RUN: %{check} BIAS < %t.bias
// RUN: %{no_nan} %t.bias
// BIAS-LABEL: func.func private @f_attention(
// BIAS-SAME:    %[[ITEM:[^:]*]]: index, %{{[^:]*}}: memref<2x4x?x16xbf16>, %{{[^:]*}}: memref<2x2x?x16xbf16>, %{{[^:]*}}: memref<2x2x?x16xbf16>, %{{[^:]*}}: !llvm.ptr, %[[B:[^:]*]]: memref<1x4x?x32xbf16>,
// BIAS-DAG:     %[[TILE:.*]] = memref.alloca() {{.*}} : memref<96x64xf32>
// BIAS-DAG:     %[[PLACES:.*]] = memref.alloca() {{.*}} : memref<96xi64>
// BIAS:         %[[HEAD:.*]] = arith.remui %{{.*}}, %c4 : index
// BIAS:         call @ring_slices_query_range(
// BIAS-NEXT:    memref.load
// BIAS-NEXT:    %[[BEGIN:.*]] = arith.index_cast %{{.*}} : i64 to index
// BIAS:         %[[ROWS:.*]] = arith.subi %{{.*}}, %[[BEGIN]] : index
// No query positions: the rank's rows are its queries.
// BIAS-NOT:     call @ring_slices_query_positions(
// BIAS:         call @ring_slices_key_positions(
// BIAS:         scf.for %[[J:.*]] = %c0 to %{{.*}} step %c1 {
// BIAS-NEXT:      %[[PLACE:.*]] = memref.load %[[PLACES]][%[[J]]] : memref<96xi64>
// BIAS-NEXT:      %[[COLUMN:.*]] = arith.index_cast %[[PLACE]] : i64 to index
// BIAS-NEXT:      scf.for %[[R:.*]] = %c0 to %[[ROWS]] step %c1 {
// BIAS-NEXT:        %[[ROW:.*]] = arith.addi %[[BEGIN]], %[[R]]
// A batch of 1 is broadcast; bf16 is widened.
// BIAS-NEXT:        %[[NARROW:.*]] = memref.load %[[B]][%c0, %[[HEAD]], %[[ROW]], %[[COLUMN]]] : memref<1x4x?x32xbf16>
// BIAS:             memref.store %{{.*}}, %[[BT:[a-z_0-9]*]][%[[J]], %[[R]]] : memref<96x64xf32>
// Added to the scaled score, before anything else.
// BIAS:         %[[X:.*]] = arith.mulf %{{.*}} : vector<8xf32>
// BIAS-NEXT:    %[[ADD:.*]] = vector.load %[[BT]][%{{.*}}, %{{.*}}] : memref<96x64xf32>, vector<8xf32>
// BIAS-NEXT:    %[[Y:.*]] = arith.addf %[[X]], %[[ADD]] : vector<8xf32>
// BIAS-NEXT:    vector.store %[[Y]],
// In a partial range the mask comes after it.
// BIAS:         call @ring_slices_visible(
// BIAS:         %[[Z:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// BIAS:         %[[SEEN:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : vector<8xi8>
// BIAS-NEXT:    arith.select %[[SEEN]], %[[Z]], %{{.*}} : vector<8xi1>, vector<8xf32>

// One row for all queries: one look-up a key, in all lanes.
// RUN: sed -e 's/1x4x?x32xbf16/2x1x1x32xf32/' %t/bias.mlir | ring-opt --convert-ring-to-vector=vector-bits=128 --canonicalize | %{check} ONEROW
// ONEROW-LABEL: func.func private @f_attention(
// ONEROW-SAME:    !llvm.ptr, %[[B:[^:]*]]: memref<2x1x1x32xf32>,
// ONEROW:         %[[BATCH:.*]] = arith.divui %{{.*}}, %c4 : index
// ONEROW:         call @ring_slices_key_positions(
// ONEROW:         scf.for %[[J:.*]] = %c0 to %{{.*}} step %c1 {
// ONEROW-NEXT:      memref.load
// ONEROW-NEXT:      %[[COLUMN:.*]] = arith.index_cast %{{.*}} : i64 to index
// ONEROW-NEXT:      %[[ONE:.*]] = memref.load %[[B]][%[[BATCH]], %c0, %c0, %[[COLUMN]]]
// ONEROW-NEXT:      %[[ALL:.*]] = vector.broadcast %[[ONE]] : f32 to vector<64xf32>
// ONEROW-NEXT:      vector.store %[[ALL]], %{{.*}}[%[[J]], %c0] : memref<96x64xf32>, vector<64xf32>
// ONEROW-NEXT:    }

//===----------------------------------------------------------------------===//
// The score region
//===----------------------------------------------------------------------===//

// What is the same for all queries (head, key, what is captured) stays scalar;
// what depends on the score or the query becomes a vector; a look-up by the
// query, and the index dialect, go lane by lane.
// REDEFINE: %{file} = %t/score.mlir
// RUN: %{convert} -o %t.score
// RUN: %{check} SCORE < %t.score
// RUN: %{no_nan} %t.score
// SCORE-LABEL: func.func private @f_attention(
// SCORE-SAME:    %{{[^:]*}}: memref<2x4x?xf32>, %{{[^:]*}}: memref<2x4x?xf32>, %[[SLOPES:[^:]*]]: memref<4xf32>, %[[GAIN:[^:]*]]: f32, %[[FAR:[^:]*]]: index, %[[TABLE:[^:]*]]: memref<32x32xf32>)
// SCORE-DAG:     %[[LOW:.*]] = arith.constant dense<-1.000000e+04> : vector<8xf32>
// SCORE-DAG:     %[[QPLACES:.*]] = memref.alloca() {{.*}} : memref<64xi64>
// SCORE-DAG:     %[[KPLACES:.*]] = memref.alloca() {{.*}} : memref<96xi64>
// SCORE:         %[[HEAD:.*]] = arith.remui %{{.*}}, %c4 : index
// SCORE:         call @ring_slices_query_positions(
// SCORE:         call @ring_slices_key_positions(
// SCORE:         %[[X:.*]] = arith.mulf %{{.*}} : vector<8xf32>
// SCORE-NEXT:    %[[QP:.*]] = vector.load %[[QPLACES]][%{{.*}}] : memref<64xi64>, vector<8xi64>
// SCORE-NEXT:    %[[QI:.*]] = arith.index_cast %[[QP]] : vector<8xi64> to vector<8xindex>
// SCORE-NEXT:    %[[KP:.*]] = memref.load %[[KPLACES]][%{{.*}}] : memref<96xi64>
// SCORE-NEXT:    %[[KI:.*]] = arith.index_cast %[[KP]] : i64 to index
// SCORE-NEXT:    %[[SLOPE:.*]] = memref.load %[[SLOPES]][%[[HEAD]]] : memref<4xf32>
// SCORE-NEXT:    %[[GAINED:.*]] = arith.mulf %[[SLOPE]], %[[GAIN]] : f32
// SCORE-NEXT:    %[[Q32:.*]] = arith.index_cast %[[QI]] : vector<8xindex> to vector<8xi32>
// SCORE-NEXT:    %[[K32:.*]] = arith.index_cast %[[KI]] : index to i32
// SCORE-NEXT:    %[[KV:.*]] = vector.broadcast %[[K32]] : i32 to vector<8xi32>
// SCORE-NEXT:    %[[D:.*]] = arith.subi %[[Q32]], %[[KV]] : vector<8xi32>
// SCORE-NEXT:    %[[F:.*]] = arith.sitofp %[[D]] : vector<8xi32> to vector<8xf32>
// SCORE-NEXT:    %[[GV:.*]] = vector.broadcast %[[GAINED]] : f32 to vector<8xf32>
// SCORE-NEXT:    %[[Y:.*]] = math.fma %[[GV]], %[[F]], %[[X]] : vector<8xf32>
// SCORE-NEXT:    %[[DD:.*]] = scf.for %[[LANE:.*]] = %c0 to %c8 step %c1 iter_args(%[[V:.*]] = %{{.*}}) -> (vector<8xindex>) {
// SCORE-NEXT:      %[[ONE:.*]] = vector.extract %[[QI]][%[[LANE]]]
// SCORE-NEXT:      %[[SUB:.*]] = index.sub %[[ONE]], %[[KI]]
// SCORE-NEXT:      vector.insert %[[SUB]], %[[V]] [%[[LANE]]]
// SCORE:         %[[NEAR:.*]] = scf.for %{{.*}} -> (vector<8xi1>) {
// SCORE:           index.cmp slt(%{{.*}}, %[[FAR]])
// SCORE:         %[[Z:.*]] = scf.for %[[LANE:.*]] = %c0 to %c8 step %c1 {{.*}} -> (vector<8xf32>) {
// SCORE-NEXT:      %[[ONE:.*]] = vector.extract %[[QI]][%[[LANE]]]
// SCORE-NEXT:      memref.load %[[TABLE]][%[[ONE]], %[[KI]]] : memref<32x32xf32>
// SCORE:         %[[W:.*]] = arith.addf %[[Y]], %[[Z]] : vector<8xf32>
// SCORE-NEXT:    %[[R:.*]] = arith.select %[[NEAR]], %[[W]], %[[LOW]] : vector<8xi1>, vector<8xf32>
// SCORE-NEXT:    vector.store %[[R]],
// What it captures follows the op's operands.
// SCORE-LABEL: func.func @f(
// SCORE-SAME:    %[[S:[^:]*]]: memref<4xf32>, %[[T:[^:]*]]: memref<32x32xf32>, %[[G:[^:]*]]: f32, %[[I:[^:]*]]: index)
// SCORE:         ring.parallel_call @f_attention(%{{.*}}) ({{.*}}, %[[S]], %[[G]], %[[I]], %[[T]]) :

// A region that only knows the key gives every lane the same, one that yields a
// constant a constant.
// REDEFINE: %{file} = %t/uniform.mlir
// RUN: %{convert} | %{check} UNIFORM
// UNIFORM-LABEL: func.func private @f_attention(
// UNIFORM:         %[[KP:.*]] = memref.load %{{.*}} : memref<96xi64>
// UNIFORM-NEXT:    %[[KI:.*]] = arith.index_cast %[[KP]] : i64 to index
// UNIFORM-NEXT:    %[[W:.*]] = memref.load %{{.*}}[%[[KI]]] : memref<32xf32>
// UNIFORM-NEXT:    %[[ALL:.*]] = vector.broadcast %[[W]] : f32 to vector<8xf32>
// UNIFORM-NEXT:    vector.store %[[ALL]],

// All of them at once, with a mask: bias and region see the capped score.
// REDEFINE: %{file} = %t/all.mlir
// RUN: %{convert} | %{check} EVERY
// EVERY-LABEL: func.func private @f_attention(
// EVERY-DAG:     %[[CAP:.*]] = arith.constant dense<3.000000e+01> : vector<8xf32>
// EVERY:         call @ring_slices_visible(
// EVERY:         %[[CAPPED:.*]] = arith.mulf %{{.*}}, %[[CAP]] : vector<8xf32>
// EVERY-NEXT:    %[[B:.*]] = vector.load {{.*}} : memref<96x64xf32>, vector<8xf32>
// EVERY-NEXT:    %[[BIASED:.*]] = arith.addf %[[CAPPED]], %[[B]] : vector<8xf32>
// EVERY:         %[[NEG:.*]] = arith.negf %[[BIASED]] : vector<8xf32>
// EVERY:         %[[SEEN:.*]] = arith.cmpi ne, %{{.*}} : vector<8xi8>
// EVERY-NEXT:    %[[R:.*]] = arith.select %[[SEEN]], %[[NEG]], %{{.*}} : vector<8xi1>, vector<8xf32>
// EVERY-NEXT:    vector.store %[[R]],

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// Steps whose regions are equal share a kernel, whatever they call things;
// another look-up, another captured tensor or another constant makes another.
// RUN: ring-opt %t/shared.mlir --convert-ring-to-vector --canonicalize | FileCheck %s --check-prefix=SHARED --implicit-check-not="func.func private @{{f_att}}"
// SHARED:     func.func private @f_attention(
// SHARED:     func.func private @[[INDEX:f_attention_[0-9]+]](
// SHARED:     func.func private @[[TENSOR:f_attention_[0-9]+]](
// SHARED:     func.func private @[[CONSTANT:f_attention_[0-9]+]](
// SHARED:     ring.parallel_call @f_attention(%{{.*}}) ({{.*}}, %[[A:[^ ,]*]]) :
// SHARED:     ring.parallel_call @f_attention(%{{.*}}) ({{.*}}, %[[A]]) :
// SHARED:     ring.parallel_call @[[INDEX]](%{{.*}}) ({{.*}}, %[[A]]) :
// SHARED:     ring.parallel_call @[[TENSOR]](%{{.*}}) ({{.*}}, %[[B:[^ ,]*]]) :
// SHARED:     ring.parallel_call @[[CONSTANT]](%{{.*}}) ({{.*}}, %[[A]]) :
// SHARED-NOT: ring.parallel_call

// A second time changes nothing.
// RUN: ring-opt --convert-ring-to-vector --canonicalize %t.score | diff %t.score -

//--- softcap.mlir
!q = memref<2x4x?x16xf32>
!k = memref<2x2x?x16xf32>
!r = memref<2x4x?xf32>
func.func @f(%q: !q, %k: !k, %s: !ring.slices, %acc: !q, %max: !r, %sum: !r) {
  ring.online_attention %q, %k, %k slices(%s) scale(0.5) softcap(30.0) outs(%acc, %max, %sum) : (!q, !k, !k, !ring.slices, !q, !r, !r) -> ()
  return
}

//--- bias.mlir
!q = memref<2x4x?x16xbf16>
!k = memref<2x2x?x16xbf16>
!w = memref<2x4x?x16xf32>
!r = memref<2x4x?xf32>
!b = memref<1x4x?x32xbf16>
func.func @f(%q: !q, %k: !k, %s: !ring.slices, %b: !b, %acc: !w, %max: !r, %sum: !r) {
  ring.online_attention %q, %k, %k slices(%s) bias(%b) scale(0.5) outs(%acc, %max, %sum) : (!q, !k, !k, !ring.slices, !b, !w, !r, !r) -> ()
  return
}

//--- score.mlir
!q = memref<2x4x?x16xf32>
!k = memref<2x2x?x16xf32>
!r = memref<2x4x?xf32>
func.func @f(%q: !q, %k: !k, %s: !ring.slices, %acc: !q, %max: !r, %sum: !r, %slopes: memref<4xf32>, %table: memref<32x32xf32>, %gain: f32, %far: index) {
  %low = arith.constant -1.0e4 : f32
  ring.online_attention %q, %k, %k slices(%s) scale(0.5) outs(%acc, %max, %sum) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %slope = memref.load %slopes[%head] : memref<4xf32>
    %gained = arith.mulf %slope, %gain : f32
    %q32 = arith.index_cast %qi : index to i32
    %k32 = arith.index_cast %ki : index to i32
    %d = arith.subi %q32, %k32 : i32
    %f = arith.sitofp %d : i32 to f32
    %y = math.fma %gained, %f, %x : f32
    %dd = index.sub %qi, %ki
    %near = index.cmp slt(%dd, %far)
    %z = memref.load %table[%qi, %ki] : memref<32x32xf32>
    %w = arith.addf %y, %z : f32
    %r = arith.select %near, %w, %low : f32
    ring.yield %r : f32
  } : (!q, !k, !k, !ring.slices, !q, !r, !r) -> ()
  return
}

//--- uniform.mlir
!q = memref<2x4x?x16xf32>
!r = memref<2x4x?xf32>
func.func @f(%q: !q, %s: !ring.slices, %acc: !q, %max: !r, %sum: !r, %weights: memref<32xf32>) {
  ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %w = memref.load %weights[%ki] : memref<32xf32>
    ring.yield %w : f32
  } : (!q, !q, !q, !ring.slices, !q, !r, !r) -> ()
  return
}

//--- all.mlir
!q = memref<2x4x?x16xf32>
!r = memref<2x4x?xf32>
!b = memref<2x4x?x32xf32>
func.func @f(%q: !q, %s: !ring.slices, %b: !b, %acc: !q, %max: !r, %sum: !r) {
  ring.online_attention %q, %q, %q slices(%s) bias(%b) scale(0.5) softcap(30.0) outs(%acc, %max, %sum) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %y = arith.negf %x : f32
    ring.yield %y : f32
  } : (!q, !q, !q, !ring.slices, !b, !q, !r, !r) -> ()
  return
}

//--- shared.mlir
!q = memref<2x4x?x16xf32>
!r = memref<2x4x?xf32>
func.func @f(%q: !q, %s: !ring.slices, %acc: !q, %max: !r, %sum: !r, %a: memref<4xf32>, %b: memref<4xf32>) {
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %y = memref.load %a[%head] : memref<4xf32>
    %z = math.fma %x, %two, %y : f32
    ring.yield %z : f32
  } : (!q, !q, !q, !ring.slices, !q, !r, !r) -> ()
  ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) score {
  ^bb0(%score: f32, %i: index, %j: index, %k: index, %l: index):
    %slope = memref.load %a[%j] : memref<4xf32>
    %r = math.fma %score, %two, %slope : f32
    ring.yield %r : f32
  } : (!q, !q, !q, !ring.slices, !q, !r, !r) -> ()
  ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %y = memref.load %a[%batch] : memref<4xf32>
    %z = math.fma %x, %two, %y : f32
    ring.yield %z : f32
  } : (!q, !q, !q, !ring.slices, !q, !r, !r) -> ()
  ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %y = memref.load %b[%head] : memref<4xf32>
    %z = math.fma %x, %two, %y : f32
    ring.yield %z : f32
  } : (!q, !q, !q, !ring.slices, !q, !r, !r) -> ()
  ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %y = memref.load %a[%head] : memref<4xf32>
    %z = math.fma %x, %three, %y : f32
    ring.yield %z : f32
  } : (!q, !q, !q, !ring.slices, !q, !r, !r) -> ()
  return
}
