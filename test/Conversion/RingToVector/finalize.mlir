// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --implicit-check-not="math.log" --check-prefix

// A work item is one head of one batch entry; rows are divided as vectors and
// the logarithm is not libm's.
// RUN: ring-opt %t/finalize.mlir --convert-ring-to-vector --canonicalize -o %t.out
// RUN: %{check} CHECK < %t.out
// CHECK-LABEL: func.func private @f_finalize(%arg0: index,
// CHECK:         %[[BATCH:.*]] = arith.divui %arg0, %c4 : index
// CHECK:         %[[HEAD:.*]] = arith.remui %arg0, %c4 : index
// CHECK:         scf.for %[[ROW:.*]] = %c0 to %{{.*}} step %c1
// A row that saw nothing is divided by 1.
// CHECK:           %[[SUM:.*]] = memref.load %{{.*}}[%[[BATCH]], %[[HEAD]], %[[ROW]]] : memref<2x4x?xf32>
// CHECK:           %[[NONE:.*]] = arith.cmpf oeq, %[[SUM]], %[[ZERO:.*]] : f32
// CHECK:           %[[DIVISOR:.*]] = arith.select %[[NONE]], %[[ONE:.*]], %[[SUM]] : f32
// CHECK:           vector.broadcast %[[DIVISOR]] : f32 to vector<16xf32>
// CHECK:           arith.divf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:           arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
// CHECK:           memref.store %{{.*}}, %{{.*}}[%[[BATCH]], %[[HEAD]], %[[ROW]]] : memref<2x4x?xf32, strided
// CHECK-LABEL: func.func @f(
// CHECK:         ring.parallel_call @f_finalize(%{{.*}}, %{{.*}}) (%arg0, %arg1, %arg2, %arg3, %arg4)
// CHECK-NEXT:    return

// Without the log-sum-exp none is computed.
// RUN: sed -e 's/outs(%%o, %%lse)/outs(%%o)/; s/, !o, !e) -> ()/, !o) -> ()/' %t/finalize.mlir | ring-opt --convert-ring-to-vector --canonicalize | %{check} OUT --implicit-check-not=math.fma
// OUT: ring.parallel_call @f_finalize(%{{.*}}, %{{.*}}) (%arg0, %arg1, %arg2, %arg3) :

// RUN: ring-opt %t/finalize.mlir --convert-ring-to-vector=vector-bits=256 | %{check} B256 --implicit-check-not="vector<16xf32>"
// B256: arith.divf %{{.*}}, %{{.*}} : vector<8xf32>

// A row that saw nothing must not become NaN by way of a constant.
// DEFINE: %{no_nan} = %python %ring_src_root/test/Target/CPU/Inputs/nan_constants.py
// RUN: %{no_nan} %t.out
// RUN: ring-opt --convert-ring-to-vector --canonicalize %t.out | diff %t.out -

//===----------------------------------------------------------------------===//
// Sinks
//===----------------------------------------------------------------------===//

// max' = the larger of max and the head's sink, sum' = sum * exp(max - max') +
// exp(sink - max'), acc' = acc * exp(max - max'): here and nowhere else.
// RUN: ring-opt %t/sinks.mlir --convert-ring-to-vector --canonicalize -o %t.sinks
// RUN: %{check} SINKS < %t.sinks
// RUN: %{no_nan} %t.sinks
// SINKS-LABEL: func.func private @f_finalize(%arg0: index,
// SINKS-SAME:    %[[ACC:[^:]*]]: memref<2x4x?x48xf32>, %[[MAX:[^:]*]]: memref<2x4x?xf32>, %[[SUM:[^:]*]]: memref<2x4x?xf32>, %[[SINKS:[^:]*]]: memref<4xf32>,
// SINKS-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// SINKS-DAG:     %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// SINKS:         %[[HEAD:.*]] = arith.remui %arg0, %c4 : index
// SINKS:         %[[S:.*]] = memref.load %[[SUM]][
// SINKS-NEXT:    %[[M:.*]] = memref.load %[[MAX]][
// Whether the row saw anything is known before the sink.
// SINKS-NEXT:    %[[NONE:.*]] = arith.cmpf oeq, %[[S]], %[[ZERO]] : f32
// SINKS-NEXT:    %[[SINK:.*]] = memref.load %[[SINKS]][%[[HEAD]]] : memref<4xf32>
// SINKS-NEXT:    %[[ABOVE:.*]] = arith.cmpf ogt, %[[SINK]], %[[M]] : f32
// SINKS-NEXT:    %[[RAISED:.*]] = arith.select %[[ABOVE]], %[[SINK]], %[[M]] : f32
// SINKS:         %[[MV:.*]] = vector.broadcast %[[M]] : f32 to vector<16xf32>
// SINKS-NEXT:    arith.subf %[[MV]], %[[BASE:.*]] : vector<16xf32>
// SINKS:         arith.cmpf olt,
// SINKS-NEXT:    %[[DECAY:.*]] = arith.select %{{.*}} : vector<16xi1>, vector<16xf32>
// SINKS-NEXT:    %[[SV:.*]] = vector.broadcast %[[SINK]] : f32 to vector<16xf32>
// SINKS-NEXT:    arith.subf %[[SV]], %[[BASE]] : vector<16xf32>
// SINKS:         %[[D:.*]] = vector.extract %[[DECAY]][0]
// SINKS-NEXT:    %[[OLD:.*]] = arith.mulf %[[S]], %[[D]] : f32
// SINKS-NEXT:    %[[OFSINK:.*]] = vector.extract %{{.*}}[0]
// SINKS-NEXT:    %[[TOTAL:.*]] = arith.addf %[[OLD]], %[[OFSINK]] : f32
// SINKS-NEXT:    %[[DIVISOR:.*]] = arith.select %[[NONE]], %[[ONE]], %[[TOTAL]] : f32
// SINKS-NEXT:    %[[DV:.*]] = vector.broadcast %[[DIVISOR]]
// SINKS:         %[[A:.*]] = arith.mulf %{{.*}}, %[[DECAY]] : vector<16xf32>
// SINKS-NEXT:    arith.divf %[[A]], %[[DV]] : vector<16xf32>
// The sink is part of the log-sum-exp.
// SINKS:         arith.bitcast %[[TOTAL]] : f32 to i32
// SINKS:         %[[LSE:.*]] = arith.addf %[[RAISED]], %{{.*}} : f32
// SINKS-NEXT:    memref.store %[[LSE]],

//===----------------------------------------------------------------------===//
// Rows that saw nothing
//===----------------------------------------------------------------------===//

// `nan`: 0 divided by 0, whatever the total is.
// RUN: sed -e 's/outs(/empty_rows(nan) outs(/' %t/finalize.mlir | ring-opt --convert-ring-to-vector --canonicalize -o %t.nan
// RUN: %{check} NAN < %t.nan
// RUN: %{no_nan} %t.nan
// NAN-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// NAN:     %[[SUM:.*]] = memref.load
// NAN:     %[[NONE:.*]] = arith.cmpf oeq, %[[SUM]], %[[ZERO]] : f32
// NAN:     %[[DIVISOR:.*]] = arith.select %[[NONE]], %[[ZERO]], %[[SUM]] : f32
// NAN:     %[[DV:.*]] = vector.broadcast %[[DIVISOR]]
// NAN:     arith.divf %{{.*}}, %[[DV]] : vector<16xf32>
// `zero`, said out loud, is what there is without it.
// RUN: sed -e 's/outs(/empty_rows(zero) outs(/' %t/finalize.mlir | ring-opt --convert-ring-to-vector --canonicalize | diff %t.out -

// `uniform`: the mean of the values of this batch entry and key/value head, in
// place of the quotient. Four heads share two means.
// RUN: ring-opt %t/mean.mlir --convert-ring-to-vector --canonicalize -o %t.mean
// RUN: %{check} MEAN < %t.mean
// RUN: %{no_nan} %t.mean
// MEAN-LABEL: func.func private @f_finalize(%arg0: index,
// MEAN-SAME:    %[[MEANS:[^:]*]]: memref<2x2x48xf32>, %[[O:[^:]*]]: memref<2x4x?x48xf32>)
// MEAN-DAG:     %[[ROW:.*]] = memref.alloca() {{.*}} : memref<1x48xf32>
// MEAN:         %[[BATCH:.*]] = arith.divui %arg0, %c4 : index
// MEAN:         %[[HEAD:.*]] = arith.remui %arg0, %c4 : index
// MEAN:         %[[NONE:.*]] = arith.cmpf oeq, %{{.*}}, %{{.*}} : f32
// MEAN:         arith.divf
// MEAN:         scf.if %[[NONE]] {
// MEAN-NEXT:      %[[KV:.*]] = arith.divui %[[HEAD]], %c2 : index
// MEAN-NEXT:      scf.for %[[C:.*]] = %c0 to %c48 step %c1 {
// MEAN-NEXT:        %[[X:.*]] = memref.load %[[MEANS]][%[[BATCH]], %[[KV]], %[[C]]] : memref<2x2x48xf32>
// MEAN-NEXT:        memref.store %[[X]], %[[ROW]][%c0, %[[C]]]
// MEAN-NEXT:      }
// MEAN-NEXT:    }
// MEAN:         memref.reinterpret_cast %[[O]]

// Each of them is a kernel of its own; equal ones share it.
// RUN: ring-opt %t/kernels.mlir --convert-ring-to-vector --canonicalize | %{check} KERNELS --implicit-check-not="func.func private"
// KERNELS: func.func private @f_finalize(
// KERNELS: func.func private @[[OTHER:f_finalize_.*]](%arg0
// KERNELS: ring.parallel_call @f_finalize(
// KERNELS: ring.parallel_call @[[OTHER]](
// KERNELS: ring.parallel_call @f_finalize(

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/refused.mlir --convert-ring-to-vector --canonicalize --split-input-file --verify-diagnostics -o /dev/null

//--- finalize.mlir
!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
!o = memref<2x4x?x48xf16, strided<[?, ?, ?, ?], offset: ?>>
!e = memref<2x4x?xf32, strided<[?, ?, ?], offset: ?>>
func.func @f(%acc: !w, %max: !r, %sum: !r, %o: !o, %lse: !e) {
  ring.finalize %acc, %max, %sum outs(%o, %lse) : (!w, !r, !r, !o, !e) -> ()
  return
}

//--- sinks.mlir
!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
func.func @f(%acc: !w, %max: !r, %sum: !r, %s: memref<4xf32>, %o: !w, %lse: !r) {
  ring.finalize %acc, %max, %sum sinks(%s) outs(%o, %lse) : (!w, !r, !r, memref<4xf32>, !w, !r) -> ()
  return
}

//--- mean.mlir
!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
func.func @f(%acc: !w, %max: !r, %sum: !r, %m: memref<2x2x48xf32>, %o: !w) {
  ring.finalize %acc, %max, %sum empty_rows(uniform) mean(%m) outs(%o) : (!w, !r, !r, memref<2x2x48xf32>, !w) -> ()
  return
}

//--- kernels.mlir
!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
func.func @f(%acc: !w, %max: !r, %sum: !r, %o: !w) {
  ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> ()
  ring.finalize %acc, %max, %sum empty_rows(nan) outs(%o) : (!w, !r, !r, !w) -> ()
  ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> ()
  return
}

//--- refused.mlir
!w = tensor<2x4x?x48xf32>
!r = tensor<2x4x?xf32>
func.func @tensors(%acc: !w, %max: !r, %sum: !r, %o: !w) -> !w {
  // expected-error @below {{on tensors, expected memrefs: bufferize first}}
  %0 = ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> !w
  return %0 : !w
}

// -----

!w = memref<2x4x?x48xf32, affine_map<(a, b, c, d) -> (a, b, d, c floordiv 2)>>
!r = memref<2x4x?xf32>
func.func @not_strided(%acc: !w, %max: !r, %sum: !r, %o: !w) {
  // expected-error @below {{on 'memref<2x4x?x48xf32, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2 floordiv 2)>>', expected strided memrefs in the default memory}}
  ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> ()
  return
}

// -----

!w = memref<2x4x?x48xf32, 1>
!r = memref<2x4x?xf32>
func.func @elsewhere(%acc: !w, %max: !r, %sum: !r, %o: !w) {
  // expected-error @below {{on 'memref<2x4x?x48xf32, 1>', expected strided memrefs in the default memory}}
  ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> ()
  return
}

// -----

!w = memref<2x0x?x48xf32>
!r = memref<2x0x?xf32>
func.func @no_heads(%acc: !w, %max: !r, %sum: !r, %o: !w) {
  // expected-error @below {{on 'memref<2x0x?x48xf32>', expected 1 or more heads and columns}}
  ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> ()
  return
}

// -----

// The kernel is made for the sizes of acc, whatever is said of the results.
!a = memref<2x?x?x?xf32>
!m = memref<2x?x?xf32>
!w = memref<2x4x?x48xf32>
func.func @sizes_of_the_result_only(%acc: !a, %max: !m, %sum: !m, %o: !w) {
  // expected-error @below {{feature 'dynamic head size' is not supported by convert-ring-to-vector}}
  ring.finalize %acc, %max, %sum outs(%o) : (!a, !m, !m, !w) -> ()
  return
}

// -----

!w = memref<2x4x?x4611686018427387904xf32>
!r = memref<2x4x?xf32>
func.func @wide(%acc: !w, %max: !r, %sum: !r, %o: !w) {
  // expected-error @below {{feature 'head size' is not supported by convert-ring-to-vector: a row of 'memref<2x4x?x4611686018427387904xf32>'}}
  ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> ()
  return
}

// -----

!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
llvm.func @no_func(%p: !llvm.ptr) {
  %acc, %max, %sum = builtin.unrealized_conversion_cast %p : !llvm.ptr to !w, !r, !r
  // expected-error @below {{expected in a 'func.func' of the module}}
  ring.finalize %acc, %max, %sum outs(%acc) : (!w, !r, !r, !w) -> ()
  llvm.return
}

// -----

// A module inside the module is left alone.
!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
module @other {
  func.func @f(%acc: !w, %max: !r, %sum: !r, %o: !w) {
    ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> ()
    return
  }
}
