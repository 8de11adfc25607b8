// RUN: ring-opt --ring-expand-reshapes %s | FileCheck %s
// RUN: ring-opt --ring-expand-reshapes --expand-strided-metadata %s -o /dev/null

// Strides of the inner dimensions come first: the sequence, then the batch.
// CHECK-LABEL: func.func @batch(
// CHECK-SAME:    %[[X:.*]]: memref<?x4xf32, strided<[?, ?], offset: ?>>, %[[B:.*]]: index, %[[S:.*]]: index)
// CHECK:         %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[X]]
// CHECK:         %[[OUTER:.*]] = arith.muli %[[STRIDES]]#0, %[[S]]
// CHECK:         %[[R:.*]] = memref.reinterpret_cast %[[BASE]] to offset: [%[[OFFSET]]], sizes: [%[[B]], 1, %[[S]], 4],
// CHECK-SAME:      strides: [%{{.*}}, %[[OUTER]], %[[STRIDES]]#0, %[[STRIDES]]#1]
// CHECK:         return %[[R]]
func.func @batch(%x: memref<?x4xf32, strided<[?, ?], offset: ?>>, %b: index, %s: index)
    -> memref<?x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>> {
  %r = memref.expand_shape %x [[0, 1, 2], [3]] output_shape [%b, 1, %s, 4]
      : memref<?x4xf32, strided<[?, ?], offset: ?>> into memref<?x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
  return %r : memref<?x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
}

// What the type says of strides and offset stays static.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    %[[X:.*]]: memref<?x4xf32>, %[[B:.*]]: index, %[[S:.*]]: index)
// CHECK:         %[[ROWS:.*]] = arith.muli %c4{{.*}}, %[[S]]
// CHECK:         memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[B]], %[[S]], 4], strides: [%[[ROWS]], 4, 1]
func.func @packed(%x: memref<?x4xf32>, %b: index, %s: index) -> memref<?x?x4xf32> {
  %r = memref.expand_shape %x [[0, 1], [2]] output_shape [%b, %s, 4] : memref<?x4xf32> into memref<?x?x4xf32>
  return %r : memref<?x?x4xf32>
}

// One dynamic size follows from the others: upstream's matter.
// CHECK-LABEL: func.func @one(
// CHECK:         memref.expand_shape
func.func @one(%x: memref<?x4xf32>, %s: index) -> memref<2x?x4xf32> {
  %r = memref.expand_shape %x [[0, 1], [2]] output_shape [2, %s, 4] : memref<?x4xf32> into memref<2x?x4xf32>
  return %r : memref<2x?x4xf32>
}
