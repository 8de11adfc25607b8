// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics -o /dev/null

// How results come about: from the identity, by steps of one and the same
// attention, through ring.finalize.

// Key and value change places on the way.
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
  // expected-note @below {{the other is here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %v, %k on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{key for the block of rank 1 on rank 0 in round 1 is another than on rank 0 in round 0}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Another scale in one of the rounds.
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
  // expected-note @below {{the other is here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{scale for the block of rank 1 on rank 0 in round 1 is another than on rank 0 in round 0}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.25) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Another softcap in one of the rounds.
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
  // expected-note @below {{the other is here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{softcap for the block of rank 1 on rank 0 in round 1 is another than on rank 0 in round 0}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) softcap(30.0) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Another mask in one of the rounds.
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
  // expected-note @below {{the other is here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) mask(<causal>) : !t, !t
  // expected-error @below {{mask for the block of rank 1 on rank 0 in round 1 is another than on rank 0 in round 0}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Another table in one of the rounds.
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
  // expected-note @below {{the other is here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %u = arith.constant dense<[[0, 2, 2, 2, 1], [1, 0, 2, 2, 1]]> : !t
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %u) : !t, !t
  // expected-error @below {{layout table, ids or lengths for the block of rank 1 on rank 0 in round 1 is another than on rank 0 in round 0}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A round is left out of the result.
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
  // expected-note @below {{rank 0 computes last here, in round 1}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  // expected-error @below {{block of rank 1 is never computed on rank 0, expected in round 1}}
  %o = ring.finalize %s0#0, %s0#1, %s0#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A state is merged with itself.
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
  // expected-note @below {{computed here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %m:3 = ring.merge ins(%s0#0, %s0#1, %s0#2) outs(%s1#0, %s1#1, %s1#2) : (!b, !r, !r, !b, !r, !r) -> (!b, !r, !r)
  // expected-error @below {{block of rank 0, computed on rank 0 in round 0, is merged into the state twice}}
  %o = ring.finalize %m#0, %m#1, %m#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The parts of two states.
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
  // expected-error @below {{acc, max and sum are not those of one state on rank 0}}
  %o = ring.finalize %s1#0, %s1#1, %s0#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The first state is not the identity.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<-1.0e+30> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  // expected-error @below {{max of the first state is not filled with -inf on rank 0}}
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

// Nothing is computed.
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
  // expected-error @below {{no rank computes any block, expected the block of rank 0 on rank 0 in round 0}}
  %o = ring.finalize %acc, %max, %sum outs(%out) : (!b, !r, !r, !b) -> !b
  // expected-note @below {{the result is returned here}}
  return %o : !b
}

// -----

// The result is not that of a state.
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
  // expected-note @below {{it is made here}}
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
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  // expected-error @below {{result 0 of rank 0 does not come from ring.finalize}}
  return %out : !b
}

// -----

// The queries are another rank's.
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
  %f1 = ring.permute_start %k, %v, %q on @ring axis 0 : !b, !b, !b
  %k1, %v1, %q1 = ring.permute_wait %f1 : !ring.future<!b, !b, !b>
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{query on rank 0 is not its own}}
  %s1:3 = ring.online_attention %q1, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The values are others on the way, the keys are not.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b, %u: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  // expected-note @below {{the other is here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %u on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{value for the block of rank 1 on rank 0 in round 1 is another than on rank 0 in round 0}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The queries are another argument in one of the rounds.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b, %u: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  // expected-note @below {{the other is here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{query for the block of rank 1 on rank 0 in round 1 is another than on rank 0 in round 0}}
  %s1:3 = ring.online_attention %u, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Maximum and sum of one state change places.
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
  // expected-error @below {{acc, max and sum are not those of one state on rank 0}}
  %o = ring.finalize %s1#0, %s1#2, %s1#1 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}
