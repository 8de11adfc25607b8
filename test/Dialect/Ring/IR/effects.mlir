// RUN: ring-opt %s --cse --canonicalize --loop-invariant-code-motion --sccp | FileCheck %s

// Ops that move or write data are not merged, dropped, moved or reordered.

shard.grid @ring(shape = 4)

// CHECK-LABEL: @same_transfer_twice
func.func @same_transfer_twice(%k: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[F:.*]] = ring.permute_start
  // CHECK-NEXT: %[[G:.*]] = ring.permute_start
  // CHECK-NEXT: %[[A:.*]] = ring.permute_wait %[[F]]
  // CHECK-NEXT: %[[B:.*]] = ring.permute_wait %[[G]]
  // CHECK-NEXT: return %[[A]], %[[B]]
  %f = ring.permute_start %k on @ring axis 0 : tensor<4xf32>
  %g = ring.permute_start %k on @ring axis 0 : tensor<4xf32>
  %a = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  %b = ring.permute_wait %g : !ring.future<tensor<4xf32>>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @nobody_reads_what_arrives
func.func @nobody_reads_what_arrives(%k: tensor<4xf32>) {
  // CHECK-NEXT: %[[F:.*]] = ring.permute_start
  // CHECK-NEXT: ring.permute_wait %[[F]]
  %f = ring.permute_start %k on @ring axis 0 : tensor<4xf32>
  %a = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  return
}

// CHECK-LABEL: @transfer_of_the_same_in_every_round
func.func @transfer_of_the_same_in_every_round(%k: tensor<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK:      scf.for
  // CHECK-NEXT:   %[[F:.*]] = ring.permute_start
  // CHECK-NEXT:   ring.permute_wait %[[F]]
  scf.for %t = %c0 to %n step %c1 {
    %f = ring.permute_start %k on @ring axis 0 : tensor<4xf32>
    %a = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  }
  return
}

// CHECK-LABEL: @read_before_and_after_a_write
func.func @read_before_and_after_a_write(%r: index, %t: memref<4x5xi64>, %n: memref<2xi32>, %i: i32) -> (!ring.slices, !ring.slices) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[BEFORE:.*]] = ring.slices
  // CHECK: memref.store
  // CHECK: %[[AFTER:.*]] = ring.slices
  // CHECK: return %[[BEFORE]], %[[AFTER]]
  %before = ring.slices at(%r, %r in %t, %t) lengths(%n : memref<2xi32>) : memref<4x5xi64>, memref<4x5xi64>
  memref.store %i, %n[%c0] : memref<2xi32>
  %after = ring.slices at(%r, %r in %t, %t) lengths(%n : memref<2xi32>) : memref<4x5xi64>, memref<4x5xi64>
  return %before, %after : !ring.slices, !ring.slices
}

// CHECK-LABEL: @updates_of_memrefs
func.func @updates_of_memrefs(%q: memref<1x8x4x64xf32>, %row: memref<1x8x4xf32>, %s: !ring.slices) {
  // CHECK-COUNT-2: ring.online_attention
  // CHECK-COUNT-2: ring.merge
  // CHECK-COUNT-1: ring.finalize
  ring.online_attention %q, %q, %q slices(%s) scale(1.0) outs(%q, %row, %row)
    : (memref<1x8x4x64xf32>, memref<1x8x4x64xf32>, memref<1x8x4x64xf32>, !ring.slices, memref<1x8x4x64xf32>, memref<1x8x4xf32>, memref<1x8x4xf32>) -> ()
  ring.online_attention %q, %q, %q slices(%s) scale(1.0) outs(%q, %row, %row)
    : (memref<1x8x4x64xf32>, memref<1x8x4x64xf32>, memref<1x8x4x64xf32>, !ring.slices, memref<1x8x4x64xf32>, memref<1x8x4xf32>, memref<1x8x4xf32>) -> ()
  ring.merge ins(%q, %row, %row) outs(%q, %row, %row)
    : (memref<1x8x4x64xf32>, memref<1x8x4xf32>, memref<1x8x4xf32>, memref<1x8x4x64xf32>, memref<1x8x4xf32>, memref<1x8x4xf32>) -> ()
  ring.merge ins(%q, %row, %row) outs(%q, %row, %row)
    : (memref<1x8x4x64xf32>, memref<1x8x4xf32>, memref<1x8x4xf32>, memref<1x8x4x64xf32>, memref<1x8x4xf32>, memref<1x8x4xf32>) -> ()
  ring.finalize %q, %row, %row outs(%q) : (memref<1x8x4x64xf32>, memref<1x8x4xf32>, memref<1x8x4xf32>, memref<1x8x4x64xf32>) -> ()
  return
}

func.func private @rank()
func.func private @kernel(index)

// CHECK-LABEL: @calls
func.func @calls(%whole: memref<16xf32>, %t: memref<4x5xi64>, %stack: memref<?x4xf32>, %n: index) {
  // CHECK-NEXT: ring.host.scatter
  // CHECK-NEXT: ring.host.run
  // CHECK-NEXT: ring.host.gather
  // CHECK-NEXT: ring.call
  // CHECK-NEXT: ring.call
  // CHECK-NEXT: ring.parallel_call
  // CHECK-NEXT: ring.parallel_call
  ring.host.scatter %whole by %t dim 0 outs(%stack) : (memref<16xf32>, memref<4x5xi64>, memref<?x4xf32>) -> ()
  ring.host.run @rank ranks 4 (%stack) outs(%stack) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  ring.host.gather %stack by %t dim 0 outs(%whole) : (memref<?x4xf32>, memref<4x5xi64>, memref<16xf32>) -> ()
  ring.call @rank (%whole) outs(%whole) : (memref<16xf32>, memref<16xf32>) -> ()
  ring.call @rank (%whole) outs(%whole) : (memref<16xf32>, memref<16xf32>) -> ()
  ring.parallel_call @kernel(%n, %n) ()
  ring.parallel_call @kernel(%n, %n) ()
  return
}

// CHECK-LABEL: @tables
func.func @tables(%s: index, %t: memref<8x5xi64>) -> (index, index) {
  // CHECK-NEXT: %[[BEFORE:.*]] = ring.padded_size
  // CHECK-NEXT: ring.tables
  // CHECK-NEXT: ring.tables
  // CHECK-NEXT: %[[AFTER:.*]] = ring.padded_size
  // CHECK-NEXT: return %[[BEFORE]], %[[AFTER]]
  %before = ring.padded_size %t ranks 4 : memref<8x5xi64>
  ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%t, %t) : (index, index, memref<8x5xi64>, memref<8x5xi64>) -> ()
  ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%t, %t) : (index, index, memref<8x5xi64>, memref<8x5xi64>) -> ()
  %after = ring.padded_size %t ranks 4 : memref<8x5xi64>
  return %before, %after : index, index
}

// CHECK-LABEL: @requirements
func.func @requirements(%a: index, %b: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK:      scf.for
  // CHECK-NEXT:   ring.require_equal
  scf.for %t = %c0 to %n step %c1 {
    ring.require_equal %a, %b "not before the loop, which may be empty"
  }
  return
}
