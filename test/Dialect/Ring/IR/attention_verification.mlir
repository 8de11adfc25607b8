// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @key_of_other_type(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf16>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op key is of 'f16', expected the query's 'f32'}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf16>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @value_of_other_type(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xbf16>) {
  // expected-error @+1 {{'ring.attention' op value is of 'bf16', expected the query's 'f32'}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xbf16>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @out_of_other_type(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op out is of 'bf16', expected the query's 'f32'}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xbf16>
  return
}

// -----

func.func @integer_query(%q: tensor<1x8x256x64xi32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op operand #0 must be 4D tensor of 32-bit float or 16-bit float or bfloat16 type values without encoding, but got 'tensor<1x8x256x64xi32>'}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xi32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @double_query(%q: tensor<1x8x256x64xf64>, %k: tensor<1x2x256x64xf64>, %v: tensor<1x2x256x64xf64>) {
  // expected-error @+1 {{'ring.attention' op operand #0 must be 4D tensor of 32-bit float or 16-bit float or bfloat16 type values without encoding, but got 'tensor<1x8x256x64xf64>'}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf64>, tensor<1x2x256x64xf64>, tensor<1x2x256x64xf64>) -> tensor<1x8x256x64xf64>
  return
}

// -----

func.func @query_of_rank_three(%q: tensor<8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op operand #0 must be 4D tensor of 32-bit float or 16-bit float or bfloat16 type values without encoding, but got 'tensor<8x256x64xf32>'}}
  %out = ring.attention %q, %k, %v
    : (tensor<8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @unranked_key(%q: tensor<1x8x256x64xf32>, %k: tensor<*xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op operand #1 must be 4D tensor of 32-bit float or 16-bit float or bfloat16 type values without encoding, but got 'tensor<*xf32>'}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<*xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @encoded_value(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32, "sparse">) {
  // expected-error @+1 {{'ring.attention' op operand #2 must be 4D tensor of 32-bit float or 16-bit float or bfloat16 type values without encoding, but got 'tensor<1x2x256x64xf32, "sparse">'}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32, "sparse">) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @lse_of_16_bits(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op result #1 must be 3D tensor of 32-bit float values without encoding, but got 'tensor<1x8x256xbf16>'}}
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x8x256xbf16>)
  return
}

// -----

func.func @dynamic_heads_of_query(%q: tensor<1x?x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op number of heads of the query is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x?x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dynamic_head_size_of_query(%q: tensor<1x8x256x?xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op head size of the query is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x?xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @no_head_size_of_query(%q: tensor<1x8x256x0xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op head size of the query is 0, expected 1 or more}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x0xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dynamic_heads_of_key(%q: tensor<1x8x256x64xf32>, %k: tensor<1x?x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op number of heads of the key is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x?x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dynamic_head_size_of_key(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x?xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op head size of the key is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x?xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @no_head_size_of_key(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x0xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op head size of the key is 0, expected 1 or more}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x0xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dynamic_heads_of_value(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x?x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op number of heads of the value is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x?x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dynamic_head_size_of_value(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x?xf32>) {
  // expected-error @+1 {{'ring.attention' op head size of the value is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x?xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @no_head_size_of_value(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x0xf32>) {
  // expected-error @+1 {{'ring.attention' op head size of the value is 0, expected 1 or more}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x0xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @batch_of_key(%q: tensor<1x8x256x64xf32>, %k: tensor<3x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op batch size of the key is 3, expected the query's 1}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<3x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @batch_of_value(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<3x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op batch size of the value is 3, expected the query's 1}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<3x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @head_size_of_key(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x32xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op head size of the key is 32, expected the query's 64}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x32xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

// K of 8 heads and V of 4.
func.func @heads_of_value(%q: tensor<1x8x256x64xf32>, %k: tensor<1x8x256x64xf32>, %v: tensor<1x4x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op number of heads of the value is 4, expected the key's 8}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x4x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

// K of 5 and V of 6 keys.
func.func @length_of_value(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x5x64xf32>, %v: tensor<1x2x6x64xf32>) {
  // expected-error @+1 {{'ring.attention' op sequence length of the value is 6, expected the key's 5}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x5x64xf32>, tensor<1x2x6x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @heads_3_to_2(%q: tensor<1x3x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op has 3 query heads and 2 key/value heads, expected a multiple of the latter}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x3x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x3x256x64xf32>
  return
}

// -----

func.func @heads_33_to_2(%q: tensor<1x33x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op has 33 query heads and 2 key/value heads, expected a multiple of the latter}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x33x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x33x256x64xf32>
  return
}

// -----

func.func @heads_2_to_4(%q: tensor<1x2x256x64xf32>, %k: tensor<1x4x256x64xf32>, %v: tensor<1x4x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op has 2 query heads and 4 key/value heads, expected a multiple of the latter}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x2x256x64xf32>, tensor<1x4x256x64xf32>, tensor<1x4x256x64xf32>) -> tensor<1x2x256x64xf32>
  return
}

// -----

func.func @heads_4_to_0(%q: tensor<1x4x256x64xf32>, %k: tensor<1x0x256x64xf32>, %v: tensor<1x0x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op has 4 query heads and 0 key/value heads, expected 1 or more of each}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x4x256x64xf32>, tensor<1x0x256x64xf32>, tensor<1x0x256x64xf32>) -> tensor<1x4x256x64xf32>
  return
}

// -----

func.func @heads_0_to_2(%q: tensor<1x0x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op has 0 query heads and 2 key/value heads, expected 1 or more of each}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x0x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x0x256x64xf32>
  return
}

// -----

func.func @dimension_0_of_out(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 0 of out is 2, expected 1}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<2x8x256x64xf32>
  return
}

// -----

func.func @dimension_1_of_out(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 1 of out is 2, expected 8}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x2x256x64xf32>
  return
}

// -----

func.func @dimension_2_of_out(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 2 of out is 255, expected 256}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x255x64xf32>
  return
}

// -----

func.func @dimension_3_of_out(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 3 of out is 32, expected 64}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x32xf32>
  return
}

// -----

func.func @dynamic_dimension_1_of_out(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 1 of out is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x?x256x64xf32>
  return
}

// -----

func.func @dynamic_dimension_3_of_out(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 3 of out is dynamic, expected a static size}}
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x?xf32>
  return
}

// -----

func.func @dimension_0_of_lse(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 0 of lse is 2, expected 1}}
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<2x8x256xf32>)
  return
}

// -----

func.func @dimension_1_of_lse(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 1 of lse is 2, expected 8}}
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x2x256xf32>)
  return
}

// -----

func.func @dimension_2_of_lse(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 2 of lse is 255, expected 256}}
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x8x255xf32>)
  return
}

// -----

func.func @dynamic_heads_of_lse(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 1 of lse is dynamic, expected a static size}}
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x?x256xf32>)
  return
}

// -----

func.func @operands_without_types(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{number of operands and types do not match: got 3 operands and 2 types}}
  %out = ring.attention %q, %q, %q : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @three_results(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{operation defines 3 results but was provided 1 to bind}}
  %out = ring.attention %q, %q, %q : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>)
    -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>, tensor<1x8x256xf32>)
  return
}
