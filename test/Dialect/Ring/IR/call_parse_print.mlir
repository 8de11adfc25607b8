// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

func.func private @rank()
llvm.func @lowered()

// CHECK-LABEL: @on_tensors
func.func @on_tensors(%q: tensor<1x8x?x64xf32>, %ids: tensor<1x8xi32>, %x: f32, %out: tensor<1x8x?x64xf32>, %lse: tensor<1x8x?xf32>) {
  // CHECK: %{{.*}} = ring.call @rank (%{{[^,]*}}, %{{.*}}) outs(%{{[^,]*}}) : (tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>) -> tensor<1x8x?x64xf32>
  %one = ring.call @rank (%q, %q) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>) -> tensor<1x8x?x64xf32>
  // What every rank has whole is of any type.
  // CHECK: %{{.*}}:2 = ring.call @rank (%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) {note = "kept"} : (tensor<1x8x?x64xf32>, tensor<1x8xi32>, f32, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>) -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>)
  %two:2 = ring.call @rank (%q, %ids, %x) outs(%out, %lse) {note = "kept"}
    : (tensor<1x8x?x64xf32>, tensor<1x8xi32>, f32, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>) -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>)
  return
}

// CHECK-LABEL: @on_memrefs
func.func @on_memrefs(%q: memref<1x8x?x64xf32>) {
  // CHECK: ring.call @rank (%{{.*}}) outs(%{{.*}}) : (memref<1x8x?x64xf32>, memref<1x8x?x64xf32>) -> ()
  ring.call @rank (%q) outs(%q) : (memref<1x8x?x64xf32>, memref<1x8x?x64xf32>) -> ()
  // The callee may be lowered before the caller.
  // CHECK: ring.call @lowered () outs() : () -> ()
  ring.call @lowered () outs() : () -> ()
  return
}
