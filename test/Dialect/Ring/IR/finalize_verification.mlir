// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @max_of_other_heads(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x2x?xf32>, %sum: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xbf16>, %lse: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op dimension 1 of max is 2, expected 8}}
  %r:2 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @sum_of_other_heads(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x2x?xf32>, %out: tensor<1x8x?x64xbf16>, %lse: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op dimension 1 of sum is 2, expected 8}}
  %r:2 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x2x?xf32>, tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @out_of_other_head_size(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %out: tensor<1x8x?x32xbf16>, %lse: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op dimension 3 of out is 32, expected 64}}
  %r:2 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x32xbf16>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x32xbf16>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @out_of_64_bits(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xf64>, %lse: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op operand #3 must be 4D tensor of 32-bit float or 16-bit float or bfloat16 type values without encoding or 4D memref of 32-bit float or 16-bit float or bfloat16 type values, but got 'tensor<1x8x?x64xf64>'}}
  %r:2 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf64>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf64>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @lse_of_other_heads(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xbf16>, %lse: tensor<1x2x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op dimension 1 of lse is 2, expected 8}}
  %r:2 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>, tensor<1x2x?xf32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x2x?xf32>)
  return
}

// -----

func.func @lse_of_16_bits(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xbf16>, %lse: tensor<1x8x?xbf16>) {
  // expected-error @+1 {{'ring.finalize' op operand #4 must be 3D tensor of 32-bit float values without encoding or 3D memref of 32-bit float values, but got 'tensor<1x8x?xbf16>'}}
  %r:2 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>, tensor<1x8x?xbf16>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xbf16>)
  return
}

// -----

func.func @sinks_of_key_heads(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %sinks: tensor<2xf32>, %out: tensor<1x8x?x64xbf16>, %lse: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op dimension 0 of sinks is 2, expected 8}}
  %r:2 = ring.finalize %acc, %max, %sum sinks(%sinks) outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<2xf32>, tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @lse_is_not_returned(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xbf16>, %lse: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op expected the number of tensor results (1) to be equal to the number of output tensors (2)}}
  %r:1 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xbf16>)
  return
}

// -----

func.func @out_and_lse_differ(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xbf16>, %lse: memref<1x8x?xf32>) {
  // expected-error @+1 {{'ring.finalize' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  %r:1 = ring.finalize %acc, %max, %sum outs(%out, %lse)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>, memref<1x8x?xf32>)
    -> (tensor<1x8x?x64xbf16>)
  return
}

// -----

func.func @tensor_into_memref(%acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>, %out: memref<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  ring.finalize %acc, %max, %sum outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, memref<1x8x?x64xbf16>)
    -> ()
  return
}

// -----

func.func @uniform_without_mean(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op has no mean, but empty_rows(uniform)}}
  %r = ring.finalize %acc, %row, %row empty_rows(uniform) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_alone(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<1x2x64xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op has a mean without empty_rows(uniform)}}
  %r = ring.finalize %acc, %row, %row mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x2x64xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_of_nan(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<1x2x64xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op has a mean without empty_rows(uniform)}}
  %r = ring.finalize %acc, %row, %row empty_rows(nan) mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x2x64xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_of_other_batch(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<2x2x64xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op dimension 0 of mean is 2, expected 1}}
  %r = ring.finalize %acc, %row, %row empty_rows(uniform) mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<2x2x64xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_of_other_head_size(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<1x2x32xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op dimension 2 of mean is 32, expected 64}}
  %r = ring.finalize %acc, %row, %row empty_rows(uniform) mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x2x32xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_of_other_heads(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<1x3x64xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op mean has 3 heads, expected a divisor of 8}}
  %r = ring.finalize %acc, %row, %row empty_rows(uniform) mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x3x64xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_of_no_heads(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<1x0x64xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op mean has 0 heads, expected a divisor of 8}}
  %r = ring.finalize %acc, %row, %row empty_rows(uniform) mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x0x64xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_of_dynamic_heads(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<1x?x64xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op mean has ? heads, expected a divisor of 8}}
  %r = ring.finalize %acc, %row, %row empty_rows(uniform) mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x?x64xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @mean_of_16_bits(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %mean: tensor<1x2x64xbf16>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{'ring.finalize' op operand #3 must be 3D tensor of 32-bit float values without encoding or 3D memref of 32-bit float values, but got 'tensor<1x2x64xbf16>'}}
  %r = ring.finalize %acc, %row, %row empty_rows(uniform) mean(%mean) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x2x64xbf16>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}

// -----

func.func @unknown_empty_rows(%acc: tensor<1x8x?x64xf32>, %row: tensor<1x8x?xf32>, %out: tensor<1x8x?x64xbf16>) {
  // expected-error @+1 {{expected zero, uniform or nan}}
  %r = ring.finalize %acc, %row, %row empty_rows(one) outs(%out)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16>
  return
}
