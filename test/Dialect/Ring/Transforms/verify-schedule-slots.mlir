// RUN: ring-opt %s --ring-verify-schedule=slots=2 --split-input-file --verify-diagnostics -o /dev/null
// RUN: not ring-opt %s --ring-verify-schedule=slots=-1 --split-input-file 2>&1 | FileCheck %s

// A transport with two slots.
// 
// CHECK: error: slots is -1, expected 0 or more

// Sent on while it is still under way: three slots would be needed, see
// verify-schedule.mlir.
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
    // expected-error @below {{transfer 3 of rank 0, which brings the block of rank 1 for round 3, overwrites the block of rank 3 in slot 0 of 2 before transfer 2 has sent it on}}
    %next = ring.permute_start %f on @ring axis 0 : !f
    // expected-note @below {{waited for here}}
    %k1, %v1 = ring.permute_wait %f : !f
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

// Two slots are enough for a distance of 1.
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
    %next = ring.permute_start %k1, %v1 on @ring axis 0 : !b, !b
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
