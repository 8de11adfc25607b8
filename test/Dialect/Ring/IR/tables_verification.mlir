// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @no_ranks(%s: index, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op ranks is 0, expected 1 to 1024}}
  %r:2 = ring.tables <zigzag> ranks 0 sizes(%s, %s) outs(%t, %t)
    : (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}

// -----

func.func @more_ranks_than_a_ring_has(%s: index, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op ranks is 9223372036854775807, expected 1 to 1024}}
  %r:2 = ring.tables <balanced> ranks 9223372036854775807 sizes(%s, %s) outs(%t, %t)
    : (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}

// -----

func.func @segments_of_one_side(%s: index, %ids: tensor<2x8xi32>, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op has segments of the key only, expected both or none}}
  %r:2 = "ring.tables"(%s, %s, %ids, %t, %t) <{layout = #ring.layout<zigzag>, ranks = 4, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 1, 1>}>
    : (index, index, tensor<2x8xi32>, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}

// -----

func.func @two_batch_sizes(%s: index, %n: tensor<2xi32>, %o: tensor<3xi32>, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op operands have batch sizes 2 and 3, expected one}}
  %r:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) lengths(%n) offsets(%o) outs(%t, %t)
    : (index, index, tensor<2xi32>, tensor<3xi32>, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}

// -----

func.func @align_and_offsets(%s: index, %o: tensor<3xi32>, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op has both offsets and align, expected one of them}}
  %r:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) offsets(%o) mask(<causal, align = top_left>) outs(%t, %t)
    : (index, index, tensor<3xi32>, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}

// -----

func.func @table_of_four_columns(%s: index, %t: tensor<8x4xi64>, %u: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op layout table has 4 columns, expected 5}}
  %r:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%u, %t)
    : (index, index, tensor<8x5xi64>, tensor<8x4xi64>) -> (tensor<8x5xi64>, tensor<8x4xi64>)
  return
}

// -----

func.func @too_few_entries(%s: index, %t: tensor<7x5xi64>, %u: tensor<?x5xi64>) {
  // expected-error @+1 {{'ring.tables' op layout table has 7 entries, expected 8 or more for zigzag on 4 ranks}}
  %r:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%u, %t)
    : (index, index, tensor<?x5xi64>, tensor<7x5xi64>) -> (tensor<?x5xi64>, tensor<7x5xi64>)
  return
}

// -----

func.func @too_few_entries_for_balanced(%s: index, %t: tensor<191x5xi64>) {
  // expected-error @+1 {{'ring.tables' op layout table has 191 entries, expected 192 or more for balanced on 3 ranks}}
  %r:2 = ring.tables <balanced> ranks 3 sizes(%s, %s) outs(%t, %t)
    : (index, index, tensor<191x5xi64>, tensor<191x5xi64>) -> (tensor<191x5xi64>, tensor<191x5xi64>)
  return
}

// -----

func.func @too_few_entries_for_striped(%s: index, %t: tensor<1x5xi64>) {
  // expected-error @+1 {{'ring.tables' op layout table has 1 entries, expected 4 or more for striped:8 on 2 ranks}}
  %r:2 = ring.tables <striped, 8> ranks 2 sizes(%s, %s) outs(%t, %t)
    : (index, index, tensor<1x5xi64>, tensor<1x5xi64>) -> (tensor<1x5xi64>, tensor<1x5xi64>)
  return
}

// -----

// More than needed is no error: what is left becomes empty entries.
func.func @entries_to_spare(%s: index, %t: tensor<3x5xi64>, %u: tensor<99x5xi64>) {
  %r:2 = ring.tables <contiguous> ranks 3 sizes(%s, %s) outs(%t, %u)
    : (index, index, tensor<3x5xi64>, tensor<99x5xi64>) -> (tensor<3x5xi64>, tensor<99x5xi64>)
  return
}

// -----

func.func @tensor_and_memref(%s: index, %t: tensor<8x5xi64>, %m: memref<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  %r = ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%t, %m)
    : (index, index, tensor<8x5xi64>, memref<8x5xi64>) -> tensor<8x5xi64>
  return
}

// -----

func.func @result_of_other_type(%s: index, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op expected type of operand #3 ('tensor<8x5xi64>') to match type of corresponding result ('tensor<?x5xi64>')}}
  %r:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%t, %t)
    : (index, index, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<?x5xi64>)
  return
}

// -----

func.func @table_of_32_bits(%s: index, %t: tensor<8x5xi32>) {
  // expected-error @+1 {{'ring.tables' op operand #2 must be layout table [entries, 5] of i64, but got 'tensor<8x5xi32>'}}
  %r:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) outs(%t, %t)
    : (index, index, tensor<8x5xi32>, tensor<8x5xi32>) -> (tensor<8x5xi32>, tensor<8x5xi32>)
  return
}

// -----

func.func @lengths_of_64_bits(%s: index, %n: tensor<2xi64>, %t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.tables' op operand #2 must be 1D tensor of 32-bit signless integer values without encoding or 1D memref of 32-bit signless integer values, but got 'tensor<2xi64>'}}
  %r:2 = ring.tables <zigzag> ranks 4 sizes(%s, %s) lengths(%n) outs(%t, %t)
    : (index, index, tensor<2xi64>, tensor<8x5xi64>, tensor<8x5xi64>) -> (tensor<8x5xi64>, tensor<8x5xi64>)
  return
}

// -----

func.func @padded_size_of_no_ranks(%t: tensor<8x5xi64>) {
  // expected-error @+1 {{'ring.padded_size' op ranks is 0, expected 1 to 1024}}
  %n = ring.padded_size %t ranks 0 : tensor<8x5xi64>
  return
}

// -----

func.func @padded_size_of_four_columns(%t: tensor<8x4xi64>) {
  // expected-error @+1 {{'ring.padded_size' op layout table has 4 columns, expected 5}}
  %n = ring.padded_size %t ranks 4 : tensor<8x4xi64>
  return
}

// -----

func.func @padded_size_of_32_bits(%t: tensor<8x5xi32>) {
  // expected-error @+1 {{'ring.padded_size' op operand #0 must be layout table [entries, 5] of i64, but got 'tensor<8x5xi32>'}}
  %n = ring.padded_size %t ranks 4 : tensor<8x5xi32>
  return
}

// -----

func.func @equal_integers(%a: i32) {
  // expected-error @+1 {{'ring.require_equal' op operand #0 must be index, but got 'i32'}}
  "ring.require_equal"(%a, %a) <{what = "sizes"}> : (i32, i32) -> ()
  return
}

// -----

func.func @equal_of_nothing(%a: index) {
  // expected-error @+1 {{'ring.require_equal' op requires attribute 'what'}}
  "ring.require_equal"(%a, %a) : (index, index) -> ()
  return
}
