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
// RUN: not grep -iE '0x7FC|0xFFC|[^a-z]nan' %t.out
// RUN: ring-opt --convert-ring-to-vector --canonicalize %t.out | diff %t.out -

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

//--- refused.mlir
!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
func.func @sinks(%acc: !w, %max: !r, %sum: !r, %s: memref<4xf32>, %o: !w) {
  // expected-error @below {{feature 'sinks' is not supported by convert-ring-to-vector}}
  ring.finalize %acc, %max, %sum sinks(%s) outs(%o) : (!w, !r, !r, memref<4xf32>, !w) -> ()
  return
}

// -----

!w = tensor<2x4x?x48xf32>
!r = tensor<2x4x?xf32>
func.func @tensors(%acc: !w, %max: !r, %sum: !r, %o: !w) -> !w {
  // expected-error @below {{on tensors, expected memrefs: bufferize first}}
  %0 = ring.finalize %acc, %max, %sum outs(%o) : (!w, !r, !r, !w) -> !w
  return %0 : !w
}
