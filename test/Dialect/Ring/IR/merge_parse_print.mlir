// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK-LABEL: @tensors
func.func @tensors(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>) {
  // CHECK:      %{{.*}}:3 = ring.merge ins(%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}}) :
  // CHECK-SAME: -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  %r:3 = ring.merge ins(%acc, %row, %row) outs(%acc, %row, %row)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// CHECK-LABEL: @memrefs
func.func @memrefs(%acc: memref<1x8x?x64xf32>, %row: memref<1x8x?xf32>) {
  // CHECK:      ring.merge ins(%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}}) : (memref
  // CHECK-SAME: -> ()
  ring.merge ins(%acc, %row, %row) outs(%acc, %row, %row)
    : (memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>, memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>) -> ()
  return
}
