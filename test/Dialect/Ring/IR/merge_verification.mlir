// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @other_acc_of_other_head_size(%oacc: tensor<1x8x?x32xf32>, %omax: tensor<1x8x?xf32>, %osum: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op dimension 3 of the other acc is 32, expected 64}}
  %r:3 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x32xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @max_of_other_heads(%oacc: tensor<1x8x?x64xf32>, %omax: tensor<1x8x?xf32>, %osum: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x2x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op dimension 1 of max is 2, expected 8}}
  %r:3 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x2x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x2x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @sum_of_other_batch(%oacc: tensor<1x8x?x64xf32>, %omax: tensor<1x8x?xf32>, %osum: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<2x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op dimension 0 of sum is 2, expected 1}}
  %r:3 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<2x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<2x8x?xf32>)
  return
}

// -----

func.func @other_max_of_other_heads(%oacc: tensor<1x8x?x64xf32>, %omax: tensor<1x2x?xf32>, %osum: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op dimension 1 of the other max is 2, expected 8}}
  %r:3 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x2x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @other_sum_of_other_batch(%oacc: tensor<1x8x?x64xf32>, %omax: tensor<1x8x?xf32>, %osum: tensor<2x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op dimension 0 of the other sum is 2, expected 1}}
  %r:3 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<2x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @state_of_16_bits(%oacc: tensor<1x8x?x64xf16>, %omax: tensor<1x8x?xf32>, %osum: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op operand #0 must be 4D tensor of 32-bit float values without encoding or 4D memref of 32-bit float values, but got 'tensor<1x8x?x64xf16>'}}
  %r:3 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf16>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @max_of_rank_four(%oacc: tensor<1x8x?x64xf32>, %omax: tensor<1x8x?x1xf32>, %osum: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op operand #1 must be 3D tensor of 32-bit float values without encoding or 3D memref of 32-bit float values, but got 'tensor<1x8x?x1xf32>'}}
  %r:3 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?x1xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @result_missing(%oacc: tensor<1x8x?x64xf32>, %omax: tensor<1x8x?xf32>, %osum: tensor<1x8x?xf32>, %acc: tensor<1x8x?x64xf32>, %max: tensor<1x8x?xf32>, %sum: tensor<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op expected the number of tensor results (1) to be equal to the number of output tensors (3)}}
  %r:1 = ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    -> (tensor<1x8x?x64xf32>)
  return
}

// -----

func.func @tensor_into_memref(%oacc: tensor<1x8x?x64xf32>, %omax: tensor<1x8x?xf32>, %osum: tensor<1x8x?xf32>, %acc: memref<1x8x?x64xf32>, %max: memref<1x8x?xf32>, %sum: memref<1x8x?xf32>) {
  // expected-error @+1 {{'ring.merge' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  ring.merge ins(%oacc, %omax, %osum) outs(%acc, %max, %sum)
    : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>, memref<1x8x?x64xf32>, memref<1x8x?xf32>, memref<1x8x?xf32>)
    -> ()
  return
}
