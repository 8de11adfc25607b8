// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics -o /dev/null

// What is not understood is refused, never taken for right.

// A block made by an op that is not understood.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  // expected-note @below {{it comes from 'tensor.extract_slice'}}
  %part = tensor.extract_slice %k1[0, 0, 0, 0] [1, 1, 2, 4] [1, 1, 1, 1] : !b to !b
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{cannot verify: key is not known on rank 0}}
  %s1:3 = ring.online_attention %q, %part, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A state made by an op that is not understood.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
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
  // expected-note @below {{it comes from 'arith.negf'}}
  %neg = arith.negf %s1#1 : !r
  // expected-error @below {{cannot verify: max is not known on rank 0}}
  %o = ring.finalize %s1#0, %neg, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A call.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
func.func private @other(!b) -> !b
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  // expected-error @below {{cannot verify: call of another function}}
  %x = func.call @other(%k1) : (!b) -> !b
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// An op with an effect that is not understood.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %m = bufferization.to_buffer %k1 : !b to memref<1x1x2x4xf32>
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{cannot verify: 'memref.store' is not understood}}
  memref.store %zero, %m[%c1, %c1, %c1, %c1] : memref<1x1x2x4xf32>
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Control flow that depends on data.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %x = tensor.extract %k[%c1, %c1, %c1, %c1] : !b
  // expected-note @below {{it comes from 'arith.fptosi'}}
  %i = arith.fptosi %x : f32 to i1
  // expected-error @below {{cannot verify: condition is not known on rank 0}}
  scf.if %i {
  }
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A loop without a known bound.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b, %n: index) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  // expected-error @below {{cannot verify: upper bound of the loop is not known on rank 0}}
  scf.for %i = %c1 to %n step %c1 {
  }
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A loop that does not advance.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %c0 = arith.constant 0 : index
  // expected-error @below {{step of the loop is 0 on rank 0, expected 1 or more}}
  scf.for %i = %c0 to %c1 step %c0 {
  }
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A loop that is no loop of rounds.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %c0 = arith.constant 0 : index
  %many = arith.constant 1000000000000 : index
  scf.for %i = %c0 to %many step %c1 {
    // expected-error @below {{cannot verify: more than 1048576 ops on rank 0}}
    %x = arith.addi %i, %c1 : index
  }
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A table that is made on the way.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  // expected-note @below {{it comes from 'tensor.empty'}}
  %u = tensor.empty() : !t
  // expected-error @below {{cannot verify: a table, ids or lengths are neither a constant nor an argument on rank 0}}
  %w0 = ring.slices at(%rank, %rank in %u, %t) : !t, !t
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

// Several blocks.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
// expected-error @below {{cannot verify: function has several blocks}}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  cf.br ^next
^next:
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A grid with two axes that matter.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
// expected-note @below {{the grid is here}}
shard.grid @ring(shape = 2x3)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  // expected-error @below {{cannot verify: axis 1 of grid @ring beside axis 0 is not of size 1}}
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

// Two grids.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @other(shape = 2)
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  // expected-error @below {{cannot verify: rank function uses axis 0 of @ring and axis 0 of @other}}
  %o1 = ring.owner %c1 on @other axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// No grid.
!b = tensor<1x1x2x4xf32>
// expected-error @below {{cannot verify: no op names the grid}}
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  return %q : !b
}

// -----

// A state in memory.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %m0 = bufferization.to_buffer %acc : !b to memref<1x1x2x4xf32>
  %m1 = bufferization.to_buffer %max : !r to memref<1x1x2xf32>
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  // expected-error @below {{cannot verify: state in memory, expected tensors}}
  ring.finalize %m0, %m1, %m1 outs(%m0) : (memref<1x1x2x4xf32>, memref<1x1x2xf32>, memref<1x1x2xf32>, memref<1x1x2x4xf32>) -> ()
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A grid that is no ring, which no op of ours names.
!b = tensor<1x1x2x4xf32>
shard.grid @ring(shape = 0)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  // expected-error @below {{cannot verify: grid @ring is no ring of 1 to 1024 ranks}}
  %rank = shard.process_linear_index on @ring : index
  return %q : !b
}

// -----

// A table whose entries are not in the program.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense_resource<table> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  // expected-error @below {{cannot verify: query table is no dense constant}}
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
