// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK-LABEL: @sizes_only
func.func @sizes_only(%sq: index, %sk: index, %t: tensor<8x5xi64>) {
  // CHECK:      %{{.*}}:2 = ring.tables <zigzag> ranks 4 sizes(%{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) :
  // CHECK-SAME: (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  %tables:2 = ring.tables <zigzag> ranks 4 sizes(%sq, %sk) outs(%t, %t)
    : (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}

// CHECK-LABEL: @every_clause
func.func @every_clause(%s: index, %t: tensor<?x5xi64>, %sq: tensor<2x?xi32>, %sk: tensor<?x?xi32>, %n: tensor<2xi32>, %o: tensor<2xi32>) {
  // CHECK:      ring.tables <balanced> ranks 3 sizes(%{{.*}}, %{{.*}}) segments(%{{[^)]*}}) lengths(%{{[^)]*}})
  // CHECK-SAME: offsets(%{{.*}}) mask(<causal, window = [7, *]>) outs(%{{.*}}, %{{.*}}) {note = "kept"} :
  %tables:2 = ring.tables <balanced> ranks 3 sizes(%s, %s) segments(%sq, %sk) lengths(%n) offsets(%o)
      mask(<causal, window = [7, *]>) outs(%t, %t) {note = "kept"}
    : (index, index, tensor<2x?xi32>, tensor<?x?xi32>, tensor<2xi32>, tensor<2xi32>, tensor<?x5xi64>, tensor<?x5xi64>)
    -> (tensor<?x5xi64>, tensor<?x5xi64>)
  return
}

// CHECK-LABEL: @memrefs
func.func @memrefs(%s: index, %t: memref<4x5xi64>, %u: memref<6x5xi64>, %n: memref<2xi32>) {
  // CHECK: ring.tables <striped, 16> ranks 2 sizes(%{{.*}}, %{{.*}}) lengths(%{{.*}}) mask(<causal, align = bottom_right>) outs(%{{.*}}, %{{.*}}) : {{.*}} -> ()
  ring.tables <striped, 16> ranks 2 sizes(%s, %s) lengths(%n) mask(<causal, align = bottom_right>) outs(%t, %u)
    : (index, index, memref<2xi32>, memref<4x5xi64>, memref<6x5xi64>) -> ()
  return
}

// CHECK-LABEL: @padded_size
func.func @padded_size(%t: tensor<8x5xi64>, %m: memref<?x5xi64>) {
  // CHECK: %{{.*}} = ring.padded_size %{{.*}} ranks 4 : tensor<8x5xi64>
  %a = ring.padded_size %t ranks 4 : tensor<8x5xi64>
  // CHECK: %{{.*}} = ring.padded_size %{{.*}} ranks 2 {note = "kept"} : memref<?x5xi64>
  %b = ring.padded_size %m ranks 2 {note = "kept"} : memref<?x5xi64>
  return
}

// CHECK-LABEL: @require_equal
func.func @require_equal(%a: index, %b: index) {
  // CHECK: ring.require_equal %{{.*}}, %{{.*}} "batch of \22query\22 and key"
  ring.require_equal %a, %b "batch of \"query\" and key"
  // CHECK: ring.require_equal %{{.*}}, %{{.*}} "" {note = "kept"}
  ring.require_equal %a, %b "" {note = "kept"}
  return
}
