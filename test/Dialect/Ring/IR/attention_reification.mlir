// RUN: ring-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @sizes_come_from_query_and_value
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x8x?x64xf32>, %{{[^:]*}}: tensor<?x2x?x64xf32>, %{{[^:]*}}: tensor<?x2x?x32xf32>
func.func @sizes_come_from_query_and_value(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %v: tensor<?x2x?x32xf32>)
    -> (index, index, index, index) {
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  // CHECK-NOT: ring.attention
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>) -> (tensor<?x8x?x32xf32>, tensor<?x8x?xf32>)
  // CHECK-DAG: %[[BATCH:.*]] = tensor.dim %[[Q]], %[[C0]]
  // CHECK-DAG: %[[QUERIES:.*]] = tensor.dim %[[Q]], %[[C2]]
  %out0 = tensor.dim %out, %c0 : tensor<?x8x?x32xf32>
  %out2 = tensor.dim %out, %c2 : tensor<?x8x?x32xf32>
  %lse0 = tensor.dim %lse, %c0 : tensor<?x8x?xf32>
  %lse2 = tensor.dim %lse, %c2 : tensor<?x8x?xf32>
  // CHECK: return %[[BATCH]], %[[QUERIES]], %[[BATCH]], %[[QUERIES]]
  return %out0, %out2, %lse0, %lse2 : index, index, index, index
}
