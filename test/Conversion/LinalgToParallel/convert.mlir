// RUN: ring-opt %s --convert-linalg-to-parallel --canonicalize --cse | FileCheck %s
// A second time changes nothing.
// RUN: ring-opt %s --convert-linalg-to-parallel -o %t.once
// RUN: ring-opt %t.once --convert-linalg-to-parallel | diff %t.once -

// Rows are cut: 512 of 64 elements an item, fewer in the last.
// CHECK-LABEL: func.func private @rows_0_elementwise(
// CHECK-SAME:    %[[ITEM:[^:]*]]: index, %[[A:[^:]*]]: memref<?x64xf32>, %[[B:[^:]*]]: memref<?x64xf32>, %[[MOST:[^:]*]]: index)
// CHECK:         %[[FIRST:.*]] = arith.muli %[[ITEM]], %[[MOST]]
// CHECK:         %[[ALL:.*]] = memref.dim %[[A]], %c0
// CHECK:         %[[LEFT:.*]] = arith.subi %[[ALL]], %[[FIRST]]
// CHECK:         %[[COUNT:.*]] = arith.minsi %[[MOST]], %[[LEFT]]
// CHECK:         %[[X:.*]] = memref.subview %[[A]][%[[FIRST]], 0] [%[[COUNT]], 64] [1, 1]
// CHECK:         %[[Y:.*]] = memref.subview %[[B]][%[[FIRST]], 0] [%[[COUNT]], 64] [1, 1]
// CHECK:         linalg.exp ins(%[[X]] : {{.*}}) outs(%[[Y]] : {{.*}})

// An item alone is called; equal ops share a function.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[A:[^:]*]]: memref<?x64xf32>, %[[B:[^:]*]]: memref<?x64xf32>
// CHECK-DAG:     %[[MOST:.*]] = arith.constant 512 : index
// CHECK:         %[[ALL:.*]] = memref.dim %[[A]], %c0
// CHECK:         %[[ITEMS:.*]] = arith.ceildivui %[[ALL]], %[[MOST]]
// CHECK:         %[[ONE:.*]] = arith.cmpi ule, %[[ITEMS]], %c1
// CHECK:         scf.if %[[ONE]] {
// CHECK-NEXT:      func.call @rows_0_elementwise(%c0, %[[A]], %[[B]], %[[MOST]])
// CHECK-NEXT:    } else {
// CHECK-NEXT:      ring.parallel_call @rows_0_elementwise(%[[ITEMS]], %c-1) (%[[A]], %[[B]], %[[MOST]])
// CHECK:         func.call @rows_0_elementwise(%c0, %[[B]], %[[A]], %[[MOST]])
func.func @rows(%a: memref<?x64xf32>, %b: memref<?x64xf32>) {
  linalg.exp ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>)
  linalg.exp ins(%b : memref<?x64xf32>) outs(%a : memref<?x64xf32>)
  return
}

// A dimension of size 1 is passed over, a sum stays within its row; what an
// operand has not is given whole; an index counts from the item's first row;
// constants stand in the function, other values are arguments.
// CHECK-LABEL: func.func private @reduction_1_elementwise(
// CHECK-SAME:    %{{[^:]*}}: index, %[[A:[^:]*]]: memref<1x2048x96xf32>, %[[W:[^:]*]]: memref<96xf32>, %[[OUT:[^:]*]]: memref<1x2048x1xf32>, %[[N:[^:]*]]: index, %[[TABLE:[^:]*]]: memref<2048xf32>, %{{[^:]*}}: index)
// CHECK-DAG:     %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG:     %[[X:.*]] = memref.subview %[[A]][0, %[[FIRST:.*]], 0] [1, %[[COUNT:.*]], 96] [1, 1, 1]
// CHECK-DAG:     %[[Y:.*]] = memref.subview %[[OUT]][0, %[[FIRST]], 0] [1, %[[COUNT]], 1] [1, 1, 1]
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[W]] : {{.*}}) outs(%[[Y]] : {{.*}}) {
// CHECK:           %[[I:.*]] = linalg.index 1
// CHECK:           %[[WHOLE:.*]] = arith.addi %[[I]], %[[FIRST]]
// CHECK:           %[[J:.*]] = arith.addi %[[WHOLE]], %[[N]]
// CHECK:           memref.load %[[TABLE]][%[[J]]]
// CHECK:           linalg.index 2
// CHECK-NOT:       arith.addi
// CHECK:           arith.mulf %{{.*}}, %[[TWO]]
// CHECK-LABEL: func.func @reduction(
// CHECK:         ring.parallel_call @reduction_1_elementwise(%c6, %c-1) (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %c342)
func.func @reduction(%a: memref<1x2048x96xf32>, %w: memref<96xf32>, %out: memref<1x2048x1xf32>, %n: index, %table: memref<2048xf32>) {
  %two = arith.constant 2.0 : f32
  linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, 0)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<1x2048x96xf32>, memref<96xf32>) outs(%out : memref<1x2048x1xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %i = linalg.index 1 : index
    %j = arith.addi %i, %n : index
    %z = memref.load %table[%j] : memref<2048xf32>
    %k = linalg.index 2 : index
    %l = arith.index_cast %k : index to i32
    %m = arith.sitofp %l : i32 to f32
    %p = arith.mulf %m, %two : f32
    %q = arith.addf %p, %z : f32
    %r = arith.mulf %q, %x : f32
    %s = arith.addf %r, %y : f32
    %next = arith.addf %s, %sum : f32
    linalg.yield %next : f32
  }
  return
}

// A transpose is cut in both.
// CHECK-LABEL: func.func private @transpose_2_elementwise(
// CHECK-SAME:    %{{[^:]*}}: index, %[[A:[^:]*]]: memref<512x256xf32>, %[[B:[^:]*]]: memref<256x512xf32>
// CHECK-DAG:     %[[X:.*]] = memref.subview %[[A]][0, %[[FIRST:.*]]] [512, %[[COUNT:.*]]] [1, 1]
// CHECK-DAG:     %[[Y:.*]] = memref.subview %[[B]][%[[FIRST]], 0] [%[[COUNT]], 512] [1, 1]
// CHECK:         linalg.transpose ins(%[[X]] : {{.*}}) outs(%[[Y]] :
func.func @transpose(%a: memref<512x256xf32>, %b: memref<256x512xf32>) {
  linalg.transpose ins(%a : memref<512x256xf32>) outs(%b : memref<256x512xf32>) permutation = [1, 0]
  return
}
