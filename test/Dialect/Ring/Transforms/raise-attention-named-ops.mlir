// RUN: ring-opt %s --ring-raise-attention | FileCheck %s

// One head, no batch, named ops; the scale is a divisor of the scores.
// CHECK-LABEL: func.func @rank_2(
// CHECK-SAME: %[[Q:.*]]: tensor<6x16xf32>, %[[K:.*]]: tensor<10x16xf32>, %[[V:.*]]: tensor<10x8xf32>)
// CHECK-DAG: %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<1x1x6x16xf32>
// CHECK-DAG: %[[K4:.*]] = tensor.expand_shape %[[K]] {{.*}} into tensor<1x1x10x16xf32>
// CHECK-DAG: %[[V4:.*]] = tensor.expand_shape %[[V]] {{.*}} into tensor<1x1x10x8xf32>
// CHECK: %[[O:.*]] = ring.attention %[[Q4]], %[[K4]], %[[V4]] scale(2.500000e-01)
// CHECK-NEXT: %[[O2:.*]] = tensor.collapse_shape %[[O]] {{.*}} into tensor<6x8xf32>
// CHECK-NEXT: return %[[O2]]
func.func @rank_2(%q: tensor<6x16xf32>, %k: tensor<10x16xf32>, %v: tensor<10x8xf32>) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %four = arith.constant dense<4.0> : tensor<6x10xf32>
  %ekt = tensor.empty() : tensor<16x10xf32>
  %es = tensor.empty() : tensor<6x10xf32>
  %er = tensor.empty() : tensor<6xf32>
  %eo = tensor.empty() : tensor<6x8xf32>
  %kt = linalg.transpose ins(%k : tensor<10x16xf32>) outs(%ekt : tensor<16x10xf32>) permutation = [1, 0]
  %s0 = linalg.fill ins(%zero : f32) outs(%es : tensor<6x10xf32>) -> tensor<6x10xf32>
  %dot = linalg.matmul ins(%q, %kt : tensor<6x16xf32>, tensor<16x10xf32>) outs(%s0 : tensor<6x10xf32>) -> tensor<6x10xf32>
  %s = linalg.div ins(%dot, %four : tensor<6x10xf32>, tensor<6x10xf32>) outs(%es : tensor<6x10xf32>) -> tensor<6x10xf32>
  %m0 = linalg.fill ins(%ninf : f32) outs(%er : tensor<6xf32>) -> tensor<6xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<6x10xf32>) outs(%m0 : tensor<6xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<6xf32>) outs(%es : tensor<6x10xf32>) dimensions = [1]
  %d = linalg.sub ins(%s, %mb : tensor<6x10xf32>, tensor<6x10xf32>) outs(%es : tensor<6x10xf32>) -> tensor<6x10xf32>
  %p = linalg.exp ins(%d : tensor<6x10xf32>) outs(%es : tensor<6x10xf32>) -> tensor<6x10xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%er : tensor<6xf32>) -> tensor<6xf32>
  %l = linalg.reduce { arith.addf } ins(%p : tensor<6x10xf32>) outs(%l0 : tensor<6xf32>) dimensions = [1]
  %lb = linalg.broadcast ins(%l : tensor<6xf32>) outs(%es : tensor<6x10xf32>) dimensions = [1]
  %w = linalg.div ins(%p, %lb : tensor<6x10xf32>, tensor<6x10xf32>) outs(%es : tensor<6x10xf32>) -> tensor<6x10xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%eo : tensor<6x8xf32>) -> tensor<6x8xf32>
  %o = linalg.matmul ins(%w, %v : tensor<6x10xf32>, tensor<10x8xf32>) outs(%o0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}
