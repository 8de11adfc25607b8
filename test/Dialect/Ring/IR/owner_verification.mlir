// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @unknown_grid(%round: index) {
  // expected-error @+1 {{'ring.owner' op unknown grid @ring}}
  %owner = ring.owner %round on @ring axis 0
  return
}

// -----

// The grid of an outer module is another symbol table's.
shard.grid @ring(shape = 4)
module @inner {
  func.func @grid_outside(%round: index) {
    // expected-error @+1 {{'ring.owner' op unknown grid @ring}}
    %owner = ring.owner %round on @ring axis 0
    return
  }
}

// -----

// expected-note @+1 {{the symbol is here}}
func.func @function_as_grid(%round: index) {
  // expected-error @+1 {{'ring.owner' op @function_as_grid is no shard.grid}}
  %owner = ring.owner %round on @function_as_grid axis 0
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = 4)
func.func @axis_missing(%round: index) {
  // expected-error @+1 {{'ring.owner' op axis 1 of grid @ring does not exist, it has 1 axis}}
  %owner = ring.owner %round on @ring axis 1
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = 4x2)
func.func @axis_negative(%round: index) {
  // expected-error @+1 {{'ring.owner' op axis -1 of grid @ring does not exist, it has 2 axes}}
  %owner = ring.owner %round on @ring axis -1
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = 4x?)
func.func @axis_dynamic(%round: index) {
  // expected-error @+1 {{'ring.owner' op axis 1 of grid @ring has no static size}}
  %owner = ring.owner %round on @ring axis 1
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @round_of_64_bits(%round: i64) {
  // expected-error @+1 {{'ring.owner' op operand #0 must be index, but got 'i64'}}
  %owner = "ring.owner"(%round) <{grid = @ring, axis = 0 : i64}> : (i64) -> index
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @grid_left_out(%round: index) {
  // expected-error @+1 {{'ring.owner' op requires attribute 'grid'}}
  %owner = "ring.owner"(%round) <{axis = 0 : i64}> : (index) -> index
  return
}

// -----

shard.grid @ring(shape = 4)
func.func @axis_of_32_bits(%round: index) {
  // expected-error @+1 {{'ring.owner' op attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute}}
  %owner = "ring.owner"(%round) <{grid = @ring, axis = 0 : i32}> : (index) -> index
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = 0)
func.func @no_ranks(%round: index) {
  // expected-error @+1 {{'ring.owner' op axis 0 of grid @ring has 0 ranks, expected 1 to 1024}}
  %owner = ring.owner %round on @ring axis 0
  return
}

// -----

// expected-note @+1 {{the grid is here}}
shard.grid @ring(shape = 2x1025)
func.func @too_many_ranks(%round: index) {
  // expected-error @+1 {{'ring.owner' op axis 1 of grid @ring has 1025 ranks, expected 1 to 1024}}
  %owner = ring.owner %round on @ring axis 1
  return
}
