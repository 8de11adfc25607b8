// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

shard.grid @ring(shape = 4)

// CHECK-LABEL: @scatter_and_gather
func.func @scatter_and_gather(%q: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>) -> tensor<1x8x256x64xf32> {
  // CHECK: %[[LOCAL:.*]] = ring.scatter %{{.*}} by %{{.*}} dim 2 on @ring axis 0 : tensor<1x8x256x64xf32>, tensor<4x5xi64> -> tensor<1x8x?x64xf32>
  %local = ring.scatter %q by %table dim 2 on @ring axis 0 : tensor<1x8x256x64xf32>, tensor<4x5xi64> -> tensor<1x8x?x64xf32>
  // CHECK: ring.gather %[[LOCAL]] by %{{.*}} dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  %whole = ring.gather %local by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return %whole : tensor<1x8x256x64xf32>
}

// CHECK-LABEL: @any_dimension_and_type
func.func @any_dimension_and_type(%t: tensor<?xi32>, %table: tensor<?x5xi64>) {
  // CHECK: ring.scatter %{{.*}} by %{{.*}} dim 0 on @ring axis 0 {note = "kept"} : tensor<?xi32>, tensor<?x5xi64> -> tensor<?xi32>
  %local = ring.scatter %t by %table dim 0 on @ring axis 0 {note = "kept"} : tensor<?xi32>, tensor<?x5xi64> -> tensor<?xi32>
  return
}

// CHECK-LABEL: @dynamic_sizes
func.func @dynamic_sizes(%local: tensor<?x8x?x64xf32>, %table: tensor<?x5xi64>, %batch: index, %queries: index) {
  // CHECK: ring.gather %{{.*}} by %{{.*}} dim 2 sizes(%{{.*}}, %{{.*}}) on @ring axis 0 : tensor<?x8x?x64xf32>, tensor<?x5xi64> -> tensor<?x8x?x64xf32>
  %both = ring.gather %local by %table dim 2 sizes(%batch, %queries) on @ring axis 0
    : tensor<?x8x?x64xf32>, tensor<?x5xi64> -> tensor<?x8x?x64xf32>
  // CHECK: ring.gather %{{.*}} by %{{.*}} dim 2 sizes(%{{[^,]*}}) on @ring axis 0 {note = "kept"} :
  %one = ring.gather %local by %table dim 2 sizes(%batch) on @ring axis 0 {note = "kept"}
    : tensor<?x8x?x64xf32>, tensor<?x5xi64> -> tensor<?x8x256x64xf32>
  return
}
