// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s

// CHECK-LABEL: func.func @rank(
func.func @rank(%q: memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %kv: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %ids: memref<1x64xi32>, %slices: !ring.slices, %round: index, %last: i1, %slope: f32, %sinks: memref<8xf32>) {
  // CHECK: %[[Q:.*]] = ring.device.import %arg0 : memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>> to memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %dq = ring.device.import %q : memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>> to memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  // CHECK: %[[O:.*]] = ring.device.export %arg0 : memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>> to memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %do = ring.device.export %q : memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>> to memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  // CHECK: ring.device.host_copy %arg2 : memref<1x64xi32> to memref<1x64xi32, strided<[?, ?], offset: ?>>
  %host = ring.device.host_copy %ids : memref<1x64xi32> to memref<1x64xi32, strided<[?, ?], offset: ?>>
  // CHECK: %[[A:.*]] = ring.device.attention @kernels::@f query(%[[Q]]) sinks(%arg7) segments(%arg2, %arg2) outs(%[[O]]) captures(%arg6)
  %a = ring.device.attention @kernels::@f query(%dq) sinks(%sinks) segments(%ids, %ids) outs(%do) captures(%slope)
    {threads = 128 : i32, shared_bytes = 1024 : i32, query_tile = 128 : i32, key_tile = 64 : i32, heads = 8 : i32, head_blocks = 8 : i32, state_floats = 512 : i32}
    : memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<8xf32>, memref<1x64xi32>, memref<1x64xi32>, memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, f32
  // CHECK: ring.device.round %[[A]], %arg4, %arg1, %arg1 slices(%arg3) last(%arg5) : memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  ring.device.round %a, %round, %kv, %kv slices(%slices) last(%last) : memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  return
}

// CHECK: func.func private @takes(!ring.device_attention)
func.func private @takes(!ring.device_attention)
