// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics -o /dev/null

// What is computed: every visible block once, by the rank of the queries, under its
// own work list.

// A rank skips a block: the loop ends one round early.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %s:5 = scf.for %round = %c0 to %c3 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    // expected-note @below {{rank 0 computes last here, in round 2}}
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %next = arith.addi %round, %c1 : index
    %more = arith.cmpi slt, %next, %c3 : index
    %kv:2 = scf.if %more -> (!b, !b) {
      %f = ring.permute_start %kb, %vb on @ring axis 0 : !b, !b
      %k1, %v1 = ring.permute_wait %f : !f
      scf.yield %k1, %v1 : !b, !b
    } else {
      scf.yield %kb, %vb : !b, !b
    }
    scf.yield %n#0, %n#1, %n#2, %kv#0, %kv#1 : !b, !r, !r, !b, !b
  }
  // expected-error @below {{block of rank 1 is never computed on rank 0, expected in round 3}}
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A rank skips a block: rank 2 does not compute in round 1.
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
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %c2 = arith.constant 2 : index
  %s:5 = scf.for %round = %c0 to %c4 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    %two = arith.cmpi eq, %rank, %c2 : index
    %late = arith.cmpi eq, %round, %c1 : index
    %leave = arith.andi %two, %late : i1
    %n:3 = scf.if %leave -> (!b, !r, !r) {
      scf.yield %a, %m, %l : !b, !r, !r
    } else {
      // expected-note @below {{rank 2 computes last here, in round 3}}
      %x:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
        : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
      scf.yield %x#0, %x#1, %x#2 : !b, !r, !r
    }
    %next = arith.addi %round, %c1 : index
    %more = arith.cmpi slt, %next, %c4 : index
    %kv:2 = scf.if %more -> (!b, !b) {
      %f = ring.permute_start %kb, %vb on @ring axis 0 : !b, !b
      %k1, %v1 = ring.permute_wait %f : !f
      scf.yield %k1, %v1 : !b, !b
    } else {
      scf.yield %kb, %vb : !b, !b
    }
    scf.yield %n#0, %n#1, %n#2, %kv#0, %kv#1 : !b, !r, !r, !b, !b
  }
  // expected-error @below {{block of rank 1 is never computed on rank 2, expected in round 1}}
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A block is computed twice: one round too many brings the own block home.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
func.func private @rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %s:5 = scf.for %round = %c0 to %c5 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    // expected-error @below {{block of rank 0 is computed twice on rank 0, in rounds 0 and 4}}
    // expected-note @below {{first computed here}}
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %next = arith.addi %round, %c1 : index
    %more = arith.cmpi slt, %next, %c5 : index
    %kv:2 = scf.if %more -> (!b, !b) {
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

// A block is computed twice: the other one is left out. Both work lists are
// right, and the rounds are counted where no ring.owner names them.
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
  // expected-note @below {{first computed here}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  // expected-error @below {{block of rank 0 is computed twice on rank 0, in rounds 0 and 1}}
  %s1:3 = ring.online_attention %q, %k, %v slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Two ranks compute the same pairs: those of rank 0's queries.
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
  %c0 = arith.constant 0 : index
  // expected-error @below {{work list is of rank 0 and the block of rank 1, expected rank 1 and the block of rank 1 in round 0}}
  %w0 = ring.slices at(%c0, %rank in %t, %t) : !t, !t
  // expected-note @below {{the block is computed on here}}
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

// The work list names another block than the one in hand.
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
  // expected-error @below {{work list is of rank 0 and the block of rank 0, expected rank 0 and the block of rank 1 in round 1}}
  %w1 = ring.slices at(%rank, %rank in %t, %t) : !t, !t
  // expected-note @below {{the block is computed on here}}
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The block in hand is not passed on, but the own one again.
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
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %s:5 = scf.for %round = %c0 to %c4 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    // expected-error @below {{work list is of rank 0 and the block of rank 2, expected rank 0 and the block of rank 3 in round 2}}
    %w = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    // expected-note @below {{the block is computed on here}}
    %n:3 = ring.online_attention %q, %kb, %vb slices(%w) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %next = arith.addi %round, %c1 : index
    %more = arith.cmpi slt, %next, %c4 : index
    %kv:2 = scf.if %more -> (!b, !b) {
      %f = ring.permute_start %k, %v on @ring axis 0 : !b, !b
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

// Key and value are of two ranks.
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
  // expected-note @below {{the work list is that of the block of rank 1}}
  %w1 = ring.slices at(%rank, %o1 in %t, %t) : !t, !t
  // expected-error @below {{key is of rank 1 and value is of rank 0, on rank 0 in round 1}}
  %s1:3 = ring.online_attention %q, %k1, %v slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}
