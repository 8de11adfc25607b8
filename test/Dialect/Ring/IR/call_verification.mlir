// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @unknown_function(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.call' op unknown function @rank}}
  %r = ring.call @rank (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// expected-note @+1 {{the symbol is here}}
shard.grid @ring(shape = 4)
func.func @grid_as_function(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.call' op @ring is no function}}
  %r = ring.call @ring (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func private @rank()
func.func @tensor_and_memref(%s: tensor<?x4xf32>, %m: memref<?x4xf32>) {
  // expected-error @+1 {{'ring.call' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  %r = ring.call @rank (%s) outs(%s, %m) : (tensor<?x4xf32>, tensor<?x4xf32>, memref<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func private @rank()
func.func @result_of_other_type(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.call' op expected type of operand #1 ('tensor<?x4xf32>') to match type of corresponding result ('tensor<4x4xf32>')}}
  %r = ring.call @rank (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func private @rank()
func.func @no_result(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.call' op expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  ring.call @rank (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  return
}

// -----

func.func private @rank()
func.func @scalar_output(%s: tensor<?x4xf32>, %x: f32) {
  // expected-error @+1 {{'ring.call' op operand #1 must be variadic of}}
  %r = "ring.call"(%s, %x) <{callee = @rank, operandSegmentSizes = array<i32: 1, 1>}> : (tensor<?x4xf32>, f32) -> tensor<?x4xf32>
  return
}

// -----

func.func private @rank()
func.func @segment_sizes(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.call' op operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'}}
  %r = "ring.call"(%s) <{callee = @rank, operandSegmentSizes = array<i32: 1, 1>}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}
