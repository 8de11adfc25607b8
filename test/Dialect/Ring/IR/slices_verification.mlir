// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @query_table_of_four_columns(%r: index, %t: tensor<4x5xi64>, %bad: tensor<4x4xi64>) {
  // expected-error @+1 {{'ring.slices' op layout table has 4 columns, expected 5}}
  %s = ring.slices at(%r, %r in %bad, %t) : tensor<4x4xi64>, tensor<4x5xi64>
  return
}

// -----

func.func @key_table_of_dynamic_columns(%r: index, %t: tensor<4x5xi64>, %bad: tensor<4x?xi64>) {
  // expected-error @+1 {{'ring.slices' op layout table has ? columns, expected 5}}
  %s = ring.slices at(%r, %r in %t, %bad) : tensor<4x5xi64>, tensor<4x?xi64>
  return
}

// -----

func.func @table_of_32_bits(%r: index, %t: tensor<4x5xi32>) {
  // expected-error @+1 {{'ring.slices' op operand #2 must be layout table [entries, 5] of i64, but got 'tensor<4x5xi32>'}}
  %s = ring.slices at(%r, %r in %t, %t) : tensor<4x5xi32>, tensor<4x5xi32>
  return
}

// -----

func.func @rank_of_32_bits(%r: i32, %o: index, %t: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.slices' op operand #0 must be index, but got 'i32'}}
  %s = "ring.slices"(%r, %o, %t, %t) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}>
    : (i32, index, tensor<4x5xi64>, tensor<4x5xi64>) -> !ring.slices
  return
}

// -----

func.func @segments_of_one_side(%r: index, %t: tensor<4x5xi64>, %sq: tensor<2x256xi32>) {
  // expected-error @+1 {{'ring.slices' op has segments of the query only, expected both or none}}
  %s = "ring.slices"(%r, %r, %t, %t, %sq) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>}>
    : (index, index, tensor<4x5xi64>, tensor<4x5xi64>, tensor<2x256xi32>) -> !ring.slices
  return
}

// -----

func.func @two_batch_sizes(%r: index, %t: tensor<4x5xi64>, %sq: tensor<2x256xi32>, %sk: tensor<?x256xi32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'ring.slices' op operands have batch sizes 2 and 3, expected one}}
  %s = ring.slices at(%r, %r in %t, %t) segments(%sq, %sk : tensor<2x256xi32>, tensor<?x256xi32>) lengths(%n : tensor<3xi32>)
    : tensor<4x5xi64>, tensor<4x5xi64>
  return
}

// -----

func.func @align_and_offsets(%r: index, %t: tensor<4x5xi64>, %o: tensor<2xi32>) {
  // expected-error @+1 {{'ring.slices' op has both offsets and align, expected one of them}}
  %s = ring.slices at(%r, %r in %t, %t) offsets(%o : tensor<2xi32>) mask(<causal, align = bottom_right>)
    : tensor<4x5xi64>, tensor<4x5xi64>
  return
}
