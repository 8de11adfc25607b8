// RUN: ring-opt %s --split-input-file --verify-diagnostics

// A permutation is the order of the ranks around the ring.
shard.grid @permutation(shape = 4) {ring.order = [0, 2, 3, 1]}
shard.grid @dense(shape = 4) {ring.order = array<i64: 3, 2, 1, 0>}
shard.grid @one_rank(shape = 1) {ring.order = [0]}
shard.grid @of_one_axis(shape = 2x4) {ring.order = [1, 0]}

// -----

// expected-error @+1 {{ring.order names rank 1 twice, at places 1 and 2}}
shard.grid @repeated_rank(shape = 4) {ring.order = [0, 1, 1, 3]}

// -----

// expected-error @+1 {{ring.order names rank -1, expected 0 to 3}}
shard.grid @negative_rank(shape = 4) {ring.order = [0, 1, -1, 3]}

// -----

// expected-error @+1 {{ring.order names rank 4, expected 0 to 3}}
shard.grid @rank_too_large(shape = 4) {ring.order = array<i64: 0, 1, 2, 4>}

// -----

// expected-error @+1 {{ring.order has 3 ranks, but no axis of the grid has this size}}
shard.grid @rank_missing(shape = 4) {ring.order = [0, 1, 3]}

// -----

// expected-error @+1 {{ring.order has 1 rank, but no axis of the grid has this size}}
shard.grid @dynamic_grid(shape = ?) {ring.order = [0]}

// -----

// expected-error @+1 {{ring.order has 0 ranks, but no axis of the grid has this size}}
shard.grid @no_rank(shape = 4) {ring.order = []}

// -----

// expected-error @+1 {{ring.order is [0, "one"], expected an array of integers}}
shard.grid @string(shape = 2) {ring.order = [0, "one"]}

// -----

// expected-error @+1 {{ring.order is 2 : i64, expected an array of integers}}
shard.grid @integer(shape = 2) {ring.order = 2}

// -----

// expected-error @+1 {{ring.order is on 'func.func', expected on a 'shard.grid'}}
func.func private @function() attributes {ring.order = [0, 1]}

// -----

// expected-error @+1 {{'shard.grid' op requires attribute 'shape'}}
"shard.grid"() <{sym_name = "shapeless"}> {ring.order = [0, 1]} : () -> ()
