// RUN: ring-opt %s --split-input-file --verify-diagnostics

// The generic form may give an operand that is not optional to none, or to two.

func.func @finalize(%acc: memref<2x4x?x48xf32>, %row: memref<2x4x?xf32>, %out: memref<2x4x?x48xf32>) {
  // expected-error @+1 {{'ring.finalize' op operandSegmentSizes gives operand group 1 2 operands, expected 1}}
  "ring.finalize"(%acc, %row, %row, %out) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 0, 1, 0>}> : (memref<2x4x?x48xf32>, memref<2x4x?xf32>, memref<2x4x?xf32>, memref<2x4x?x48xf32>) -> ()
  return
}

// -----

func.func @attention(%q: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  // expected-error @+1 {{'ring.attention' op operandSegmentSizes gives operand group 0 0 operands, expected 1}}
  %o = "ring.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 0, 2, 1, 0, 0, 0, 0, 0, 0>}> ({
  }) : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %o : tensor<1x2x8x4xf32>
}

// -----

func.func @slices(%i: index, %t: tensor<2x5xi64>) {
  // expected-error @+1 {{'ring.slices' op operandSegmentSizes gives operand group 0 2 operands, expected 1}}
  %s = "ring.slices"(%i, %i, %t, %t) <{operandSegmentSizes = array<i32: 2, 0, 1, 1, 0, 0, 0, 0>}> : (index, index, tensor<2x5xi64>, tensor<2x5xi64>) -> !ring.slices
  return
}

// -----

func.func @tables(%n: index, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op operandSegmentSizes gives operand group 6 2 operands, expected 1}}
  %r:2 = "ring.tables"(%n, %n, %t, %t) <{layout = #ring.layout<zigzag>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 2, 0>, ranks = 4 : i64}> : (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}
