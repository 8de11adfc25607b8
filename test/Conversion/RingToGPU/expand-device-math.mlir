// RUN: ring-opt %s --pass-pipeline='builtin.module(gpu.module(ring-expand-device-math))' --split-input-file --verify-diagnostics | FileCheck %s --implicit-check-not=math.tanh --implicit-check-not="math.exp "

gpu.module @kernels {
  // What a GPU has no instruction for becomes what it has one for.
  // CHECK-LABEL: llvm.func @expanded(
  // CHECK:         arith.mulf
  llvm.func @expanded(%x: f32) -> f32 {
    %t = math.tanh %x : f32
    %e = math.exp %t : f32
    llvm.return %e : f32
  }

  // CHECK-LABEL: llvm.func @kept(
  // CHECK:         math.exp2
  // CHECK:         math.sqrt
  // CHECK:         math.floor
  llvm.func @kept(%x: f32) -> f32 {
    %a = math.exp2 %x : f32
    %b = math.sqrt %a : f32
    %c = math.floor %b : f32
    llvm.return %c : f32
  }
}

// -----

gpu.module @kernels {
  llvm.func @refused(%x: f64) -> f64 {
    // expected-error @+1 {{feature 'math.exp2' is not supported on f64 by ring-expand-device-math: a GPU has no instruction for it}}
    %y = math.exp2 %x : f64
    llvm.return %y : f64
  }
}
