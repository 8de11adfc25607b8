// RUN: ring-opt %s --convert-linalg-to-parallel | FileCheck %s --implicit-check-not=ring.parallel_call --implicit-check-not=elementwise

!a = memref<512x512xf32>

// Short ops, and those on tensors.
// CHECK-LABEL: func.func @short(
// CHECK: linalg.exp
func.func @short(%a: memref<64x512xf32>, %b: memref<64x512xf32>) {
  linalg.exp ins(%a : memref<64x512xf32>) outs(%b : memref<64x512xf32>)
  return
}
// CHECK-LABEL: func.func @tensors(
// CHECK: linalg.exp
func.func @tensors(%a: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = linalg.exp ins(%a : tensor<512x512xf32>) outs(%a : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// Loops that sum up.
// CHECK-LABEL: func.func @sum(
// CHECK: linalg.generic
func.func @sum(%a: !a, %b: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%a : !a) outs(%b : memref<f32>) {
  ^bb0(%x: f32, %sum: f32):
    %next = arith.addf %sum, %x : f32
    linalg.yield %next : f32
  }
  return
}

// A loop that walks along an operand in an expression, or twice.
// CHECK-LABEL: func.func @expression(
// CHECK: linalg.generic
func.func @expression(%a: memref<1535xf32>, %b: memref<512xf32>, %c: memref<1024xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : memref<1535xf32>, memref<512xf32>) outs(%c : memref<1024xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %p : f32
    linalg.yield %next : f32
  }
  return
}
// CHECK-LABEL: func.func @diagonal(
// CHECK: linalg.generic
func.func @diagonal(%a: !a, %b: !a) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : !a) outs(%b : !a) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// A result without the loop would be written by all items.
// CHECK-LABEL: func.func @without(
// CHECK: linalg.generic
func.func @without(%a: !a, %b: memref<512xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : !a) outs(%b : memref<512xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// A body that writes.
// CHECK-LABEL: func.func @writes(
// CHECK: linalg.generic
func.func @writes(%a: !a, %b: !a, %log: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : !a) outs(%b : !a) {
  ^bb0(%x: f32, %y: f32):
    memref.store %x, %log[] : memref<f32>
    linalg.yield %x : f32
  }
  return
}

// Another memory.
// CHECK-LABEL: func.func @memory(
// CHECK: linalg.exp
func.func @memory(%a: memref<512x512xf32, 1>, %b: !a) {
  linalg.exp ins(%a : memref<512x512xf32, 1>) outs(%b : !a)
  return
}

// A function that another calls has no context, nor has what runs in a region
// that does not become blocks; another module has symbols of its own.
// CHECK-LABEL: func.func private @called(
// CHECK: linalg.exp
func.func private @called(%a: !a) {
  linalg.exp ins(%a : !a) outs(%a : !a)
  return
}
// CHECK-LABEL: func.func @caller(
func.func @caller(%a: !a) {
  call @called(%a) : (!a) -> ()
  return
}
// CHECK-LABEL: func.func @scope(
// CHECK: memref.alloca_scope
// CHECK: linalg.exp
func.func @scope(%a: !a) {
  memref.alloca_scope {
    linalg.exp ins(%a : !a) outs(%a : !a)
  }
  return
}
// CHECK: module @inner
// CHECK: linalg.exp
module @inner {
  func.func @f(%a: !a) {
    linalg.exp ins(%a : !a) outs(%a : !a)
    return
  }
}
