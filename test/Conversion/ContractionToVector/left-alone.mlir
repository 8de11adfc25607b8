// What is no sum of products in f32 stays as it is, and so does what cannot call
// the runtime.

// RUN: ring-opt %s --convert-contraction-to-vector | FileCheck %s --implicit-check-not=ring.parallel_call --implicit-check-not=func.func

!a = memref<64x32xf32>
!b = memref<32x96xf32>
!c = memref<64x96xf32>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Other types: a sum in 16 bits rounds after each term.
// CHECK-LABEL: func.func @types(
// CHECK-COUNT-3: linalg.matmul
func.func @types(%a: memref<64x32xbf16>, %b: memref<32x96xbf16>, %c: memref<64x96xbf16>, %d: memref<64x32xf64>, %e: memref<32x96xf64>, %f: memref<64x96xf64>, %g: memref<64x32xi32>, %h: memref<32x96xi32>, %i: memref<64x96xi32>) {
  linalg.matmul ins(%a, %b : memref<64x32xbf16>, memref<32x96xbf16>) outs(%c : memref<64x96xbf16>)
  linalg.matmul ins(%d, %e : memref<64x32xf64>, memref<32x96xf64>) outs(%f : memref<64x96xf64>)
  linalg.matmul ins(%g, %h : memref<64x32xi32>, memref<32x96xi32>) outs(%i : memref<64x96xi32>)
  return
}

// A product that is rounded to 16 bits before it is added.
// CHECK-LABEL: func.func @rounded_product(
// CHECK: linalg.generic
func.func @rounded_product(%a: memref<64x32xbf16>, %b: memref<32x96xbf16>, %c: !c) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x32xbf16>, memref<32x96xbf16>) outs(%c : !c) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %product = arith.mulf %x, %y : bf16
    %wide = arith.extf %product : bf16 to f32
    %next = arith.addf %sum, %wide : f32
    linalg.yield %next : f32
  }
  return
}

// Other bodies: a difference, the square of one operand, the sum twice, an
// operand that is forgotten, and one that does more.
// CHECK-LABEL: func.func @bodies(
// CHECK-COUNT-5: linalg.generic
func.func @bodies(%a: !a, %b: !b, %c: !c, %log: memref<f32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : !a, !b) outs(%c : !c) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.subf %sum, %product : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : !a, !b) outs(%c : !c) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %x : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : !a, !b) outs(%c : !c) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %sum : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : !a, !b) outs(%c : !c) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %product, %product : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : !a, !b) outs(%c : !c) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    memref.store %next, %log[] : memref<f32>
    linalg.yield %next : f32
  }
  return
}

// Loops that walk along one operand alone; indices that are no dimension.
// CHECK-LABEL: func.func @maps(
// CHECK-COUNT-2: linalg.generic
func.func @maps(%a: memref<64x32x5xf32>, %b: !b, %c: !c, %wide: memref<95x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k, j) -> (m, k, j)>, affine_map<(m, n, k, j) -> (k, n)>, affine_map<(m, n, k, j) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<64x32x5xf32>, !b) outs(%c : !c) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m + k, k)>, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%wide, %b : memref<95x32xf32>, !b) outs(%c : !c) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Few multiplications, no rows and no columns, another memory, tensors.
// CHECK-LABEL: func.func @small(
// CHECK: linalg.matmul
func.func @small(%a: memref<15x16xf32>, %b: memref<16x17xf32>, %c: memref<15x17xf32>) {
  linalg.matmul ins(%a, %b : memref<15x16xf32>, memref<16x17xf32>) outs(%c : memref<15x17xf32>)
  return
}
// CHECK-LABEL: func.func @dot(
// CHECK: linalg.dot
func.func @dot(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<f32>) {
  linalg.dot ins(%a, %b : memref<?xf32>, memref<?xf32>) outs(%c : memref<f32>)
  return
}
// CHECK-LABEL: func.func @memory(
// CHECK: linalg.matmul
func.func @memory(%a: memref<64x32xf32, 1>, %b: !b, %c: !c) {
  linalg.matmul ins(%a, %b : memref<64x32xf32, 1>, !b) outs(%c : !c)
  return
}
// CHECK-LABEL: func.func @tensors(
// CHECK: linalg.matmul
func.func @tensors(%a: tensor<64x32xf32>, %b: tensor<32x96xf32>, %c: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x96xf32>) outs(%c : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
}

// A function that another calls has no context, nor has what runs in a region
// that does not become blocks; another module has symbols of its own.
// CHECK-LABEL: func.func private @called(
// CHECK: linalg.matmul
func.func private @called(%a: !a, %b: !b, %c: !c) {
  linalg.matmul ins(%a, %b : !a, !b) outs(%c : !c)
  return
}
// CHECK-LABEL: func.func @caller(
// CHECK: call @called
func.func @caller(%a: !a, %b: !b, %c: !c) {
  call @called(%a, %b, %c) : (!a, !b, !c) -> ()
  return
}
// CHECK-LABEL: func.func @scope(
// CHECK: memref.alloca_scope
// CHECK: linalg.matmul
func.func @scope(%a: !a, %b: !b, %c: !c) {
  memref.alloca_scope {
    linalg.matmul ins(%a, %b : !a, !b) outs(%c : !c)
  }
  return
}
// CHECK: module @inner
// CHECK-LABEL: func.func @f(
// CHECK: linalg.matmul
module @inner {
  func.func @f(%a: !a, %b: !b, %c: !c) {
    linalg.matmul ins(%a, %b : !a, !b) outs(%c : !c)
    return
  }
}
