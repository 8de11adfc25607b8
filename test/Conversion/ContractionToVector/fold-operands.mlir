// RUN: ring-opt %s --fold-contraction-operands --canonicalize -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: ring-opt %t.once --fold-contraction-operands --canonicalize | diff %t.once -

// What was read through is gone, without any other pass.
// RUN: ring-opt %s --fold-contraction-operands | FileCheck %s --check-prefix DEAD
// DEAD-LABEL: func.func @transposed(
// DEAD-NOT:     linalg.transpose
// DEAD-LABEL: func.func @broadcast(

// CHECK-DAG: #[[MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[B_NK:.*]] = affine_map<(d0, d1, d2, d3) -> (0, d2, d3)>
// CHECK-DAG: #[[B_KN:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>

// A weight that is transposed is read as it lies, and so is one of 16 bits that
// is extended.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x64xf32>, %[[W:[^:]*]]: tensor<96x64xbf16>, %[[C:[^:]*]]: tensor<?x96xf32>)
// CHECK-NOT:     linalg.transpose
// CHECK:         linalg.generic {indexing_maps = [#[[MK]], #[[NK]], #[[MN]]]
// CHECK-SAME:      ins(%[[X]], %[[W]] : {{.*}}) outs(%[[C]]
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: bf16, %[[SUM:.*]]: f32):
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[A]], %[[WIDE]]
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[SUM]], %[[P]]
// CHECK-NEXT:      linalg.yield %[[S]]
func.func @transposed(%x: tensor<?x64xf32>, %w: tensor<96x64xbf16>, %c: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %e0 = tensor.empty() : tensor<64x96xbf16>
  %t = linalg.transpose ins(%w : tensor<96x64xbf16>) outs(%e0 : tensor<64x96xbf16>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<64x96xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<64x96xbf16>) outs(%e1 : tensor<64x96xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %wide = arith.extf %in : bf16 to f32
    linalg.yield %wide : f32
  } -> tensor<64x96xf32>
  %0 = linalg.matmul ins(%x, %f : tensor<?x64xf32>, tensor<64x96xf32>) outs(%c : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// A broadcast, of a dimension of size 1 or of one that is not there.
// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<5x7x64xf32>, %[[W:[^:]*]]: tensor<1x96x64xf32>, %[[V:[^:]*]]: tensor<64x96xf32>,
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #[[B_NK]], #{{.*}}]
// CHECK-SAME:      ins(%[[X]], %[[W]] :
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #[[B_KN]], #{{.*}}]
// CHECK-SAME:      ins(%[[X]], %[[V]] :
func.func @broadcast(%x: tensor<5x7x64xf32>, %w: tensor<1x96x64xf32>, %v: tensor<64x96xf32>, %c: tensor<5x7x96xf32>) -> (tensor<5x7x96xf32>, tensor<5x7x96xf32>) {
  %e = tensor.empty() : tensor<5x64x96xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (0, j, k)>, affine_map<(i, j, k) -> (i, k, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<1x96x64xf32>) outs(%e : tensor<5x64x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<5x64x96xf32>
  %0 = linalg.batch_matmul ins(%x, %b : tensor<5x7x64xf32>, tensor<5x64x96xf32>) outs(%c : tensor<5x7x96xf32>) -> tensor<5x7x96xf32>
  %d = linalg.broadcast ins(%v : tensor<64x96xf32>) outs(%e : tensor<5x64x96xf32>) dimensions = [0]
  %1 = linalg.batch_matmul ins(%x, %d : tensor<5x7x64xf32>, tensor<5x64x96xf32>) outs(%c : tensor<5x7x96xf32>) -> tensor<5x7x96xf32>
  return %0, %1 : tensor<5x7x96xf32>, tensor<5x7x96xf32>
}

// Zeros are filled in for each product, right before it.
// CHECK-LABEL: func.func @zeros(
// CHECK:         %[[F0:.*]] = linalg.fill
// CHECK-NEXT:    linalg.matmul {{.*}} outs(%[[F0]] :
// CHECK:         %[[F1:.*]] = linalg.fill
// CHECK-NEXT:    linalg.matmul {{.*}} outs(%[[F1]] :
func.func @zeros(%x: tensor<9x64xf32>, %w: tensor<64x96xf32>, %v: tensor<64x96xf32>) -> (tensor<9x96xf32>, tensor<9x96xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<9x96xf32>) -> tensor<9x96xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<9x64xf32>, tensor<64x96xf32>) outs(%f : tensor<9x96xf32>) -> tensor<9x96xf32>
  %1 = linalg.matmul ins(%x, %v : tensor<9x64xf32>, tensor<64x96xf32>) outs(%f : tensor<9x96xf32>) -> tensor<9x96xf32>
  return %0, %1 : tensor<9x96xf32>, tensor<9x96xf32>
}

// What is no copy is computed first: another element type than the kernels',
// a value that is changed, a transpose that an index takes part in.
// CHECK-LABEL: func.func @no_copies(
// CHECK-COUNT-2: linalg.generic
// CHECK:         linalg.matmul
// CHECK:         linalg.matmul
func.func @no_copies(%x: tensor<?x64xf32>, %w: tensor<96x64xi16>, %v: tensor<96x64xf32>, %c: tensor<?x96xf32>) -> (tensor<?x96xf32>, tensor<?x96xf32>) {
  %e = tensor.empty() : tensor<64x96xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<96x64xi16>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%in: i16, %out: f32):
    %wide = arith.sitofp %in : i16 to f32
    linalg.yield %wide : f32
  } -> tensor<64x96xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<96x64xf32>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %minus = arith.negf %in : f32
    linalg.yield %minus : f32
  } -> tensor<64x96xf32>
  %0 = linalg.matmul ins(%x, %f : tensor<?x64xf32>, tensor<64x96xf32>) outs(%c : tensor<?x96xf32>) -> tensor<?x96xf32>
  %1 = linalg.matmul ins(%x, %g : tensor<?x64xf32>, tensor<64x96xf32>) outs(%c : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %0, %1 : tensor<?x96xf32>, tensor<?x96xf32>
}

// Where a loop would be left with one operand alone, a broadcast stays.
// CHECK-LABEL: func.func @lost_loop(
// CHECK:         %[[B:.*]] = linalg.broadcast
// CHECK:         linalg.matmul ins(%{{.*}}, %[[B]] :
func.func @lost_loop(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %c: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %e = tensor.empty() : tensor<64x96xf32>
  %b = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<64x96xf32>) dimensions = [1]
  %0 = linalg.matmul ins(%x, %b : tensor<?x64xf32>, tensor<64x96xf32>) outs(%c : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
