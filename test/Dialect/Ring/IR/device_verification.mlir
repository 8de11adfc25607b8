// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @shape(%m: memref<4xf32>) {
  // expected-error @+1 {{'ring.device.import' op makes 'memref<5xf32, strided<[?], offset: ?>>' of 'memref<4xf32>', expected one shape and type}}
  %d = ring.device.import %m : memref<4xf32> to memref<5xf32, strided<[?], offset: ?>>
  return
}

// -----

func.func @element(%m: memref<4xf32>) {
  // expected-error @+1 {{'ring.device.export' op makes 'memref<4xf16, strided<[?], offset: ?>>' of 'memref<4xf32>', expected one shape and type}}
  %d = ring.device.export %m : memref<4xf32> to memref<4xf16, strided<[?], offset: ?>>
  return
}

// -----

// The runtime pads rows, and chooses where they begin.
func.func @layout(%m: memref<4x4xf32>) {
  // expected-error @+1 {{'ring.device.host_copy' op makes 'memref<4x4xf32>', expected dynamic strides and offset}}
  %d = ring.device.host_copy %m : memref<4x4xf32> to memref<4x4xf32>
  return
}

// -----

func.func @offset(%m: memref<4xf32>) {
  // expected-error @+1 {{'ring.device.import' op makes 'memref<4xf32, strided<[?]>>', expected dynamic strides and offset}}
  %d = ring.device.import %m : memref<4xf32> to memref<4xf32, strided<[?]>>
  return
}
