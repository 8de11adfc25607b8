// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @unknown_function(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.host.run' op unknown function @rank}}
  %r = ring.host.run @rank ranks 4 (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// expected-note @+1 {{the symbol is here}}
shard.grid @ring(shape = 4)
func.func @grid_as_function(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.host.run' op @ring is no function}}
  %r = ring.host.run @ring ranks 4 (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func private @rank()
func.func @no_ranks(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.host.run' op ranks is 0, expected 1 to 1024}}
  %r = ring.host.run @rank ranks 0 (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func private @rank()
func.func @scalar_stack(%s: tensor<?x4xf32>, %x: tensor<f32>) {
  // expected-error @+1 {{'ring.host.run' op stack 1 is 'tensor<f32>', expected a leading dimension}}
  %r = ring.host.run @rank ranks 4 (%s, %x) outs(%s) : (tensor<?x4xf32>, tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func private @rank()
func.func @leading_sizes_differ(%s: tensor<?x4xf32>, %x: tensor<4x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{'ring.host.run' op stacks have leading sizes 4 and 2, expected one}}
  %r = ring.host.run @rank ranks 4 (%s, %x) outs(%y) : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func private @rank()
func.func @tensor_and_memref(%s: tensor<?x4xf32>, %m: memref<?x4xf32>) {
  // expected-error @+1 {{'ring.host.run' op mixes tensors and memrefs, expected all tensors or all memrefs}}
  %r = ring.host.run @rank ranks 4 (%s) outs(%s, %m) : (tensor<?x4xf32>, tensor<?x4xf32>, memref<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func private @rank()
func.func @result_of_other_type(%s: tensor<?x4xf32>) {
  // expected-error @+1 {{'ring.host.run' op expected type of operand #1 ('tensor<?x4xf32>') to match type of corresponding result ('tensor<4x4xf32>')}}
  %r = ring.host.run @rank ranks 4 (%s) outs(%s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func private @rank()
func.func @scalar_output(%s: tensor<?x4xf32>, %x: tensor<f32>) {
  // expected-error @+1 {{'ring.host.run' op stack 1 is 'tensor<f32>', expected a leading dimension}}
  %r = ring.host.run @rank ranks 4 (%s) replicated(%s) outs(%x) : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// What is replicated may have any type and any sizes.
func.func private @rank()
func.func @replicated_is_no_stack(%s: tensor<4x4xf32>, %table: tensor<8x5xi64>, %x: tensor<f32>, %m: memref<2xf32>, %n: index) {
  %r = ring.host.run @rank ranks 4 (%s) replicated(%table, %x, %m, %n) outs(%s)
    : (tensor<4x4xf32>, tensor<8x5xi64>, tensor<f32>, memref<2xf32>, index, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
