// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics -o /dev/null

// The host cuts the bias like the queries and gives the ranks whole what is not cut.
// See verify-schedule-tables.mlir for queries, keys and values.

// The bias is cut like the queries: nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %bias: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %3 = ring.scatter %bias by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @rank(%0, %1, %2, %3) : (!b, !b, !b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %bias: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) bias(%bias) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%bias) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The rows of the bias are dealt out by another table than the queries.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %bias: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %3 = ring.scatter %bias by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @rank(%0, %1, %2, %3) : (!b, !b, !b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %bias: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  // expected-note @below {{the work list is here}}
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) bias(%bias) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%bias) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The columns of the bias are cut, not its rows.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %bias: tensor<1x1x?x4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{is along dimension 3, expected the sequence, dimension 2}}
  %3 = ring.scatter %bias by %t dim 3 on @ring axis 0 : tensor<1x1x?x4xf32>, !t -> tensor<1x1x?x?xf32>
  %out = call @rank(%0, %1, %2, %3) : (!b, !b, !b, tensor<1x1x?x?xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %bias: tensor<1x1x?x?xf32>) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) bias(%bias) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, tensor<1x1x?x?xf32>, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%bias) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, tensor<1x1x?x?xf32>, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A bias with a row for each query is not cut.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %bias: !b) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cannot verify: argument 3 does not come from ring.scatter}}
  %out = call @rank(%0, %1, %2, %bias) : (!b, !b, !b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %bias: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) bias(%bias) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%bias) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A bias with one row is the same for all ranks: nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %bias: tensor<1x1x1x4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @rank(%0, %1, %2, %bias) : (!b, !b, !b, tensor<1x1x1x4xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %bias: tensor<1x1x1x4xf32>) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) bias(%bias) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, tensor<1x1x1x4xf32>, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%bias) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, tensor<1x1x1x4xf32>, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The columns of a bias with one row are cut.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %bias: tensor<1x1x1x4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 3, which every rank needs whole}}
  %3 = ring.scatter %bias by %t dim 3 on @ring axis 0 : tensor<1x1x1x4xf32>, !t -> tensor<1x1x1x?xf32>
  %out = call @rank(%0, %1, %2, %3) : (!b, !b, !b, tensor<1x1x1x?xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %bias: tensor<1x1x1x?xf32>) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  // expected-note @below {{the ranks use it here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) bias(%bias) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, tensor<1x1x1x?xf32>, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%bias) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, tensor<1x1x1x?xf32>, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Document ids are cut like the keys.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %ids: tensor<1x4xi32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 3, which every rank needs whole}}
  %3 = ring.scatter %ids by %t dim 1 on @ring axis 0 : tensor<1x4xi32>, !t -> tensor<1x?xi32>
  %out = call @rank(%0, %1, %2, %3) : (!b, !b, !b, tensor<1x?xi32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %ids: tensor<1x?xi32>) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  // expected-note @below {{the ranks use it here}}
  %w0 = ring.slices at(%rank, %rank in %t, %t) segments(%ids, %ids : tensor<1x?xi32>, tensor<1x?xi32>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) segments(%ids, %ids : tensor<1x?xi32>, tensor<1x?xi32>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// What the score region looks up is cut.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %a: tensor<4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 3, which every rank needs whole}}
  %3 = ring.scatter %a by %t dim 0 on @ring axis 0 : tensor<4xf32>, !t -> tensor<?xf32>
  %out = call @rank(%0, %1, %2, %3) : (!b, !b, !b, tensor<?xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %a: tensor<?xf32>) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  // expected-note @below {{the ranks use it here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %y = tensor.extract %a[%j] : tensor<?xf32>
      ring.yield %y : f32
    }
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %y = tensor.extract %a[%j] : tensor<?xf32>
      ring.yield %y : f32
    }
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The means are cut, along the batch.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w, %mean: tensor<?x1x4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 3, which every rank needs whole}}
  %3 = ring.scatter %mean by %t dim 0 on @ring axis 0 : tensor<?x1x4xf32>, !t -> tensor<?x1x4xf32>
  %out = call @rank(%0, %1, %2, %3) : (!b, !b, !b, tensor<?x1x4xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %mean: tensor<?x1x4xf32>) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  // expected-note @below {{the ranks use it here}}
  %o = ring.finalize %s1#0, %s1#1, %s1#2 empty_rows(uniform) mean(%mean) outs(%out) : (!b, !r, !r, tensor<?x1x4xf32>, !b) -> !b
  return %o : !b
}

// -----

// Keys that no rank computes on at home are looked at as well: each sees those of the
// rank opposite.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 2, 2, 2, 1], [1, 0, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @rank(%0, %1, %2) : (!b, !b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 2, 2, 2, 1], [1, 0, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  // expected-note @below {{the work list is here}}
  %w1 = ring.slices at(%rank, %o1 in %t, %u) mask(<window = [0, 0]>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A table that the loop carries is no argument of the function: nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%q: !w, %k: !w, %v: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @rank(%0, %1, %2) : (!b, !b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %acc = tensor.splat %zero[%rows] : !b
  %max = tensor.splat %none[%rows] : !r
  %sum = tensor.splat %zero[%rows] : !r
  %out = tensor.empty(%rows) : !b
  %rank = shard.process_linear_index on @ring : index
  %f = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f : !f
  %s:6 = scf.for %round = %c0 to %c2 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v, %table = %t)
      -> (!b, !r, !r, !b, !b, !t) {
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %table, %table) : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    scf.yield %n#0, %n#1, %n#2, %k1, %v1, %table : !b, !r, !r, !b, !b, !t
  }
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}
