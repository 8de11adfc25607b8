// RUN: ring-opt %s --ring-verify-schedule --split-input-file --verify-diagnostics --remarks-filter=ring-verify-schedule --remark-policy=all -o /dev/null
// RUN: ring-opt %s --ring-bufferize-transfers --ring-verify-schedule --split-input-file -o /dev/null

// What the rank functions of the forms are, and what the verifier has counted.

// Form 1: start and wait stand together, the last transfer is guarded. Every
// block is computed, also what the mask hides.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
func.func @host(%q: tensor<1x1x8x4xf32>, %k: tensor<1x1x8x4xf32>, %v: tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32> {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %0 = ring.scatter %q by %t dim 2 on @ring axis 0 : tensor<1x1x8x4xf32>, !t -> !b
  %1 = ring.scatter %k by %t dim 2 on @ring axis 0 : tensor<1x1x8x4xf32>, !t -> !b
  %2 = ring.scatter %v by %t dim 2 on @ring axis 0 : tensor<1x1x8x4xf32>, !t -> !b
  %3 = call @form1(%0, %1, %2) : (!b, !b, !b) -> !b
  %4 = ring.gather %3 by %t dim 2 on @ring axis 0 : !b, !t -> tensor<1x1x8x4xf32>
  return %4 : tensor<1x1x8x4xf32>
}
// expected-remark @below {{bytes_per_rank=192, ranks=4, slots=2, transfers=3}}
func.func private @form1(%q: !b, %k: !b, %v: !b) -> !b
    attributes {ring.rank_of = @host, ring.layout = #ring.layout<contiguous>} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %wide = tensor.empty(%rows) : !b
  %flat = tensor.empty(%rows) : !r
  %acc = linalg.fill ins(%zero : f32) outs(%wide : !b) -> !b
  %max = linalg.fill ins(%none : f32) outs(%flat : !r) -> !r
  %sum = linalg.fill ins(%zero : f32) outs(%flat : !r) -> !r
  %rank = shard.process_linear_index on @ring : index
  %s:5 = scf.for %round = %c0 to %c4 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    %work = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) whole : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%work) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
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
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%wide) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Form 3 on a ring in the order 0, 2, 1, 3: rank 2 sees positions of rank 1,
// which is its successor, so its block arrives in the last round.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4) {ring.order = [0, 2, 1, 3]}
// expected-remark @below {{bytes_per_rank=192, ranks=4, slots=2, transfers=3}}
func.func private @ordered(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %wide = tensor.empty(%rows) : !b
  %flat = tensor.empty(%rows) : !r
  %acc = linalg.fill ins(%zero : f32) outs(%wide : !b) -> !b
  %max = linalg.fill ins(%none : f32) outs(%flat : !r) -> !r
  %sum = linalg.fill ins(%zero : f32) outs(%flat : !r) -> !r
  %rank = shard.process_linear_index on @ring : index
  %s:5 = scf.for %round = %c0 to %c4 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    %work = ring.slices at(%rank, %owner in %t, %t) mask(<window = [2, 0]>) : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%work) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
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
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%wide) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Form 3 in the natural order: one transfer, and one slot.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
// expected-remark @below {{bytes_per_rank=64, ranks=4, slots=1, transfers=1}}
func.func private @window(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %wide = tensor.empty(%rows) : !b
  %flat = tensor.empty(%rows) : !r
  %acc = linalg.fill ins(%zero : f32) outs(%wide : !b) -> !b
  %max = linalg.fill ins(%none : f32) outs(%flat : !r) -> !r
  %sum = linalg.fill ins(%zero : f32) outs(%flat : !r) -> !r
  %rank = shard.process_linear_index on @ring : index
  %s:5 = scf.for %round = %c0 to %c2 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %round on @ring axis 0
    %work = ring.slices at(%rank, %owner in %t, %t) mask(<window = [2, 0]>) : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%work) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %next = arith.addi %round, %c1 : index
    %more = arith.cmpi slt, %next, %c2 : index
    %kv:2 = scf.if %more -> (!b, !b) {
      %f = ring.permute_start %kb, %vb on @ring axis 0 : !b, !b
      %k1, %v1 = ring.permute_wait %f : !f
      scf.yield %k1, %v1 : !b, !b
    } else {
      scf.yield %kb, %vb : !b, !b
    }
    scf.yield %n#0, %n#1, %n#2, %kv#0, %kv#1 : !b, !r, !r, !b, !b
  }
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%wide) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Form 4, prefetch distance 1: a prologue, two rounds that start a transfer,
// one that only waits, and the last.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
// expected-remark @below {{bytes_per_rank=192, ranks=4, slots=2, transfers=3}}
func.func private @distance1(%q: !b, %k: !b, %v: !b) -> (!b, !r) attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %wide = tensor.empty(%rows) : !b
  %flat = tensor.empty(%rows) : !r
  %acc = linalg.fill ins(%zero : f32) outs(%wide : !b) -> !b
  %max = linalg.fill ins(%none : f32) outs(%flat : !r) -> !r
  %sum = linalg.fill ins(%zero : f32) outs(%flat : !r) -> !r
  %rank = shard.process_linear_index on @ring : index
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %s:6 = scf.for %round = %c0 to %c2 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v, %f = %f1)
      -> (!b, !r, !r, !b, !b, !f) {
    %owner = ring.owner %round on @ring axis 0
    %work = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%work) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %k1, %v1 = ring.permute_wait %f : !f
    %next = ring.permute_start %k1, %v1 on @ring axis 0 : !b, !b
    scf.yield %n#0, %n#1, %n#2, %k1, %v1, %next : !b, !r, !r, !b, !b, !f
  }
  %owner2 = ring.owner %c2 on @ring axis 0
  %work2 = ring.slices at(%rank, %owner2 in %t, %t) mask(<causal>) : !t, !t
  %s2:3 = ring.online_attention %q, %s#3, %s#4 slices(%work2) scale(0.5) outs(%s#0, %s#1, %s#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %k3, %v3 = ring.permute_wait %s#5 : !f
  %owner3 = ring.owner %c3 on @ring axis 0
  %work3 = ring.slices at(%rank, %owner3 in %t, %t) mask(<causal>) : !t, !t
  %s3:3 = ring.online_attention %q, %k3, %v3 slices(%work3) scale(0.5) outs(%s2#0, %s2#1, %s2#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o:2 = ring.finalize %s3#0, %s3#1, %s3#2 outs(%wide, %flat) : (!b, !r, !r, !b, !r) -> (!b, !r)
  return %o#0, %o#1 : !b, !r
}

// -----

// Form 4, prefetch distance 2: the second transfer sends on what the first,
// not waited for yet, will deliver. Five rounds of a ring of 5.
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<5x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 5)
// expected-remark @below {{bytes_per_rank=256, ranks=5, slots=3, transfers=4}}
func.func private @distance2(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 1, 1, 1], [1, 1, 2, 2, 1], [2, 3, 1, 1, 1], [3, 4, 2, 2, 1], [4, 6, 1, 1, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %rows = tensor.dim %q, %c2 : !b
  %wide = tensor.empty(%rows) : !b
  %flat = tensor.empty(%rows) : !r
  %acc = linalg.fill ins(%zero : f32) outs(%wide : !b) -> !b
  %max = linalg.fill ins(%none : f32) outs(%flat : !r) -> !r
  %sum = linalg.fill ins(%zero : f32) outs(%flat : !r) -> !r
  %rank = shard.process_linear_index on @ring : index
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %f2 = ring.permute_start %f1 on @ring axis 0 : !f
  %s:7 = scf.for %round = %c0 to %c2 step %c1
      iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v, %f = %f1, %g = %f2)
      -> (!b, !r, !r, !b, !b, !f, !f) {
    %owner = ring.owner %round on @ring axis 0
    %work = ring.slices at(%rank, %owner in %t, %t) : !t, !t
    %n:3 = ring.online_attention %q, %kb, %vb slices(%work) scale(0.5) outs(%a, %m, %l)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %k1, %v1 = ring.permute_wait %f : !f
    %h = ring.permute_start %g on @ring axis 0 : !f
    scf.yield %n#0, %n#1, %n#2, %k1, %v1, %g, %h : !b, !r, !r, !b, !b, !f, !f
  }
  %owner2 = ring.owner %c2 on @ring axis 0
  %work2 = ring.slices at(%rank, %owner2 in %t, %t) : !t, !t
  %s2:3 = ring.online_attention %q, %s#3, %s#4 slices(%work2) scale(0.5) outs(%s#0, %s#1, %s#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %k3, %v3 = ring.permute_wait %s#5 : !f
  %owner3 = ring.owner %c3 on @ring axis 0
  %work3 = ring.slices at(%rank, %owner3 in %t, %t) : !t, !t
  %s3:3 = ring.online_attention %q, %k3, %v3 slices(%work3) scale(0.5) outs(%s2#0, %s2#1, %s2#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %k4, %v4 = ring.permute_wait %s#6 : !f
  %owner4 = ring.owner %c4 on @ring axis 0
  %work4 = ring.slices at(%rank, %owner4 in %t, %t) : !t, !t
  %s4:3 = ring.online_attention %q, %k4, %v4 slices(%work4) scale(0.5) outs(%s3#0, %s3#1, %s3#2)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s4#0, %s4#1, %s4#2 outs(%wide) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// One rank: nothing travels, and no slot is needed. The state may come from
// constants, and merging with the identity is allowed.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<1x5xi64>
shard.grid @ring(shape = 1)
// expected-remark @below {{bytes_per_rank=0, ranks=1, slots=0, transfers=0}}
func.func private @one(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %work = ring.slices at(%rank, %owner in %t, %t) : !t, !t
  %s:3 = ring.online_attention %q, %k, %v slices(%work) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %m:3 = ring.merge ins(%s#0, %s#1, %s#2) outs(%acc, %max, %sum)
    : (!b, !r, !r, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %m#0, %m#1, %m#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// A rank may leave out what it does not see (here by the mask, causal), as long
// as it passes the block on. A chain of index arithmetic tells where.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<2x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 2)
// expected-remark @below {{bytes_per_rank=64, ranks=2, slots=1, transfers=1}}
func.func private @skips(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %f = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %work = ring.slices at(%rank, %rank in %t, %t) mask(<causal>) : !t, !t
  %s:3 = ring.online_attention %q, %k, %v slices(%work) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %k1, %v1 = ring.permute_wait %f : !f
  %sub = arith.subi %rank, %c1 : index
  %add = arith.addi %sub, %c2 : index
  %owner = arith.remsi %add, %c2 : index
  %below = arith.cmpi sle, %owner, %rank : index
  %i = arith.extui %below : i1 to i32
  %one = arith.constant 1 : i32
  %sees = arith.cmpi eq, %one, %i : i32
  %n:3 = scf.if %sees -> (!b, !r, !r) {
    %work1 = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) : !t, !t
    %s1:3 = ring.online_attention %q, %k1, %v1 slices(%work1) scale(0.5) outs(%s#0, %s#1, %s#2)
      : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    scf.yield %s1#0, %s1#1, %s1#2 : !b, !r, !r
  } else {
    scf.yield %s#0, %s#1, %s#2 : !b, !r, !r
  }
  %o = ring.finalize %n#0, %n#1, %n#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Keys are dealt out two ranks ahead of the queries that see them: no rank computes
// on what the first transfer brings, which is needed all the same, since it is only
// sent on.
!b = tensor<1x1x2x4xf32>
!r = tensor<1x1x2xf32>
!t = tensor<4x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 4)
// expected-remark @below {{bytes_per_rank=128, ranks=4, slots=2, transfers=2}}
func.func private @far(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @host} {
  %queries = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]> : !t
  %keys = arith.constant dense<[[0, 4, 2, 2, 1], [1, 6, 2, 2, 1], [2, 0, 2, 2, 1], [3, 2, 2, 2, 1]]> : !t
  %c2 = arith.constant 2 : index
  %acc = arith.constant dense<0.0> : !b
  %max = arith.constant dense<0xFF800000> : !r
  %sum = arith.constant dense<0.0> : !r
  %out = tensor.empty() : !b
  %rank = shard.process_linear_index on @ring : index
  %f1 = ring.permute_start %k, %v on @ring axis 0 : !b, !b
  %k1, %v1 = ring.permute_wait %f1 : !f
  %f2 = ring.permute_start %k1, %v1 on @ring axis 0 : !b, !b
  %k2, %v2 = ring.permute_wait %f2 : !f
  %owner = ring.owner %c2 on @ring axis 0
  %work = ring.slices at(%rank, %owner in %queries, %keys) mask(<window = [0, 0]>) : !t, !t
  %s:3 = ring.online_attention %q, %k2, %v2 slices(%work) scale(0.5) outs(%acc, %max, %sum)
    : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  %o = ring.finalize %s#0, %s#1, %s#2 outs(%out) : (!b, !r, !r, !b) -> !b
  return %o : !b
}

// -----

// Nothing to verify: no rank function, or only its declaration.
module {
  func.func @host(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func private @declared(tensor<4xf32>) -> tensor<4xf32> attributes {ring.rank_of = @host}
}
