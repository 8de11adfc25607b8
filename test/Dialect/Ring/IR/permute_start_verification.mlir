// RUN: ring-opt %s --split-input-file --verify-diagnostics

shard.grid @ring(shape = 4)
func.func @nothing_is_sent() {
  // expected-error @+2 {{permute of (), expected ranked tensors, memrefs or one future}}
  // expected-error @+1 {{'ring.permute_start' op failed to infer returned types}}
  %f = "ring.permute_start"() <{grid = @ring, axis = 0 : i64}> : () -> !ring.future<tensor<4xf32>>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @tensor_and_memref(%t: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @+1 {{permute of ('tensor<4xf32>', 'memref<4xf32>'), expected ranked tensors, memrefs or one future}}
  %f = ring.permute_start %t, %m on @ring axis 0 : tensor<4xf32>, memref<4xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @two_futures(%f: !ring.future<tensor<4xf32>>) {
  // expected-error @+1 {{permute of ('!ring.future<tensor<4xf32>>', '!ring.future<tensor<4xf32>>'), expected ranked tensors, memrefs or one future}}
  %g = ring.permute_start %f, %f on @ring axis 0 : !ring.future<tensor<4xf32>>, !ring.future<tensor<4xf32>>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @future_and_tensor(%f: !ring.future<tensor<4xf32>>, %t: tensor<4xf32>) {
  // expected-error @+1 {{permute of ('!ring.future<tensor<4xf32>>', 'tensor<4xf32>'), expected ranked tensors, memrefs or one future}}
  %g = ring.permute_start %f, %t on @ring axis 0 : !ring.future<tensor<4xf32>>, tensor<4xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @unranked(%t: tensor<*xf32>) {
  // expected-error @+1 {{permute of ('tensor<*xf32>'), expected ranked tensors, memrefs or one future}}
  %f = ring.permute_start %t on @ring axis 0 : tensor<*xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @scalar(%x: f32) {
  // expected-error @+1 {{'ring.permute_start' op operand #0 must be variadic of ranked tensor of any type values or memref of any type values or future of a started transfer, but got 'f32'}}
  %f = "ring.permute_start"(%x) <{grid = @ring, axis = 0 : i64}> : (f32) -> !ring.future<tensor<4xf32>>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @future_of_other_type(%t: tensor<4xf32>) {
  // expected-error @+2 {{'ring.permute_start' op inferred type(s) '!ring.future<tensor<4xf32>>' are incompatible with return type(s) of operation '!ring.future<tensor<5xf32>>'}}
  // expected-error @+1 {{'ring.permute_start' op failed to infer returned types}}
  %f = "ring.permute_start"(%t) <{grid = @ring, axis = 0 : i64}> : (tensor<4xf32>) -> !ring.future<tensor<5xf32>>
  return
}

// -----

func.func @unknown_grid(%t: tensor<4xf32>) {
  // expected-error @+1 {{'ring.permute_start' op unknown grid @ring}}
  %f = ring.permute_start %t on @ring axis 0 : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = 4)
func.func @axis_missing(%t: tensor<4xf32>) {
  // expected-error @+1 {{'ring.permute_start' op axis 2 of grid @ring does not exist, it has 1 axis}}
  %f = ring.permute_start %t on @ring axis 2 : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = ?)
func.func @axis_dynamic(%t: tensor<4xf32>) {
  // expected-error @+1 {{'ring.permute_start' op axis 0 of grid @ring has no static size}}
  %f = ring.permute_start %t on @ring axis 0 : tensor<4xf32>
  return
}
