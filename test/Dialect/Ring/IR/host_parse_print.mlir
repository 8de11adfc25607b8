// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK-LABEL: @host_on_tensors
func.func @host_on_tensors(%q: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %stack: tensor<?x1x8x64x64xf32>,
                           %lse: tensor<?x1x8x64xf32>, %empty: tensor<1x8x256x64xf32>) {
  // CHECK: ring.host.ranks
  %n = ring.host.ranks
  // CHECK: %[[Q:.*]] = ring.host.scatter %{{.*}} by %{{.*}} dim 2 outs(%{{.*}}) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xf32>) -> tensor<?x1x8x64x64xf32>
  %qs = ring.host.scatter %q by %table dim 2 outs(%stack)
    : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xf32>) -> tensor<?x1x8x64x64xf32>
  // CHECK:      %[[R:.*]]:2 = ring.host.run @rank ranks 4 (%[[Q]], %[[Q]]) outs(%{{.*}}, %{{.*}}) :
  // CHECK-SAME: -> (tensor<?x1x8x64x64xf32>, tensor<?x1x8x64xf32>)
  %r:2 = ring.host.run @rank ranks 4 (%qs, %qs) outs(%stack, %lse)
    : (tensor<?x1x8x64x64xf32>, tensor<?x1x8x64x64xf32>, tensor<?x1x8x64x64xf32>, tensor<?x1x8x64xf32>)
    -> (tensor<?x1x8x64x64xf32>, tensor<?x1x8x64xf32>)
  // CHECK: ring.host.gather %[[R]]#0 by %{{.*}} dim 2 outs(%{{.*}}) : (tensor<?x1x8x64x64xf32>, tensor<4x5xi64>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  %o = ring.host.gather %r#0 by %table dim 2 outs(%empty)
    : (tensor<?x1x8x64x64xf32>, tensor<4x5xi64>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// CHECK-LABEL: @host_on_memrefs
func.func @host_on_memrefs(%q: memref<1x8x256x64xf32>, %table: memref<4x5xi64>, %stack: memref<?x1x8x64x64xf32>) {
  // CHECK: ring.host.scatter %{{.*}} by %{{.*}} dim 2 outs(%{{.*}}) : {{.*}} -> ()
  ring.host.scatter %q by %table dim 2 outs(%stack) : (memref<1x8x256x64xf32>, memref<4x5xi64>, memref<?x1x8x64x64xf32>) -> ()
  // CHECK: ring.host.run @rank ranks 1 (%{{.*}}) outs(%{{.*}}) : {{.*}} -> ()
  ring.host.run @rank ranks 1 (%stack) outs(%stack) : (memref<?x1x8x64x64xf32>, memref<?x1x8x64x64xf32>) -> ()
  // CHECK: ring.host.run @rank ranks 4 () outs() : () -> ()
  ring.host.run @rank ranks 4 () outs() : () -> ()
  // CHECK: ring.host.gather %{{.*}} by %{{.*}} dim 2 outs(%{{.*}}) : {{.*}} -> ()
  ring.host.gather %stack by %table dim 2 outs(%q) : (memref<?x1x8x64x64xf32>, memref<4x5xi64>, memref<1x8x256x64xf32>) -> ()
  return
}

func.func private @rank()

// CHECK-LABEL: @replicated
func.func @replicated(%stack: tensor<?x1x8x64x64xf32>, %table: tensor<8x5xi64>, %n: tensor<2xi32>, %x: f32, %i: index) {
  // CHECK:      ring.host.run @rank ranks 4 (%{{[^,]*}}) replicated(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) outs(%{{[^,]*}}) :
  // CHECK-SAME: (tensor<?x1x8x64x64xf32>, tensor<8x5xi64>, tensor<2xi32>, f32, index, tensor<?x1x8x64x64xf32>) -> tensor<?x1x8x64x64xf32>
  %r = ring.host.run @rank ranks 4 (%stack) replicated(%table, %n, %x, %i) outs(%stack)
    : (tensor<?x1x8x64x64xf32>, tensor<8x5xi64>, tensor<2xi32>, f32, index, tensor<?x1x8x64x64xf32>) -> tensor<?x1x8x64x64xf32>
  return
}
