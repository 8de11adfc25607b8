// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics -o /dev/null

// What travels: each transfer waited for once, the same on all ranks, none that
// nobody needs, and no slot written too early.

// A wait is removed.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %s:6 = scf.for %round = %c0 to %c2 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v, %f = %f1)
      -> (!b, !r, !r, !b, !b, !f) {
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %k1, %v1 = ring.permute_wait %f : !f
    // expected-error @below {{transfer 3 of rank 0, which brings the block of rank 1 for round 3, is never waited for}}
    %next = ring.permute_start %k1, %v1 on @ring axis 0 : !b, !b
    scf.yield %n#0, %n#1, %n#2, %k1, %v1, %next : !b, !r, !r, !b, !b, !f
  }
  %o2 = ring.owner %c2 on @ring axis 0
  %w2 = ring.slices at(%rank, %o2 in %t, %t) : !t, !t
  %s2:3 = ring.online_attention %q, %s#3, %s#4 slices(%w2) scale(0.5) outs(%s#0, %s#1, %s#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o3 = ring.owner %c2 on @ring axis 0
  %w3 = ring.slices at(%rank, %o3 in %t, %t) : !t, !t
  %s3:3 = ring.online_attention %q, %s#3, %s#4 slices(%w3) scale(0.5) outs(%s2#0, %s2#1, %s2#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s3#0, %s3#1, %s3#2 outs(%out) : (!b, !r, !r, !b) -> !b
  // expected-note @below {{rank 0 returns here}}
  return %o : !b
}

// -----

// A start without a wait, on one branch: where the block is not needed.
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
  // expected-error @below {{transfer 1 of rank 0, which brings the block of rank 1 for round 1, is never waited for}}
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %c0 = arith.constant 0 : index
  %last = arith.cmpi ne, %rank, %c0 : index
  %kv:2 = scf.if %last -> (!b, !b) {
    %k1, %v1 = ring.permute_wait %f1 : !f
    scf.yield %k1, %v1 : !b, !b
  } else {
    scf.yield %k, %v : !b, !b
  }
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %kv#0, %kv#1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  // expected-note @below {{rank 0 returns here}}
  return %o : !b
}

// -----

// Waited for twice.
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
  // expected-note @below {{first waited for here}}
  %k1, %v1 = ring.permute_wait %f1 : !f
  // expected-error @below {{transfer 1 of rank 0, which brings the block of rank 1 for round 1, is waited for twice}}
  %k2, %v2 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Sent on after it was waited for.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %s:6 = scf.for %round = %c0 to %c2 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v, %f = %f1)
      -> (!b, !r, !r, !b, !b, !f) {
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    // expected-note @below {{waited for here}}
    %k1, %v1 = ring.permute_wait %f : !f
    // expected-error @below {{sends on transfer 1 on rank 0 after it was waited for, expected what the wait returned}}
    %next = ring.permute_start %f on @ring axis 0 : !f
    scf.yield %n#0, %n#1, %n#2, %k1, %v1, %next : !b, !r, !r, !b, !b, !f
  }
  %o2 = ring.owner %c2 on @ring axis 0
  %w2 = ring.slices at(%rank, %o2 in %t, %t) : !t, !t
  %s2:3 = ring.online_attention %q, %s#3, %s#4 slices(%w2) scale(0.5) outs(%s#0, %s#1, %s#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %k3, %v3 = ring.permute_wait %s#5 : !f
  %o3 = ring.owner %c3 on @ring axis 0
  %w3 = ring.slices at(%rank, %o3 in %t, %t) : !t, !t
  %s3:3 = ring.online_attention %q, %k3, %v3 slices(%w3) scale(0.5) outs(%s2#0, %s2#1, %s2#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s3#0, %s3#1, %s3#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A slot is reused one round early: the next transfer starts before the round
// has computed.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %s:6 = scf.for %round = %c0 to %c2 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v, %f = %f1)
      -> (!b, !r, !r, !b, !b, !f) {
    %k1, %v1 = ring.permute_wait %f : !f
    // expected-error @below {{transfer 3 of rank 0, which brings the block of rank 1 for round 3, overwrites the block of rank 3 in slot 0 of 2 before round 1 computes on it}}
    %next = ring.permute_start %k1, %v1 on @ring axis 0 : !b, !b
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    // expected-note @below {{computed on here}}
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    scf.yield %n#0, %n#1, %n#2, %k1, %v1, %next : !b, !r, !r, !b, !b, !f
  }
  %o2 = ring.owner %c2 on @ring axis 0
  %w2 = ring.slices at(%rank, %o2 in %t, %t) : !t, !t
  %s2:3 = ring.online_attention %q, %s#3, %s#4 slices(%w2) scale(0.5) outs(%s#0, %s#1, %s#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %k3, %v3 = ring.permute_wait %s#5 : !f
  %o3 = ring.owner %c3 on @ring axis 0
  %w3 = ring.slices at(%rank, %o3 in %t, %t) : !t, !t
  %s3:3 = ring.online_attention %q, %k3, %v3 slices(%w3) scale(0.5) outs(%s2#0, %s2#1, %s2#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s3#0, %s3#1, %s3#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// One transfer too many: the last one is not elided.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %s:5 = scf.for %round = %c0 to %c4 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    // expected-note @below {{rank 0 computes last here, in round 3}}
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %next = arith.addi %round, %c1 : index
    %more = arith.cmpi slt, %next, %c5 : index
    %kv:2 = scf.if %more -> (!b, !b) {
      // expected-error @below {{transfer 4 of rank 0, which brings the block of rank 0 for round 4, is one too many: no rank computes on what it brings}}
      %f = ring.permute_start %kb, %vb on @ring axis 0 : !b, !b
      %k1, %v1 = ring.permute_wait %f : !f
      scf.yield %k1, %v1 : !b, !b
    } else {
      scf.yield %kb, %vb : !b, !b
    }
    scf.yield %n#0, %n#1, %n#2, %kv#0, %kv#1 : !b, !r, !r, !b, !b
  }
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// One transfer too many: only what is thrown away is computed on it.
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
  // expected-error @below {{transfer 2 of rank 0, which brings the block of rank 0 for round 2, is one too many: no rank computes on what it brings}}
  %f2 = ring.permute_start %k1, %v1 on @ring axis 0 : !b, !b
  %k2, %v2 = ring.permute_wait %f2 : !f
  // expected-note @below {{rank 0 computes last here, in round 2}}
  %s2:3 = ring.online_attention %q, %k2, %v2 slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Not all ranks start a transfer.
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
  %last = arith.cmpi eq, %rank, %c1 : index
  %kv:2 = scf.if %last -> (!b, !b) {
    // expected-error @below {{transfer 1, for round 1, is started on rank 1 but not on rank 0, and waits forever}}
    %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
    %k1, %v1 = ring.permute_wait %f1 : !f
    scf.yield %k1, %v1 : !b, !b
  } else {
    scf.yield %k, %v : !b, !b
  }
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %kv#0, %kv#1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  // expected-note @below {{rank 0 returns here after 0 transfers}}
  return %o : !b
}

// -----

// Ranks send different things.
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
  %last = arith.cmpi eq, %rank, %c1 : index
  %kv:2 = scf.if %last -> (!b, !b) {
    // expected-error @below {{transfer 1, for round 1, is '!ring.future<tensor<1x1x2x4xf32>>' on rank 1, but '!ring.future<tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>>' on rank 0}}
    %f1 = ring.permute_start %k on @ring axis 0 : !b
    %k1 = ring.permute_wait %f1 : !ring.future<!b>
    scf.yield %k1, %v : !b, !b
  } else {
    // expected-note @below {{rank 0 starts it here}}
    %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
    %k1, %v1 = ring.permute_wait %f1 : !f
    scf.yield %k1, %v1 : !b, !b
  }
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  %s1:3 = ring.online_attention %q, %kv#0, %kv#1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A permutation that is no ring.
// expected-error @below {{ring.order names rank 0 twice, at places 0 and 1}}
shard.grid @ring(shape = 4) {ring.order = [0, 0, 1, 2]}

// -----

// A permutation that is no ring.
// expected-error @below {{ring.order names rank -1, expected 0 to 3}}
shard.grid @ring(shape = 4) {ring.order = [0, 1, 2, -1]}

// -----

// A permutation that is no ring.
// expected-error @below {{ring.order names rank 4, expected 0 to 3}}
shard.grid @ring(shape = 4) {ring.order = [0, 1, 2, 4]}
