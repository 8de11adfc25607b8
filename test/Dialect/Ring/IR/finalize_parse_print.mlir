// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK-LABEL: @tensors
func.func @tensors(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %sinks: tensor<8xf32>, %out: tensor<1x8x?x64xbf16>) {
  // CHECK: %{{[^ ]*}} = ring.finalize %{{.*}}, %{{.*}}, %{{.*}} outs(%{{[^,]*}}) : {{.*}} -> tensor<1x8x?x64xbf16>
  %o = ring.finalize %acc, %row, %row outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  // CHECK: %{{.*}}:2 = ring.finalize %{{.*}}, %{{.*}}, %{{.*}} sinks(%{{.*}}) outs(%{{.*}}, %{{.*}}) : {{.*}} -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
  %r:2 = ring.finalize %acc, %row, %row sinks(%sinks) outs(%out, %row)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<8xf32>, tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
  return
}

// CHECK-LABEL: @memrefs
func.func @memrefs(%acc: memref<1x8x?x64xf32>, %row: memref<1x8x?xf32>, %out: memref<1x8x?x64xf16>) {
  // CHECK: ring.finalize %{{.*}}, %{{.*}}, %{{.*}} outs(%{{.*}}, %{{.*}}) : {{.*}} -> ()
  ring.finalize %acc, %row, %row outs(%out, %row)
    : (memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>, memref<1x8x?x64xf16>, memref<1x8x?xf32>) -> ()
  return
}

// CHECK-LABEL: @empty_rows
func.func @empty_rows(%acc: tensor<2x8x?x64xf32>, %row: tensor<2x8x?xf32>, %sinks: tensor<8xf32>, %mean: tensor<2x2x64xf32>,
                      %out: tensor<2x8x?x64xbf16>, %m: memref<2x8x4x64xf32>, %r: memref<2x8x4xf32>, %mm: memref<2x8x64xf32>) {
  // CHECK: ring.finalize %{{.*}}, %{{.*}}, %{{.*}} empty_rows(nan) outs(%{{.*}}) :
  %a = ring.finalize %acc, %row, %row empty_rows(nan) outs(%out)
    : (tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>, tensor<2x8x?x64xbf16>) -> tensor<2x8x?x64xbf16>
  // CHECK: ring.finalize %{{.*}}, %{{.*}}, %{{.*}} empty_rows(zero) outs(%{{.*}}) :
  %b = ring.finalize %acc, %row, %row empty_rows(zero) outs(%out)
    : (tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>, tensor<2x8x?x64xbf16>) -> tensor<2x8x?x64xbf16>
  // CHECK:      ring.finalize %{{.*}}, %{{.*}}, %{{.*}} sinks(%{{.*}}) empty_rows(uniform) mean(%{{.*}}) outs(%{{.*}}, %{{.*}}) :
  // CHECK-SAME: tensor<8xf32>, tensor<2x2x64xf32>, tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>)
  %c:2 = ring.finalize %acc, %row, %row sinks(%sinks) empty_rows(uniform) mean(%mean) outs(%out, %row)
    : (tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>, tensor<8xf32>, tensor<2x2x64xf32>, tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>)
    -> (tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>)
  // CHECK: ring.finalize %{{.*}}, %{{.*}}, %{{.*}} empty_rows(uniform) mean(%{{.*}}) outs(%{{.*}}) : (memref
  ring.finalize %m, %r, %r empty_rows(uniform) mean(%mm) outs(%m)
    : (memref<2x8x4x64xf32>, memref<2x8x4xf32>, memref<2x8x4xf32>, memref<2x8x64xf32>, memref<2x8x4x64xf32>) -> ()
  return
}
