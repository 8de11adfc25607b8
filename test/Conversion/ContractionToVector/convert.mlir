// RUN: ring-opt %s --convert-contraction-to-vector --canonicalize --cse | FileCheck %s
// RUN: ring-opt %s --convert-contraction-to-vector=vector-bits=256 | FileCheck %s --check-prefix=B256 --implicit-check-not="vector<16xf32>"
// B256: vector.fma {{.*}} : vector<8xf32>
// RUN: not ring-opt %s --convert-contraction-to-vector=vector-bits=64 2>&1 | FileCheck %s --check-prefix=BITS
// BITS: error: vector-bits is 64, expected 128, 256 or 512
// A second time changes nothing.
// RUN: ring-opt %s --convert-contraction-to-vector -o %t.once
// RUN: ring-opt %t.once --convert-contraction-to-vector | diff %t.once -

// Copies unpack rows with unit stride, columns with unit stride in square
// blocks, and what has neither element by element.
// CHECK-LABEL: func.func private @matmul_f32_unpack(
// CHECK-SAME:    %{{[^:]*}}: memref<?x?xf32, strided<[?, ?], offset: ?>>, %{{[^:]*}}: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>)
// CHECK:         vector.load {{.*}} : memref<?xf32, strided<[1], offset: ?>>, vector<16xf32>
// CHECK:         vector.create_mask
// CHECK:         vector.maskedload
// CHECK:         vector.shuffle
// CHECK:         memref.load

// Nothing but the tile is written.
// CHECK-LABEL: func.func private @matmul_f32_pack(
// CHECK:         vector.store
// CHECK:         vector.maskedstore
// CHECK:         memref.store

// The sums start from 0 where a fill says so, and no element of the result is
// read; 6 rows of 1 to 4 registers are accumulated.
// CHECK-LABEL: func.func private @matmul_f32_fromzero_matmul(
// CHECK-SAME:    %{{[^:]*}}: index, %{{[^:]*}}: memref<?x?xf32, {{.*}}>, %{{[^:]*}}: memref<?x?xf32, {{.*}}>, %{{[^:]*}}: memref<?x?xf32, {{.*}}>, %{{[^:]*}}: index, %{{[^:]*}}: index)
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<1x192x128xf32>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<4x128x64xf32>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<4x192x64xf32>
// CHECK:         scf.for
// CHECK:           call @matmul_f32_unpack(
// CHECK:           call @matmul_f32_unpack(
// CHECK-COUNT-60:  vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT:       vector.fma
// CHECK:         call @matmul_f32_pack(

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:[^:]*]]: memref<?x90xf32>, %[[B:[^:]*]]: memref<90x70xf32>, %[[C:[^:]*]]: memref<?x70xf32>)
// CHECK-NOT:     linalg.fill
// CHECK-DAG:     %[[LHS:.*]] = memref.cast %[[A]] : memref<?x90xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
// CHECK-DAG:     %[[RHS:.*]] = memref.cast %[[B]] : memref<90x70xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
// CHECK:         ring.parallel_call @matmul_f32_fromzero_matmul(%{{.*}}, %c-1) (%[[LHS]], %[[RHS]], %{{.*}}, %{{.*}}, %{{.*}})
func.func @matmul(%a: memref<?x90xf32>, %b: memref<90x70xf32>, %c: memref<?x70xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x70xf32>)
  linalg.matmul ins(%a, %b : memref<?x90xf32>, memref<90x70xf32>) outs(%c : memref<?x70xf32>)
  return
}

// Other shapes, strides and indexing maps, and what is in a loop: no other
// kernel. A result that is transposed exchanges the operands.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME:    %[[A:[^:]*]]: memref<64x32xf32>, %[[B:[^:]*]]: memref<32x96xf32>, %[[C:[^:]*]]: memref<96x64xf32>
// CHECK:         scf.for
// CHECK-DAG:       %[[RHS:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [32, 64], strides: [1, 32]
// CHECK-DAG:       %[[LHS:.*]] = memref.reinterpret_cast %[[B]] to offset: [0], sizes: [96, 32], strides: [1, 96]
// CHECK-DAG:       %[[RIGHT:.*]] = memref.cast %[[RHS]]
// CHECK-DAG:       %[[LEFT:.*]] = memref.cast %[[LHS]]
// CHECK:           ring.parallel_call @matmul_f32_fromzero_matmul(%{{.*}}, %{{.*}}) (%[[LEFT]], %[[RIGHT]],
func.func @shared(%a: memref<64x32xf32>, %b: memref<32x96xf32>, %c: memref<96x64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    linalg.fill ins(%zero : f32) outs(%c : memref<96x64xf32>)
    linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<64x32xf32>, memref<32x96xf32>) outs(%c : memref<96x64xf32>) {
    ^bb0(%x: f32, %y: f32, %sum: f32):
      %product = arith.mulf %y, %x : f32
      %next = arith.addf %product, %sum : f32
      linalg.yield %next : f32
    }
  }
  return
}

// Another fill than one with +0, and one whose zeros somebody reads, stay.
// CHECK-LABEL: func.func @fills(
// CHECK:         linalg.fill
// CHECK:         ring.parallel_call @fills_f32_matmul(
// CHECK:         linalg.fill
// CHECK:         memref.copy
// CHECK:         ring.parallel_call @fills_f32_matmul(
func.func @fills(%a: memref<64x32xf32>, %b: memref<32x96xf32>, %c: memref<64x96xf32>, %d: memref<64x96xf32>) {
  %minus = arith.constant -0.0 : f32
  linalg.fill ins(%minus : f32) outs(%c : memref<64x96xf32>)
  linalg.matmul ins(%a, %b : memref<64x32xf32>, memref<32x96xf32>) outs(%c : memref<64x96xf32>)
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x96xf32>)
  memref.copy %c, %d : memref<64x96xf32> to memref<64x96xf32>
  linalg.matmul ins(%a, %b : memref<64x32xf32>, memref<32x96xf32>) outs(%c : memref<64x96xf32>)
  return
}

// Batches are dimensions of their own. Rows that lie behind one another are one
// dimension, the other has size 1, and stride 0 in the operand that lacks it; one
// of size 1 is none. 16-bit operands are extended when they are
// unpacked.
// CHECK-LABEL: func.func private @batches_bf16_unpack(
// CHECK:         vector.load {{.*}} : memref<?xbf16, strided<[1], offset: ?>>, vector<16xbf16>
// CHECK-LABEL: func.func @batches(
// CHECK:         ring.parallel_call @batches_bf16_batch1_matmul(
// CHECK-SAME:      memref<?x?x?xbf16, {{.*}}>, memref<?x?x?xbf16, {{.*}}>, memref<?x?x?xf32, {{.*}}>, index, index
// CHECK:         memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [1, 32, 96], strides: [0, 96, 1]
// CHECK:         ring.parallel_call @batches_f32_batch1_matmul(
// CHECK:         ring.parallel_call @fills_f32_matmul(
func.func @batches(%a: memref<3x64x32xbf16>, %b: memref<3x32x96xbf16>, %c: memref<3x64x96xf32>, %d: memref<?x64x32xf32>, %e: memref<32x96xf32>, %f: memref<?x64x96xf32>, %g: memref<1x64x32xf32>, %h: memref<1x32x96xf32>, %i: memref<1x64x96xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<3x64x32xbf16>, memref<3x32x96xbf16>) outs(%c : memref<3x64x96xf32>)
  linalg.generic {
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%d, %e : memref<?x64x32xf32>, memref<32x96xf32>) outs(%f : memref<?x64x96xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  linalg.batch_matmul ins(%g, %h : memref<1x64x32xf32>, memref<1x32x96xf32>) outs(%i : memref<1x64x96xf32>)
  return
}

// Several sums are loops of the kernel, in the order of the op.
// CHECK-LABEL: func.func private @sums_f32_sums2_matmul(
// CHECK-SAME:    %{{[^:]*}}: index, %[[A:[^:]*]]: memref<?x?x?xf32, {{.*}}>
// CHECK:         %[[OUTER:.*]] = memref.dim %[[A]], %c0
// CHECK:         scf.for %{{.*}} = %c0 to %[[OUTER]]
// CHECK:           scf.for
// CHECK-LABEL: func.func @sums(
// CHECK:         ring.parallel_call @sums_f32_sums2_matmul(
func.func @sums(%a: memref<7x20x9xf32>, %b: memref<9x7x30xf32>, %c: memref<20x30xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(m, n, j, k) -> (j, m, k)>, affine_map<(m, n, j, k) -> (k, j, n)>, affine_map<(m, n, j, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<7x20x9xf32>, memref<9x7x30xf32>) outs(%c : memref<20x30xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}
