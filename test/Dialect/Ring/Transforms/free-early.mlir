// RUN: ring-opt %s --ring-free-early | FileCheck %s

// After the last op that names it, also by another name.
// CHECK-LABEL: func.func @host(
// CHECK:         linalg.abs
// CHECK-NEXT:    memref.dealloc
// CHECK:         linalg.negf
func.func @host(%a: memref<4xf32>, %b: memref<2x2xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  linalg.exp ins(%a : memref<4xf32>) outs(%0 : memref<4xf32>)
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  linalg.abs ins(%1 : memref<2x2xf32>) outs(%b : memref<2x2xf32>)
  linalg.negf ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.dealloc %0 : memref<4xf32>
  return
}

// What a rank sends is in use for longer.
// CHECK-LABEL: func.func @rank(
// CHECK:         linalg.negf
// CHECK-NEXT:    memref.dealloc
func.func @rank(%a: memref<4xf32>, %b: memref<4xf32>) attributes {ring.rank_of = @host} {
  %0 = memref.alloc() : memref<4xf32>
  linalg.exp ins(%a : memref<4xf32>) outs(%0 : memref<4xf32>)
  linalg.negf ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.dealloc %0 : memref<4xf32>
  return
}

// A local one sends nothing.
// CHECK-LABEL: func.func @local(
// CHECK:         linalg.exp
// CHECK-NEXT:    memref.dealloc
// CHECK:         linalg.negf
func.func @local(%a: memref<4xf32>) attributes {ring.local, ring.rank_of = @host} {
  %0 = memref.alloc() : memref<4xf32>
  linalg.exp ins(%a : memref<4xf32>) outs(%0 : memref<4xf32>)
  linalg.negf ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.dealloc %0 : memref<4xf32>
  return
}
