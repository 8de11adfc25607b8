// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK-LABEL: @tensors
func.func @tensors(%q: tensor<1x8x?x64xbf16>, %k: tensor<1x2x?x64xbf16>, %v: tensor<1x2x?x32xbf16>, %s: !ring.slices,
                   %acc: tensor<1x8x?x32xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // CHECK:      %{{.*}}:3 = ring.online_attention %{{.*}}, %{{.*}}, %{{.*}} slices(%{{.*}}) scale(1.250000e-01) outs(%{{.*}}, %{{.*}}, %{{.*}}) :
  // CHECK-SAME: (tensor<1x8x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x32xbf16>, !ring.slices, tensor<1x8x?x32xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  // CHECK-SAME: -> (tensor<1x8x?x32xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(0.125) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x32xbf16>, !ring.slices,
       tensor<1x8x?x32xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x32xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// CHECK-LABEL: @memrefs
func.func @memrefs(%q: memref<1x8x?x64xf32>, %kv: memref<1x2x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>, %s: !ring.slices,
                   %acc: memref<1x8x?x64xf32>, %max: memref<1x8x?xf32>, %sum: memref<1x8x?xf32>) {
  // CHECK:      ring.online_attention {{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}}) : (memref
  // CHECK-SAME: -> ()
  ring.online_attention %q, %kv, %kv slices(%s) scale(0.125) outs(%acc, %max, %sum)
    : (memref<1x8x?x64xf32>, memref<1x2x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>,
       memref<1x2x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>, !ring.slices,
       memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>) -> ()
  return
}

// CHECK-LABEL: @every_clause
func.func @every_clause(%q: tensor<1x8x?x64xf32>, %kv: tensor<1x2x?x64xf32>, %s: !ring.slices, %b: tensor<1x1x?x256xf32>,
                        %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %slopes: tensor<8xf32>) {
  // CHECK:      slices(%{{.*}}) bias(%{{.*}}) scale(1.000000e+00) softcap(3.000000e+01) outs(%{{.*}}, %{{.*}}, %{{.*}}) score {
  // CHECK:        ring.yield
  // CHECK-NEXT: } : (
  %r:3 = ring.online_attention %q, %kv, %kv slices(%s) bias(%b) scale(1.0) softcap(30.0) outs(%acc, %max, %sum)
      score {
      ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
        %slope = tensor.extract %slopes[%head] : tensor<8xf32>
        %y = arith.mulf %slope, %x : f32
        ring.yield %y : f32
      }
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x1x?x256xf32>,
       tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// CHECK-LABEL: @score_on_memrefs
func.func @score_on_memrefs(%q: memref<1x8x?x64xf32>, %s: !ring.slices, %row: memref<1x8x?xf32>, %slopes: memref<8xf32>, %shift: i32) {
  // CHECK: score {
  // CHECK:   memref.load %{{.*}}[%{{.*}}] : memref<8xf32>
  // CHECK:   ring.yield
  ring.online_attention %q, %q, %q slices(%s) scale(1.0) outs(%q, %row, %row)
      score {
      ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
        %slope = memref.load %slopes[%head] : memref<8xf32>
        %d = index.sub %qi, %ki
        %i = arith.index_cast %d : index to i32
        %moved = arith.addi %i, %shift : i32
        %f = arith.sitofp %moved : i32 to f32
        %y = math.fma %slope, %f, %x : f32
        ring.yield %y : f32
      }
    : (memref<1x8x?x64xf32>, memref<1x8x?x64xf32>, memref<1x8x?x64xf32>, !ring.slices, memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>) -> ()
  return
}
