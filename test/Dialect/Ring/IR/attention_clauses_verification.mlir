// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @bias_of_other_type(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %b: tensor<1x8x256x256xf16>) {
  // expected-error @+1 {{'ring.attention' op bias is of 'f16', expected 'f32' or the query's 'f32'}}
  %out = ring.attention %q, %k, %v bias(%b)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x8x256x256xf16>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dimension_0_of_bias(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %b: tensor<2x8x256x256xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 0 of bias is 2, expected 1 or 1}}
  %out = ring.attention %q, %k, %v bias(%b)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<2x8x256x256xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dimension_1_of_bias(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %b: tensor<1x2x256x256xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 1 of bias is 2, expected 1 or 8}}
  %out = ring.attention %q, %k, %v bias(%b)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x256xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dimension_2_of_bias(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %b: tensor<1x8x255x256xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 2 of bias is 255, expected 1 or 256}}
  %out = ring.attention %q, %k, %v bias(%b)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x8x255x256xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @bias_of_one_key(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %b: tensor<1x8x256x1xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 3 of bias is 1, expected 256}}
  %out = ring.attention %q, %k, %v bias(%b)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x8x256x1xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @query_segments_of_key_length(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x100x64xf32>, %v: tensor<1x2x100x64xf32>, %sq: tensor<1x100xi32>, %sk: tensor<1x100xi32>) {
  // expected-error @+1 {{'ring.attention' op dimension 1 of query segments is 100, expected 256}}
  %out = ring.attention %q, %k, %v segments(%sq, %sk)
    : (tensor<1x8x256x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>, tensor<1x100xi32>, tensor<1x100xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @query_segments_of_other_batch(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %sq: tensor<2x256xi32>, %sk: tensor<1x256xi32>) {
  // expected-error @+1 {{'ring.attention' op dimension 0 of query segments is 2, expected 1}}
  %out = ring.attention %q, %k, %v segments(%sq, %sk)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<2x256xi32>, tensor<1x256xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @key_segments_of_query_length(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x100x64xf32>, %v: tensor<1x2x100x64xf32>, %sq: tensor<1x256xi32>, %sk: tensor<1x256xi32>) {
  // expected-error @+1 {{'ring.attention' op dimension 1 of key segments is 256, expected 100}}
  %out = ring.attention %q, %k, %v segments(%sq, %sk)
    : (tensor<1x8x256x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>, tensor<1x256xi32>, tensor<1x256xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @segments_of_64_bits(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %sq: tensor<1x256xi64>, %sk: tensor<1x256xi32>) {
  // expected-error @+1 {{'ring.attention' op operand #3 must be 2D tensor of 32-bit signless integer values without encoding, but got 'tensor<1x256xi64>'}}
  %out = ring.attention %q, %k, %v segments(%sq, %sk)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x256xi64>, tensor<1x256xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @segments_of_query_only(%q: tensor<1x8x256x64xf32>, %sq: tensor<1x256xi32>) {
  // expected-error @+1 {{'ring.attention' op has segments of the query only, expected both or none}}
  %out = "ring.attention"(%q, %q, %q, %sq) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0, 0>}> ({})
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x256xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @segments_of_key_only(%q: tensor<1x8x256x64xf32>, %sk: tensor<1x256xi32>) {
  // expected-error @+1 {{'ring.attention' op has segments of the key only, expected both or none}}
  %out = "ring.attention"(%q, %q, %q, %sk) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0, 0>}> ({})
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x256xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @lengths_of_other_batch(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{'ring.attention' op dimension 0 of lengths is 2, expected 1}}
  %out = ring.attention %q, %k, %v lengths(%n)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<2xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @offsets_of_other_batch(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %o: tensor<2xi32>) {
  // expected-error @+1 {{'ring.attention' op dimension 0 of offsets is 2, expected 1}}
  %out = ring.attention %q, %k, %v offsets(%o)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<2xi32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @sinks_of_key_heads(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{'ring.attention' op dimension 0 of sinks is 2, expected 8}}
  %out = ring.attention %q, %k, %v sinks(%s)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<2xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @sinks_of_16_bits(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %s: tensor<8xbf16>) {
  // expected-error @+1 {{'ring.attention' op operand #3 must be 1D tensor of 32-bit float values without encoding, but got 'tensor<8xbf16>'}}
  %out = ring.attention %q, %k, %v sinks(%s)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<8xbf16>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @scale_nan(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op scale is nan, expected a finite number}}
  %out = ring.attention %q, %k, %v scale(0x7FC00000)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @scale_infinite(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op scale is INF, expected a finite number}}
  %out = ring.attention %q, %k, %v scale(0x7F800000)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @softcap_zero(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op softcap is 0.000000e+00, expected a finite positive number}}
  %out = ring.attention %q, %k, %v softcap(0.0)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @softcap_negative(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op softcap is -2.000000e+00, expected a finite positive number}}
  %out = ring.attention %q, %k, %v softcap(-2.0)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @softcap_infinite(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op softcap is INF, expected a finite positive number}}
  %out = ring.attention %q, %k, %v softcap(0x7F800000)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @empty_rows_unknown(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{unknown empty_rows 'ones', expected zero, uniform or nan}}
  %out = ring.attention %q, %k, %v empty_rows(ones)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @clauses_out_of_order(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{expected ':'}}
  %out = ring.attention %q, %k, %v softcap(2.0) scale(1.0)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @clause_twice(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{expected ':'}}
  %out = ring.attention %q, %k, %v scale(2.0) scale(1.0)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @causal_without_align(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x100x64xf32>, %v: tensor<1x2x100x64xf32>) {
  // expected-error @+1 {{'ring.attention' op mask depends on positions, and query and key have 256 and 100 of them, expected align or offsets}}
  %out = ring.attention %q, %k, %v mask(<causal>)
    : (tensor<1x8x256x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @left_without_align(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x100x64xf32>, %v: tensor<1x2x100x64xf32>) {
  // expected-error @+1 {{'ring.attention' op mask depends on positions, and query and key have 256 and 100 of them, expected align or offsets}}
  %out = ring.attention %q, %k, %v mask(<window = [3, *]>)
    : (tensor<1x8x256x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @right_without_align(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x100x64xf32>, %v: tensor<1x2x100x64xf32>) {
  // expected-error @+1 {{'ring.attention' op mask depends on positions, and query and key have 256 and 100 of them, expected align or offsets}}
  %out = ring.attention %q, %k, %v mask(<window = [*, 3]>)
    : (tensor<1x8x256x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @chunk_without_align(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x100x64xf32>, %v: tensor<1x2x100x64xf32>) {
  // expected-error @+1 {{'ring.attention' op mask depends on positions, and query and key have 256 and 100 of them, expected align or offsets}}
  %out = ring.attention %q, %k, %v mask(<chunk = 4>)
    : (tensor<1x8x256x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @dynamic_queries_without_align(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op mask depends on positions, and query and key have ? and 256 of them, expected align or offsets}}
  %out = ring.attention %q, %k, %v mask(<causal>)
    : (tensor<1x8x?x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x?x64xf32>
  return
}

// -----

func.func @align_and_offsets(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %o: tensor<1xi32>) {
  // expected-error @+1 {{'ring.attention' op has both offsets and align, expected one of them}}
  %out = ring.attention %q, %k, %v offsets(%o) mask(<causal, align = top_left>)
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1xi32>) -> tensor<1x8x256x64xf32>
  return
}
