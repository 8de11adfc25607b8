// RUN: ring-opt %s --ring-split-constants | FileCheck %s

// Each use has a constant of its own: a program has as many of them whether or
// not two of its numbers happen to be equal.
// CHECK-LABEL: llvm.func @shared(
// CHECK-SAME:    %[[X:.*]]: i64)
// CHECK-NEXT:    %[[A:.*]] = llvm.mlir.constant(4 : i64) : i64
// CHECK-NEXT:    %[[B:.*]] = llvm.mlir.constant(4 : i64) : i64
// CHECK-NEXT:    %[[C:.*]] = llvm.mlir.constant(4 : i64) : i64
// CHECK-NEXT:    %[[S:.*]] = llvm.add %[[X]], %[[B]] : i64
// CHECK-NEXT:    %[[T:.*]] = llvm.mul %[[A]], %[[C]] : i64
// CHECK-NEXT:    llvm.call @shared(%[[S]])
llvm.func @shared(%x: i64) -> i64 {
  %c = llvm.mlir.constant(4 : i64) : i64
  %s = llvm.add %x, %c : i64
  %t = llvm.mul %c, %c : i64
  %u = llvm.call @shared(%s) : (i64) -> i64
  %v = llvm.add %t, %u : i64
  llvm.return %v : i64
}

// One that nobody uses is gone, one that is used once stays.
// CHECK-LABEL: llvm.func @used_once(
// CHECK-NEXT:    %[[A:.*]] = llvm.mlir.constant(5 : i64) : i64
// CHECK-NEXT:    llvm.return %[[A]] : i64
llvm.func @used_once() -> i64 {
  %unused = llvm.mlir.constant(4 : i64) : i64
  %c = llvm.mlir.constant(5 : i64) : i64
  llvm.return %c : i64
}
