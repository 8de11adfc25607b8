// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @dim_beyond_rank(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %to: tensor<?x1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op dim is 4, expected a dimension of 'tensor<1x8x256x64xf32>'}}
  %r = ring.host.scatter %from by %table dim 4 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xf32>) -> (tensor<?x1x8x64x64xf32>)
  return
}

// -----

func.func @dim_negative(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %to: tensor<?x1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op dim is -1, expected a dimension of 'tensor<1x8x256x64xf32>'}}
  %r = ring.host.scatter %from by %table dim -1 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xf32>) -> (tensor<?x1x8x64x64xf32>)
  return
}

// -----

func.func @stack_of_other_type(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %to: tensor<?x1x8x64x64xbf16>) {
  // expected-error @+1 {{'ring.host.scatter' op stack is of 'bf16', expected 'f32'}}
  %r = ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xbf16>) -> (tensor<?x1x8x64x64xbf16>)
  return
}

// -----

func.func @stack_of_same_rank(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %to: tensor<1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op stack has 4 dimensions, expected 5}}
  %r = ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<1x8x64x64xf32>) -> (tensor<1x8x64x64xf32>)
  return
}

// -----

func.func @stack_of_other_heads(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %to: tensor<?x1x2x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op dimension 2 of the stack is 2, expected 8}}
  %r = ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x2x64x64xf32>) -> (tensor<?x1x2x64x64xf32>)
  return
}

// -----

func.func @table_of_four_columns(%from: tensor<1x8x256x64xf32>, %table: tensor<5x4xi64>, %to: tensor<?x1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op layout table has 4 columns, expected 5}}
  %r = ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<1x8x256x64xf32>, tensor<5x4xi64>, tensor<?x1x8x64x64xf32>) -> (tensor<?x1x8x64x64xf32>)
  return
}

// -----

func.func @table_of_32_bits(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi32>, %to: tensor<?x1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op operand #1 must be layout table [entries, 5] of i64, but got 'tensor<4x5xi32>'}}
  %r = ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi32>, tensor<?x1x8x64x64xf32>) -> (tensor<?x1x8x64x64xf32>)
  return
}

// -----

func.func @unranked(%from: tensor<*xf32>, %table: tensor<4x5xi64>, %to: tensor<?x1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op operand #0 must be ranked tensor or memref, but got 'tensor<*xf32>'}}
  %r = ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<*xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xf32>) -> (tensor<?x1x8x64x64xf32>)
  return
}

// -----

func.func @result_missing(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %to: tensor<?x1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xf32>) -> ()
  return
}

// -----

func.func @tensor_and_memref(%from: tensor<1x8x256x64xf32>, %table: tensor<4x5xi64>, %to: memref<?x1x8x64x64xf32>) {
  // expected-error @+1 {{'ring.host.scatter' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  ring.host.scatter %from by %table dim 2 outs(%to) : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, memref<?x1x8x64x64xf32>) -> ()
  return
}
