// The accumulator is filled side by side, by (batch, head); what else there is to
// fill is not touched.

// RUN: ring-opt %s --convert-ring-to-vector --canonicalize | FileCheck %s
// RUN: ring-opt %s --convert-ring-to-vector=vector-bits=128 | FileCheck %s --check-prefix=B128 --implicit-check-not="vector<16xf32>"

// CHECK-LABEL: func.func private @f_fill(
// CHECK-SAME:    %[[ITEM:[^:]*]]: index, %[[CONTENT:[^:]*]]: f32, %[[ACC:[^:]*]]: memref<2x4x?x48xf32>)
// CHECK-DAG:     %[[BATCH:.*]] = arith.divui %[[ITEM]], %c4
// CHECK-DAG:     %[[HEAD:.*]] = arith.remui %[[ITEM]], %c4
// CHECK-DAG:     %[[ROWS:.*]] = memref.dim %[[ACC]], %c2
// CHECK-DAG:     %[[ALL:.*]] = vector.broadcast %[[CONTENT]] : f32 to vector<16xf32>
// CHECK:         vector.store %[[ALL]]
// CHECK:         scf.for %{{.*}} = %c0 to %[[ROWS]]
// CHECK:           vector.store {{.*}} : memref<48xf32, strided<[1], offset: ?>>, vector<16xf32>

// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[N:[^:]*]]: index
// CHECK-DAG:     %[[COUNT:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[A:.*]] = memref.alloc(%[[N]]) : memref<2x4x?x48xf32>
// CHECK:         ring.parallel_call @f_fill(%[[COUNT]], %{{.*}}) (%[[ZERO]], %[[A]])
// CHECK-NEXT:    linalg.fill {{.*}} : memref<2x4x?xf32>
// CHECK-NEXT:    linalg.fill {{.*}} : memref<2x4x?xf32>
// CHECK:         ring.parallel_call @f_attention(
// B128:          vector.store {{.*}} : memref<48xf32, strided<[1], offset: ?>>, vector<4xf32>

!w = memref<2x4x?x48xf32>
!r = memref<2x4x?xf32>
func.func @f(%n: index, %q: !w, %s: !ring.slices) -> (!w, !r, !r) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %acc = memref.alloc(%n) : !w
  %max = memref.alloc(%n) : !r
  %sum = memref.alloc(%n) : !r
  linalg.fill ins(%zero : f32) outs(%acc : !w)
  linalg.fill ins(%none : f32) outs(%max : !r)
  linalg.fill ins(%zero : f32) outs(%sum : !r)
  ring.online_attention %q, %q, %q slices(%s) scale(1.0) outs(%acc, %max, %sum) : (!w, !w, !w, !ring.slices, !w, !r, !r) -> ()
  return %acc, %max, %sum : !w, !r, !r
}
