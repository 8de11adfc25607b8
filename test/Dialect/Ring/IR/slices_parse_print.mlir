// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK-LABEL: @tables_only
func.func @tables_only(%rank: index, %owner: index, %qt: tensor<4x5xi64>, %kt: tensor<?x5xi64>) {
  // CHECK: ring.slices at(%{{.*}}, %{{.*}} in %{{.*}}, %{{[^ ]*}}) : tensor<4x5xi64>, tensor<?x5xi64>
  %s = ring.slices at(%rank, %owner in %qt, %kt) : tensor<4x5xi64>, tensor<?x5xi64>
  return
}

// CHECK-LABEL: @mask_and_whole
func.func @mask_and_whole(%rank: index, %owner: index, %t: tensor<4x5xi64>) {
  // CHECK: ring.slices at({{.*}}) mask(<causal>) : tensor
  %classified = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) : tensor<4x5xi64>, tensor<4x5xi64>
  // CHECK: ring.slices at({{.*}}) whole : tensor
  %whole = ring.slices at(%rank, %owner in %t, %t) whole : tensor<4x5xi64>, tensor<4x5xi64>
  // CHECK: ring.slices at({{.*}}) mask(<window = [*, 3]>) whole : tensor
  %both = ring.slices at(%rank, %owner in %t, %t) mask(<window = [*, 3]>) whole : tensor<4x5xi64>, tensor<4x5xi64>
  return
}

// CHECK-LABEL: @every_operand
func.func @every_operand(%rank: index, %owner: index, %t: tensor<4x5xi64>,
                         %sq: tensor<2x256xi32>, %sk: tensor<?x?xi32>, %n: tensor<2xi32>, %o: tensor<2xi32>) {
  // CHECK:      segments(%{{.*}}, %{{.*}} : tensor<2x256xi32>, tensor<?x?xi32>)
  // CHECK-SAME: lengths(%{{.*}} : tensor<2xi32>) offsets(%{{.*}} : tensor<2xi32>) mask(<causal>) whole : tensor
  %s = ring.slices at(%rank, %owner in %t, %t) segments(%sq, %sk : tensor<2x256xi32>, tensor<?x?xi32>)
      lengths(%n : tensor<2xi32>) offsets(%o : tensor<2xi32>) mask(<causal>) whole : tensor<4x5xi64>, tensor<4x5xi64>
  return
}

// CHECK-LABEL: @memrefs
func.func @memrefs(%rank: index, %owner: index, %t: memref<4x5xi64>, %n: memref<2xi32>) {
  // CHECK: lengths(%{{.*}} : memref<2xi32>) : memref<4x5xi64>, memref<4x5xi64>
  %s = ring.slices at(%rank, %owner in %t, %t) lengths(%n : memref<2xi32>) : memref<4x5xi64>, memref<4x5xi64>
  return
}
