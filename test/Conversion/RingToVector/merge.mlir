// RUN: ring-opt %s --convert-ring-to-vector --canonicalize -o %t
// RUN: FileCheck %s --implicit-check-not="= ring." --implicit-check-not=math.exp < %t
// RUN: ring-opt %s --convert-ring-to-vector=vector-bits=128 | FileCheck %s --check-prefix=B128 --implicit-check-not="vector<16xf32>"
// RUN: %python %ring_src_root/test/Target/CPU/Inputs/nan_constants.py %t
// RUN: ring-opt --convert-ring-to-vector --canonicalize %t | diff %t -

// Merging with a state that has seen nothing, max -inf, is skipped: it changes
// no bit, and -inf - (-inf) never happens.
// CHECK-LABEL: func.func private @m_merge(%arg0: index,
// CHECK:         %[[EMPTY:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         scf.for
// CHECK-NEXT:      %[[THEIRS:.*]] = memref.load %arg2[
// CHECK-NEXT:      %[[SOME:.*]] = arith.cmpf une, %[[THEIRS]], %[[EMPTY]] : f32
// CHECK-NEXT:      scf.if %[[SOME]] {
// CHECK:             %[[MINE:.*]] = memref.load %arg5[
// CHECK:             %[[MAX:.*]] = arith.select %{{.*}}, %[[THEIRS]], %[[MINE]] : f32
// CHECK:             vector.fma {{.*}} : vector<16xf32>
// CHECK:             vector.store
// CHECK-DAG:         memref.store %{{.*}}, %arg6[
// CHECK-DAG:         memref.store %[[MAX]], %arg5[
// CHECK-NOT:       else
// CHECK:         return
// CHECK-LABEL: func.func @m(
// CHECK:         ring.parallel_call @m_merge(%{{.*}}, %{{.*}}) (%arg0, %arg1, %arg2, %arg3, %arg4, %arg5)

// B128: vector.fma {{.*}} : vector<4xf32>

!w = memref<1x4x?x48xf32>
!r = memref<1x4x?xf32>
func.func @m(%other: !w, %otherMax: !r, %otherSum: !r, %acc: !w, %max: !r, %sum: !r) {
  ring.merge ins(%other, %otherMax, %otherSum) outs(%acc, %max, %sum) : (!w, !r, !r, !w, !r, !r) -> ()
  return
}
