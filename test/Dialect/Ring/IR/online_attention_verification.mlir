// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @key_of_other_type(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xbf16>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op key is of 'bf16', expected the query's 'f32'}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @heads_3_to_2(%q: tensor<1x3x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x3x?x64xf32>, %max: tensor<1x3x?xf32>, %sum: tensor<1x3x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op has 3 query heads and 2 key/value heads, expected a multiple of the latter}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x3x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x3x?x64xf32>, tensor<1x3x?xf32>, tensor<1x3x?xf32>)
    -> (tensor<1x3x?x64xf32>, tensor<1x3x?xf32>, tensor<1x3x?xf32>)
  return
}

// -----

func.func @lengths_5_and_6(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x5x64xf32>, %v: tensor<1x2x6x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op sequence length of the value is 6, expected the key's 5}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x5x64xf32>, tensor<1x2x6x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @acc_of_key_head_size(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x32xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op dimension 3 of acc is 64, expected 32}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x32xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @acc_of_other_length(%q: tensor<1x8x64x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x32x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op dimension 2 of acc is 32, expected 64}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x64x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x32x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x32x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @acc_of_dynamic_heads(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x?x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op dimension 1 of acc is dynamic, expected a static size}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x?x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x?x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @acc_of_16_bits(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xbf16>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op operand #4 must be 4D tensor of 32-bit float values without encoding or 4D memref of 32-bit float values, but got 'tensor<1x8x?x64xbf16>'}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @max_of_other_batch(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<2x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op dimension 0 of max is 2, expected 1}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<2x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<2x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @sum_of_other_heads(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x2x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op dimension 1 of sum is 2, expected 8}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x2x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x2x?xf32>)
  return
}

// -----

func.func @slices_are_no_tensor(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: tensor<4x5xi64>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op operand #3 must be work list of a round, but got 'tensor<4x5xi64>'}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, tensor<4x5xi64>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @bias_of_other_type(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %b: tensor<1x8x?x256xf16>) {
  // expected-error @+1 {{'ring.online_attention' op bias is of 'f16', expected 'f32' or the query's 'f32'}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) bias(%b) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x256xf16>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @bias_of_other_heads(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %b: tensor<1x2x?x256xf32>) {
  // expected-error @+1 {{'ring.online_attention' op dimension 1 of bias is 2, expected 1 or 8}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) bias(%b) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x2x?x256xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @scale_nan(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op scale is nan, expected a finite number}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(0x7FC00000) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @softcap_zero(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op softcap is 0.000000e+00, expected a finite positive number}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) softcap(0.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @scale_missing(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{expected 'scale'}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s)  outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @result_missing(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op expected the number of tensor results (2) to be equal to the number of output tensors (3)}}
  %r:2 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @result_of_other_type(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op expected type of operand #6 (}}
  %r:3 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x4xf32>)
  return
}

// -----

func.func @tensor_and_memref_state(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %max: memref<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  %r:2 = ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, memref<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @tensor_query_and_memref_state(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %v: tensor<1x2x?x64xf32>, %s: !ring.slices, %acc: memref<1x8x?x64xf32>, %max: memref<1x8x?xf32>, %sum: memref<1x8x?xf32>) {
  // expected-error @+1 {{'ring.online_attention' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  ring.online_attention %q, %k, %v slices(%s) scale(1.0) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, !ring.slices, memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>)
    -> ()
  return
}

// -----

func.func @score_with_effect(%q: tensor<1x8x?x64xf32>, %s: !ring.slices, %acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %m: memref<8xf32>) {
  // expected-error @+1 {{'ring.online_attention' op score region holds 'memref.load', expected elementwise ops on scalars, constants, index arithmetic or tensor.extract}}
  %r:3 = ring.online_attention %q, %q, %q slices(%s) scale(1.0) outs(%acc, %row, %row) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    %y = memref.load %m[%head] : memref<8xf32>
    ring.yield %y : f32
  } : (tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, !ring.slices, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @extract_on_memrefs(%q: memref<1x8x?x64xf32>, %s: !ring.slices, %row: memref<1x8x?xf32>, %t: tensor<8xf32>) {
  // expected-error @+1 {{'ring.online_attention' op score region holds 'tensor.extract', expected elementwise ops on scalars, constants, index arithmetic or memref.load}}
  ring.online_attention %q, %q, %q slices(%s) scale(1.0) outs(%q, %row, %row) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    %y = tensor.extract %t[%head] : tensor<8xf32>
    ring.yield %y : f32
  } : (memref<1x8x?x64xf32>, memref<1x8x?x64xf32>, memref<1x8x?x64xf32>, !ring.slices, memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>) -> ()
  return
}

// -----

func.func @store_on_memrefs(%q: memref<1x8x?x64xf32>, %s: !ring.slices, %row: memref<1x8x?xf32>, %t: memref<8xf32>) {
  // expected-error @+1 {{'ring.online_attention' op score region holds 'memref.store', expected}}
  ring.online_attention %q, %q, %q slices(%s) scale(1.0) outs(%q, %row, %row) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    memref.store %x, %t[%head] : memref<8xf32>
    ring.yield %x : f32
  } : (memref<1x8x?x64xf32>, memref<1x8x?x64xf32>, memref<1x8x?x64xf32>, !ring.slices, memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>) -> ()
  return
}
