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

shard.grid @ring(shape = 4)

// CHECK-LABEL: @sizes_of_a_gather
// CHECK-SAME:    %[[BATCH:[^:]*]]: index, %[[QUERIES:[^:]*]]: index)
func.func @sizes_of_a_gather(%local: tensor<?x8x?x64xf32>, %table: tensor<?x5xi64>, %batch: index, %queries: index)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: %[[C8:.*]] = arith.constant 8 : index
  %whole = ring.gather %local by %table dim 2 sizes(%batch, %queries) on @ring axis 0
    : tensor<?x8x?x64xf32>, tensor<?x5xi64> -> tensor<?x8x?x64xf32>
  %dim0 = tensor.dim %whole, %c0 : tensor<?x8x?x64xf32>
  %dim1 = tensor.dim %whole, %c1 : tensor<?x8x?x64xf32>
  %dim2 = tensor.dim %whole, %c2 : tensor<?x8x?x64xf32>
  // CHECK: return %[[BATCH]], %[[C8]], %[[QUERIES]]
  return %dim0, %dim1, %dim2 : index, index, index
}
