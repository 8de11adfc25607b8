// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics -o /dev/null

// In a local function a rank gives attention what it has made of its own
// positions. What is cut for that function, and joined of it, is of attention's
// table; see verify-schedule-calls.mlir for attention that the host calls.

// Everything is of one table, also where two attentions follow one another:
// nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0) : (!b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %n, %x) : (!b, !b, !b) -> !b
  %p = call @rank(%o, %o, %o) : (!b, !b, !b) -> !b
  %s = arith.addf %p, %x : !b
  return %s : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// What the ranks compute with is cut by another table, in attention ...
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %0 = ring.scatter %x by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0) : (!b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %n, %x) : (!b, !b, !b) -> !b
  %s = arith.addf %o, %x : !b
  return %s : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// ... and next to it: what attention is given is right.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %1 = ring.scatter %y by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %o = call @rank(%x, %x, %x) : (!b, !b, !b) -> !b
  %s = arith.addf %o, %y : !b
  return %s : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The result is joined by another table.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0) : (!b) -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %whole = ring.gather %out by %u dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %n, %x) : (!b, !b, !b) -> !b
  %s = arith.addf %o, %x : !b
  return %s : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The result is used as it is.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0) : (!b) -> !b
  // expected-error @below {{cannot verify: a rank's result is used by 'arith.negf', expected ring.gather}}
  %n = arith.negf %out : !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %n, %x) : (!b, !b, !b) -> !b
  %s = arith.addf %o, %x : !b
  return %s : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A second call of the local function is looked at too.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0) : (!b) -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %1 = ring.scatter %x by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %again = call @local(%1) : (!b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %n, %n) : (!b, !b, !b) -> !b
  %s = arith.addf %o, %x : !b
  return %s : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Keys of another sequence, given to attention as they are, have another table:
// nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %y by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %y, %y) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
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
  %w0 = ring.slices at(%rank, %rank in %t, %u) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %u) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// They are cut by the queries' table.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %1 = ring.scatter %y by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %y, %y) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
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
  %w0 = ring.slices at(%rank, %rank in %t, %u) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %u) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The values alone are.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w, %z: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %y by %u dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %2 = ring.scatter %z by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1, %2) : (!b, !b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b, %z: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %y, %z) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
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
  %w0 = ring.slices at(%rank, %rank in %t, %u) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %u) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The keys alone are.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w, %z: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %y by %u dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %2 = ring.scatter %z by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1, %2) : (!b, !b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b, %z: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %z, %y) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
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
  %w0 = ring.slices at(%rank, %rank in %t, %u) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %u) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The keys are the ranks' own.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %y by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  // expected-error @below {{keys that the ranks compute are cut by the queries' table, attention computes with another}}
  %o = call @rank(%n, %n, %y) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
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
  %w0 = ring.slices at(%rank, %rank in %t, %u) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %u) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The values are the ranks' own.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %y by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  // expected-error @below {{keys that the ranks compute are cut by the queries' table, attention computes with another}}
  %o = call @rank(%n, %y, %n) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
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
  %w0 = ring.slices at(%rank, %rank in %t, %u) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %u) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The queries, given as they are, are cut by another table.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %1 = ring.scatter %y by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%y, %n, %n) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// What attention is given was not cut.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %y: !b) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cannot verify: argument 1 does not come from ring.scatter}}
  %out = call @local(%0, %y) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %y: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %n = arith.negf %x : !b
  %o = call @rank(%n, %y, %y) : (!b, !b, !b) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
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
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A bias that a rank has no part of.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0) : (!b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %bias = arith.constant dense<0.0> : tensor<1x1x4x4xf32>
  // expected-error @below {{argument 3 is of 'tensor<1x1x4x4xf32>', expected a local tensor}}
  %o = call @rank(%x, %x, %x, %bias) : (!b, !b, !b, tensor<1x1x4x4xf32>) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %bias: tensor<1x1x4x4xf32>) -> !b attributes {ring.rank_of = @host} {
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
    : (!b, !b, !b, !ring.slices, tensor<1x1x4x4xf32>, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%bias) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, tensor<1x1x4x4xf32>, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A bias with rows for the queries, of which a rank has its part: nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %bias: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %1 = ring.scatter %bias by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %bias: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %o = call @rank(%x, %x, %x, %bias) : (!b, !b, !b, !b) -> !b
  %m = arith.negf %o : !b
  %p = call @rank(%m, %m, %m, %m) : (!b, !b, !b, !b) -> !b
  return %p : !b
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

// Its rows are dealt out by another table.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %bias: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %u = arith.constant dense<[[0, 0, 1, 2, 2], [1, 1, 1, 2, 2]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %1 = ring.scatter %bias by %u dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %1) : (!b, !b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %bias: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %o = call @rank(%x, %x, %x, %bias) : (!b, !b, !b, !b) -> !b
  return %o : !b
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

// Its columns are cut.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %bias: tensor<1x1x?x4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{is along dimension 3, expected the sequence, dimension 2}}
  %1 = ring.scatter %bias by %t dim 3 on @ring axis 0 : tensor<1x1x?x4xf32>, !t -> tensor<1x1x?x?xf32>
  %out = call @local(%0, %1) : (!b, tensor<1x1x?x?xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %bias: tensor<1x1x?x?xf32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  %o = call @rank(%x, %x, %x, %bias) : (!b, !b, !b, tensor<1x1x?x?xf32>) -> !b
  return %o : !b
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

// Tables that the rank function takes.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0) : (!b) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b) -> !b attributes {ring.local, ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  // expected-error @below {{cannot verify: the layout table of a call among local ops is no constant}}
  %o = call @rank(%x, %x, %x, %t) : (!b, !b, !b, !t) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %t: !t) -> !b attributes {ring.rank_of = @host} {
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
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Lengths of the host, and constant ones: nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %n: tensor<1xi32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %n) : (!b, tensor<1xi32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %n: tensor<1xi32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  %c = arith.constant dense<3> : tensor<1xi32>
  %o = call @rank(%x, %x, %x, %n) : (!b, !b, !b, tensor<1xi32>) -> !b
  %p = call @rank(%o, %o, %o, %c) : (!b, !b, !b, tensor<1xi32>) -> !b
  return %p : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: tensor<1xi32>) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %t, %t) lengths(%n : tensor<1xi32>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) lengths(%n : tensor<1xi32>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Lengths that a rank computes.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %n: tensor<1xi32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  %out = call @local(%0, %n) : (!b, tensor<1xi32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %n: tensor<1xi32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  %m = arith.addi %n, %n : tensor<1xi32>
  // expected-error @below {{cannot verify: a rank computes argument 3, which every rank needs whole}}
  %o = call @rank(%x, %x, %x, %m) : (!b, !b, !b, tensor<1xi32>) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: tensor<1xi32>) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %t, %t) lengths(%n : tensor<1xi32>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) lengths(%n : tensor<1xi32>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
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
func.func @host(%x: !w, %n: tensor<1x4xi32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 1, which every rank needs whole}}
  %1 = ring.scatter %n by %t dim 1 on @ring axis 0 : tensor<1x4xi32>, !t -> tensor<1x?xi32>
  %out = call @local(%0, %1) : (!b, tensor<1x?xi32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %n: tensor<1x?xi32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  // expected-note @below {{the ranks use it here}}
  %o = call @rank(%x, %x, %x, %n) : (!b, !b, !b, tensor<1x?xi32>) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: tensor<1x?xi32>) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %t, %t) segments(%n, %n : tensor<1x?xi32>, tensor<1x?xi32>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) segments(%n, %n : tensor<1x?xi32>, tensor<1x?xi32>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
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
func.func @host(%x: !w, %n: tensor<1x1x1x4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 1, which every rank needs whole}}
  %1 = ring.scatter %n by %t dim 3 on @ring axis 0 : tensor<1x1x1x4xf32>, !t -> tensor<1x1x1x?xf32>
  %out = call @local(%0, %1) : (!b, tensor<1x1x1x?xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %n: tensor<1x1x1x?xf32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  // expected-note @below {{the ranks use it here}}
  %o = call @rank(%x, %x, %x, %n) : (!b, !b, !b, tensor<1x1x1x?xf32>) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: tensor<1x1x1x?xf32>) -> !b attributes {ring.rank_of = @host} {
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
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) bias(%n) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, tensor<1x1x1x?xf32>, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) bias(%n) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, tensor<1x1x1x?xf32>, !b, !r, !r) -> (!b, !r, !r)
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
func.func @host(%x: !w, %n: tensor<4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 1, which every rank needs whole}}
  %1 = ring.scatter %n by %t dim 0 on @ring axis 0 : tensor<4xf32>, !t -> tensor<?xf32>
  %out = call @local(%0, %1) : (!b, tensor<?xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %n: tensor<?xf32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  // expected-note @below {{the ranks use it here}}
  %o = call @rank(%x, %x, %x, %n) : (!b, !b, !b, tensor<?xf32>) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: tensor<?xf32>) -> !b attributes {ring.rank_of = @host} {
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
    score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %y = tensor.extract %n[%j] : tensor<?xf32>
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
      %y = tensor.extract %n[%j] : tensor<?xf32>
      ring.yield %y : f32
    }
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The sinks are cut.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
!w = tensor<1x1x4x4xf32>
shard.grid @ring(shape = 2)
func.func @host(%x: !w, %n: tensor<?xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 1, which every rank needs whole}}
  %1 = ring.scatter %n by %t dim 0 on @ring axis 0 : tensor<?xf32>, !t -> tensor<?xf32>
  %out = call @local(%0, %1) : (!b, tensor<?xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %n: tensor<?xf32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  // expected-note @below {{the ranks use it here}}
  %o = call @rank(%x, %x, %x, %n) : (!b, !b, !b, tensor<?xf32>) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: tensor<?xf32>) -> !b attributes {ring.rank_of = @host} {
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
  %o = ring.finalize %s1#0, %s1#1, %s1#2 sinks(%n) outs(%out) : (!b, !r, !r, tensor<?xf32>, !b) -> !b
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
func.func @host(%x: !w, %n: tensor<?x1x4xf32>) -> !w {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %0 = ring.scatter %x by %t dim 2 on @ring axis 0 : !w, !t -> !b
  // expected-error @below {{cuts argument 1, which every rank needs whole}}
  %1 = ring.scatter %n by %t dim 0 on @ring axis 0 : tensor<?x1x4xf32>, !t -> tensor<?x1x4xf32>
  %out = call @local(%0, %1) : (!b, tensor<?x1x4xf32>) -> !b
  %whole = ring.gather %out by %t dim 2 on @ring axis 0 : !b, !t -> !w
  return %whole : !w
}
func.func private @local(%x: !b, %n: tensor<?x1x4xf32>) -> !b attributes {ring.local, ring.rank_of = @host} {
  // expected-note @below {{the ranks use it here}}
  %o = call @rank(%x, %x, %x, %n) : (!b, !b, !b, tensor<?x1x4xf32>) -> !b
  return %o : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: tensor<?x1x4xf32>) -> !b attributes {ring.rank_of = @host} {
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
  %o = ring.finalize %s1#0, %s1#1, %s1#2 empty_rows(uniform) mean(%n) outs(%out) : (!b, !r, !r, tensor<?x1x4xf32>, !b) -> !b
  return %o : !b
}
