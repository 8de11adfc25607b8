// RUN: ring-opt %s --split-input-file --verify-diagnostics

shard.grid @ring(shape = 4)
func.func @dim_beyond_rank(%t: tensor<1x8x?x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op dim is 4, expected a dimension of 'tensor<1x8x256x64xf32>'}}
  %r = ring.gather %t by %table dim 4 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @dim_negative(%t: tensor<1x8x?x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op dim is -1, expected a dimension of 'tensor<1x8x256x64xf32>'}}
  %r = ring.gather %t by %table dim -1 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @dim_of_scalar(%t: tensor<f32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op dim is 0, expected a dimension of 'tensor<f32>'}}
  %r = ring.gather %t by %table dim 0 on @ring axis 0 : tensor<f32>, tensor<4x5xi64> -> tensor<f32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @static_local_size(%t: tensor<1x8x64x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op local type is 'tensor<1x8x64x64xf32>', expected 'tensor<1x8x?x64xf32>'}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x8x64x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @other_size_differs(%t: tensor<1x2x?x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op local type is 'tensor<1x2x?x64xf32>', expected 'tensor<1x8x?x64xf32>'}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x2x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @other_size_dynamic(%t: tensor<?x8x?x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op local type is 'tensor<?x8x?x64xf32>', expected 'tensor<1x8x?x64xf32>'}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<?x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @type_differs(%t: tensor<1x8x?x64xbf16>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op local type is 'tensor<1x8x?x64xbf16>', expected 'tensor<1x8x?x64xf32>'}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xbf16>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @table_of_four_columns(%t: tensor<1x8x?x64xf32>, %table: tensor<5x4xi64>) {
  // expected-error @+1 {{'ring.gather' op layout table has 4 columns, expected 5}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<5x4xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @table_of_dynamic_columns(%t: tensor<1x8x?x64xf32>, %table: tensor<4x?xi64>) {
  // expected-error @+1 {{'ring.gather' op layout table has ? columns, expected 5}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x?xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @table_of_32_bits(%t: tensor<1x8x?x64xf32>, %table: tensor<4x5xi32>) {
  // expected-error @+1 {{'ring.gather' op operand #1 must be 2D tensor of 64-bit signless integer values without encoding, but got 'tensor<4x5xi32>'}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi32> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @unranked(%t: tensor<*xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<*xf32>, tensor<4x5xi64> -> tensor<*xf32>
  return
}

// -----

func.func @unknown_grid(%t: tensor<1x8x?x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op unknown grid @ring}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = 4)
func.func @axis_missing(%t: tensor<1x8x?x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op axis 1 of grid @ring does not exist, it has 1 axis}}
  %r = ring.gather %t by %table dim 2 on @ring axis 1 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = ?)
func.func @axis_dynamic(%t: tensor<1x8x?x64xf32>, %table: tensor<4x5xi64>) {
  // expected-error @+1 {{'ring.gather' op axis 0 of grid @ring has no static size}}
  %r = ring.gather %t by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @size_left_out(%t: tensor<?x8x?x64xf32>, %table: tensor<4x5xi64>, %n: index) {
  // expected-error @+1 {{'ring.gather' op has 1 sizes, expected one for each of the 2 dynamic dimensions of 'tensor<?x8x?x64xf32>'}}
  %r = ring.gather %t by %table dim 2 sizes(%n) on @ring axis 0 : tensor<?x8x?x64xf32>, tensor<4x5xi64> -> tensor<?x8x?x64xf32>
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @size_of_a_static_dimension(%t: tensor<1x8x?x64xf32>, %table: tensor<4x5xi64>, %n: index) {
  // expected-error @+1 {{'ring.gather' op has 1 sizes, expected one for each of the 0 dynamic dimensions of 'tensor<1x8x256x64xf32>'}}
  %r = ring.gather %t by %table dim 2 sizes(%n) on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>
  return
}
