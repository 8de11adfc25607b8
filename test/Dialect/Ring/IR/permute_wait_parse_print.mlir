// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// The types of what arrives are those of the future.
// CHECK-LABEL: @tensors
func.func @tensors(%f: !ring.future<tensor<4xf32>, tensor<?xbf16>>) -> (tensor<4xf32>, tensor<?xbf16>) {
  // CHECK: %[[R:.*]]:2 = ring.permute_wait %{{.*}} : !ring.future<tensor<4xf32>, tensor<?xbf16>>
  %k, %v = ring.permute_wait %f : !ring.future<tensor<4xf32>, tensor<?xbf16>>
  // CHECK: return %[[R]]#0, %[[R]]#1 : tensor<4xf32>, tensor<?xbf16>
  return %k, %v : tensor<4xf32>, tensor<?xbf16>
}

// CHECK-LABEL: @memrefs
func.func @memrefs(%f: !ring.future<memref<4xf32>>) -> memref<4xf32> {
  // CHECK: ring.permute_wait %{{.*}} {note = "kept"} : !ring.future<memref<4xf32>>
  %k = ring.permute_wait %f {note = "kept"} : !ring.future<memref<4xf32>>
  return %k : memref<4xf32>
}
