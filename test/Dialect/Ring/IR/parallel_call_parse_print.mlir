// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

func.func private @tile(index, memref<?xf32>, f32)
func.func private @item(index)
llvm.func @lowered(i64, !llvm.ptr)

// CHECK-LABEL: @calls
func.func @calls(%count: index, %round: index, %q: memref<?xf32>, %x: f32) {
  // CHECK: ring.parallel_call @tile(%{{.*}}, %{{.*}}) (%{{.*}}, %{{.*}}) : memref<?xf32>, f32
  ring.parallel_call @tile(%count, %round) (%q, %x) : memref<?xf32>, f32
  // CHECK: ring.parallel_call @item(%{{.*}}, %{{.*}}) () {note = "kept"}
  ring.parallel_call @item(%count, %round) () {note = "kept"}
  // The callee may be lowered before the caller.
  // CHECK: ring.parallel_call @lowered(%{{.*}}, %{{.*}}) (%{{.*}}) : memref<?xf32>
  ring.parallel_call @lowered(%count, %round) (%q) : memref<?xf32>
  return
}
