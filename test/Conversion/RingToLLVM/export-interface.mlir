// RUN: ring-opt %s --ring-export-interface -o %t
// RUN: FileCheck %s < %t

// The function that takes descriptors by address has the plain name, and
// nothing else can be linked. What is only declared is the runtime's.
// CHECK-DAG: llvm.func internal @f.body(%arg0: i64)
// CHECK-DAG: llvm.func @f(%arg0: !llvm.ptr)
// CHECK-DAG: llvm.call @f.body(
// CHECK-DAG: llvm.func internal @helper()
// CHECK-DAG: llvm.func @ring_begin(!llvm.ptr) -> i32
// CHECK-NOT: _mlir_ciface_

llvm.func @ring_begin(!llvm.ptr) -> i32
llvm.func @f(%x: i64) {
  llvm.return
}
llvm.func @_mlir_ciface_f(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> i64
  llvm.call @f(%x) : (i64) -> ()
  llvm.return
}
llvm.func @helper() {
  llvm.return
}
