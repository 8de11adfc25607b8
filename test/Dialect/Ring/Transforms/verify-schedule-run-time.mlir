// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics -o /dev/null

// Tables that the host computes and gives to the ranks: which pairs are visible
// is known at run time only, so every block has to be computed on; and the host
// deals out by the very tables that it gives.

// As it should be: nothing to say.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {
  %tables:2 = ring.tables <zigzag> ranks 2 sizes(%n, %m) mask(<causal, align = bottom_right>) outs(%room, %room)
    : (index, index, !t, !t) -> (!t, !t)
  %0 = ring.scatter %q by %tables#0 dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %2 = ring.scatter %v by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %3 = call @rank(%0, %1, %2, %tables#0, %tables#1) : (!b, !b, !b, !t, !t) -> !b
  %4 = ring.gather %3 by %tables#0 dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The queries are dealt out as the keys are.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {
  %tables:2 = ring.tables <zigzag> ranks 2 sizes(%n, %m) mask(<causal, align = bottom_right>) outs(%room, %room)
    : (index, index, !t, !t) -> (!t, !t)
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %0 = ring.scatter %q by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %2 = ring.scatter %v by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %3 = call @rank(%0, %1, %2, %tables#0, %tables#1) : (!b, !b, !b, !t, !t) -> !b
  %4 = ring.gather %3 by %tables#0 dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The values by tables that the ranks are not given.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {
  %tables:2 = ring.tables <zigzag> ranks 2 sizes(%n, %m) mask(<causal, align = bottom_right>) outs(%room, %room)
    : (index, index, !t, !t) -> (!t, !t)
  %others:2 = ring.tables <striped> ranks 2 sizes(%n, %m) outs(%room, %room) : (index, index, !t, !t) -> (!t, !t)
  %0 = ring.scatter %q by %tables#0 dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %2 = ring.scatter %v by %others#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %3 = call @rank(%0, %1, %2, %tables#0, %tables#1) : (!b, !b, !b, !t, !t) -> !b
  %4 = ring.gather %3 by %tables#0 dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The result is put together as the keys are.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {
  %tables:2 = ring.tables <zigzag> ranks 2 sizes(%n, %m) mask(<causal, align = bottom_right>) outs(%room, %room)
    : (index, index, !t, !t) -> (!t, !t)
  %0 = ring.scatter %q by %tables#0 dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %2 = ring.scatter %v by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %3 = call @rank(%0, %1, %2, %tables#0, %tables#1) : (!b, !b, !b, !t, !t) -> !b
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %4 = ring.gather %3 by %tables#1 dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Tables for another number of ranks.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {
  // expected-error @below {{makes tables for 3 ranks, the program runs on 2}}
  %tables:2 = ring.tables <zigzag> ranks 3 sizes(%n, %m) mask(<causal, align = bottom_right>) outs(%room, %room)
    : (index, index, !t, !t) -> (!t, !t)
  %0 = ring.scatter %q by %tables#0 dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %2 = ring.scatter %v by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %3 = call @rank(%0, %1, %2, %tables#0, %tables#1) : (!b, !b, !b, !t, !t) -> !b
  %4 = ring.gather %3 by %tables#0 dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Tables from elsewhere may be anything.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {

  %0 = ring.scatter %q by %room dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %room dim 2 on @ring axis 0 : !b, !t -> !b
  %2 = ring.scatter %v by %room dim 2 on @ring axis 0 : !b, !t -> !b
  // expected-error @below {{cannot verify: argument 3 does not come from ring.tables}}
  %3 = call @rank(%0, %1, %2, %room, %room) : (!b, !b, !b, !t, !t) -> !b
  %4 = ring.gather %3 by %room dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// The ranks compute by constants.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {
  %tables:2 = ring.tables <zigzag> ranks 2 sizes(%n, %m) mask(<causal, align = bottom_right>) outs(%room, %room)
    : (index, index, !t, !t) -> (!t, !t)
  // expected-error @below {{layout table is not the one that the ranks compute with}}
  %0 = ring.scatter %q by %tables#0 dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %2 = ring.scatter %v by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %3 = call @rank(%0, %1, %2, %tables#0, %tables#1) : (!b, !b, !b, !t, !t) -> !b
  %4 = ring.gather %3 by %tables#0 dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
  %c = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
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
  %w0 = ring.slices at(%rank, %rank in %c, %c) mask(<causal, align = bottom_right>) : tensor<2x5xi64>, tensor<2x5xi64>
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %c, %c) mask(<causal, align = bottom_right>) : tensor<2x5xi64>, tensor<2x5xi64>
  %s1:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A round is left out. The mask alone would not tell: with tables of run time every
// block may be visible, here already on rank 0.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<?x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func @host(%q: !b, %k: !b, %v: !b, %room: !t, %n: index, %m: index) -> !b {
  %tables:2 = ring.tables <zigzag> ranks 2 sizes(%n, %m) mask(<causal, align = bottom_right>) outs(%room, %room)
    : (index, index, !t, !t) -> (!t, !t)
  %0 = ring.scatter %q by %tables#0 dim 2 on @ring axis 0 : !b, !t -> !b
  %1 = ring.scatter %k by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %2 = ring.scatter %v by %tables#1 dim 2 on @ring axis 0 : !b, !t -> !b
  %3 = call @rank(%0, %1, %2, %tables#0, %tables#1) : (!b, !b, !b, !t, !t) -> !b
  %4 = ring.gather %3 by %tables#0 dim 2 sizes(%n) on @ring axis 0 : !b, !t -> !b
  return %4 : !b
}
func.func private @rank(%q: !b, %k: !b, %v: !b, %tq: !t, %tk: !t) -> !b attributes {ring.rank_of = @host} {
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
  %w0 = ring.slices at(%rank, %rank in %tq, %tk) mask(<causal, align = bottom_right>) : !t, !t
  // expected-note @below {{rank 0 computes last here, in round 0}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  // expected-error @below {{block of rank 1 is never computed on rank 0, expected in round 1}}
  %o = ring.finalize %s0#0, %s0#1, %s0#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A rank leaves out what it would not see without the offsets. With them, which the
// run decides, a causal query may see every block.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!o = tensor<1xi32>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
func.func private @rank(%q: !b, %k: !b, %v: !b, %offsets: !o) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %w0 = ring.slices at(%rank, %rank in %t, %t) offsets(%offsets : !o) mask(<causal>) : !t, !t
  // expected-note @below {{rank 0 computes last here, in round 0}}
  %s0:3 = ring.online_attention %q, %k, %v slices(%w0) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %o1 = ring.owner %c1 on @ring axis 0
  %w1 = ring.slices at(%rank, %o1 in %t, %t) offsets(%offsets : !o) mask(<causal>) : !t, !t
  %last = arith.cmpi eq, %rank, %c1 : index
  %s1:3 = scf.if %last -> (!b, !r, !r) {
    %x:3 = ring.online_attention %q, %k1, %v1 slices(%w1) scale(0.5) outs(%s0#0, %s0#1, %s0#2)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    scf.yield %x#0, %x#1, %x#2 : !b, !r, !r
  } else {
    scf.yield %s0#0, %s0#1, %s0#2 : !b, !r, !r
  }
  // expected-error @below {{block of rank 1 is never computed on rank 0, expected in round 1}}
  %o = ring.finalize %s1#0, %s1#1, %s1#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}
