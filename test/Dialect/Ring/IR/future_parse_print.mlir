// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK: @tensors(!ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x32xbf16>>)
func.func private @tensors(!ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x32xbf16>>)

// CHECK: @memrefs(!ring.future<memref<1x2x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>>)
func.func private @memrefs(!ring.future<memref<1x2x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>>)

// CHECK: @slices(!ring.slices)
func.func private @slices(!ring.slices)
