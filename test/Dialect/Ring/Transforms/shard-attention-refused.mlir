// RUN: split-file %s %t

// What the ring cannot carry yet is refused, with its name and its place.

// RUN: ring-opt %t/features.mlir --ring-shard-attention=ranks=2 --split-input-file --verify-diagnostics -o /dev/null

// A grid that does not fit.
// DEFINE: %{grid} = not ring-opt %t/grids.mlir -o /dev/null --ring-shard-attention
// DEFINE: %{check} = FileCheck %s --check-prefix
// RUN: %{grid} 2>&1 | %{check} NONE
// NONE: grids.mlir:5:8: error: neither a number of ranks nor a grid is given
// RUN: %{grid}="grid=missing" 2>&1 | %{check} MISSING
// MISSING: grids.mlir:5:8: error: unknown grid @missing
// RUN: %{grid}="grid=f" 2>&1 | %{check} FUNCTION
// FUNCTION: grids.mlir:5:8: error: unknown grid @f
// RUN: %{grid}="grid=open axis=1" 2>&1 | %{check} OPEN
// OPEN: grids.mlir:5:8: error: axis 1 of grid @open has no static size
// RUN: %{grid}="grid=open axis=2" 2>&1 | %{check} AXIS
// AXIS: grids.mlir:5:8: error: axis 2 of grid @open does not exist, it has 2
// RUN: %{grid}="grid=open axis=-1" 2>&1 | %{check} NEGATIVE
// NEGATIVE: grids.mlir:5:8: error: axis -1 of grid @open does not exist, it has 2
// RUN: %{grid}="grid=square axis=0" 2>&1 | %{check} SQUARE
// SQUARE: grids.mlir:5:8: error: feature 'grid with several axes' is not supported by ring-shard-attention, all axes but one must be 1
// RUN: %{grid}="grid=line ranks=4" 2>&1 | %{check} RANKS
// RANKS: grids.mlir:5:8: error: ranks is 4, but axis 0 of grid @line has 3
// RUN: %{grid}="ranks=100000000" 2>&1 | %{check} MANY
// RUN: %{grid}="grid=huge" 2>&1 | %{check} MANY
// RUN: %{grid}="grid=none" 2>&1 | %{check} NO_RANKS
// NO_RANKS: grids.mlir:5:8: error: ranks is 0, expected 1 to 1024
// MANY: grids.mlir:5:8: error: ranks is 100000000, expected 1 to 1024

// RUN: %{grid}="ranks=2 variant=pass-q" 2>&1 | %{check} PASSQ
// PASSQ: grids.mlir:5:8: error: feature 'pass-q' is not supported by ring-shard-attention
// RUN: %{grid}="ranks=2 variant=all-gather" 2>&1 | %{check} ALLGATHER
// ALLGATHER: grids.mlir:5:8: error: feature 'all-gather' is not supported by ring-shard-attention

// The variant that there is.
// RUN: ring-opt %t/grids.mlir --ring-shard-attention="grid=line variant=pass-kv" | %{check} GOOD
// GOOD: ring.permute_start

//--- grids.mlir
shard.grid @open(shape = 2x?)
shard.grid @square(shape = 2x2)
shard.grid @line(shape = 3) shard.grid @huge(shape = 100000000) shard.grid @none(shape = 0)
func.func @f(%x: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %o : tensor<1x2x8x4xf32>
}

//--- features.mlir
!t = tensor<1x2x8x4xf32>
func.func @branch(%c: i1, %x: !t) -> !t {
  %r = scf.if %c -> !t {
    // expected-error @below {{feature 'attention inside another op' is not supported by ring-shard-attention, expected it in a function}}
    %o = ring.attention %x, %x, %x : (!t, !t, !t) -> !t
    scf.yield %o : !t
  } else {
    scf.yield %x : !t
  }
  return %r : !t
}
