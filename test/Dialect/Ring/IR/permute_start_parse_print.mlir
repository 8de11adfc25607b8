// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

shard.grid @ring(shape = 4)

// CHECK-LABEL: @tensors
func.func @tensors(%k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x32xbf16>) {
  // CHECK: ring.permute_start %{{.*}}, %{{.*}} on @ring axis 0 : tensor<1x2x?x64xf32>, tensor<1x2x?x32xbf16>
  %f = ring.permute_start %k, %v on @ring axis 0 : tensor<1x2x?x64xf32>, tensor<1x2x?x32xbf16>
  return
}

// CHECK-LABEL: @memrefs
func.func @memrefs(%k: memref<1x2x?x64xf32, strided<[?, ?, ?, ?], offset: ?>>) {
  // CHECK: ring.permute_start %{{.*}} on @ring axis 0 : memref<1x2x?x64xf32, strided<[?, ?, ?, ?], offset: ?>>
  %f = ring.permute_start %k on @ring axis 0 : memref<1x2x?x64xf32, strided<[?, ?, ?, ?], offset: ?>>
  return
}

// What was not waited for is sent on; the second future has the same type.
// CHECK-LABEL: @forwarded_future
func.func @forwarded_future(%k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>) {
  // CHECK: %[[F1:.*]] = ring.permute_start %{{.*}}, %{{.*}} on
  %f1 = ring.permute_start %k, %v on @ring axis 0 : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>
  // CHECK: %[[F2:.*]] = ring.permute_start %[[F1]] on @ring axis 0 {note = "kept"} : !ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>>
  %f2 = ring.permute_start %f1 on @ring axis 0 {note = "kept"} : !ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>>
  // CHECK: ring.permute_wait %[[F2]] : !ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>>
  %k2, %v2 = ring.permute_wait %f2 : !ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>>
  return
}
