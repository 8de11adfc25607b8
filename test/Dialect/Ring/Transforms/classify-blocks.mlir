// RUN: split-file %s %t
// DEFINE: %{ranks} = 4
// DEFINE: %{layout} = contiguous
// DEFINE: %{file} = %t/causal.mlir
// DEFINE: %{form2} = ring-opt %{file} --ring-shard-attention=ranks=%{ranks} --ring-apply-layout=layout=%{layout}
// DEFINE: %{classify} = %{form2} --ring-classify-blocks
// DEFINE: %{remarks} = %{classify} --remarks-filter=ring-classify-blocks --remark-policy=all -o /dev/null 2>&1
// DEFINE: %{check} = FileCheck %s --check-prefix

//===----------------------------------------------------------------------===//
// What changes: the work lists, and the bound of loop and guard
//===----------------------------------------------------------------------===//

// A causal mask hides half of the pairs and no round.
// RUN: %{classify} --cse | %{check} CAUSAL
// CAUSAL:      %[[N:.*]] = arith.constant 4 : index
// CAUSAL:      scf.for %{{.*}} = %{{.*}} to %[[N]] step
// CAUSAL:        ring.slices at(%{{.*}}, %{{.*}} in %{{.*}}, %{{.*}}) mask(<causal>) : tensor
// CAUSAL:        arith.cmpi slt, %{{.*}}, %[[N]]
// CAUSAL-NOT:  whole

// A window of 17 keys on blocks of 64 sees this block and the one before.
// REDEFINE: %{file} = %t/window.mlir
// RUN: %{classify} --cse | %{check} WINDOW
// WINDOW:      %[[R:.*]] = arith.constant 2 : index
// WINDOW:      scf.for %{{.*}} = %{{.*}} to %[[R]] step
// WINDOW:        ring.slices at(%{{.*}}, %{{.*}} in %{{.*}}, %{{.*}}) mask(<causal, window = [16, 0]>) : tensor
// WINDOW:        arith.cmpi slt, %{{.*}}, %[[R]]
// RUN: %{remarks} | %{check} WINDOW-REMARK
// WINDOW-REMARK: Function=window_rank
// WINDOW-REMARK-SAME: rounds=2, rounds_skipped=2, visible_pairs=4216

// Striped, each rank sees positions of each other one.
// REDEFINE: %{layout} = striped
// RUN: %{remarks} | %{check} STRIPED
// STRIPED: rounds=4, rounds_skipped=0, visible_pairs=4216

// A window of the query itself needs no other block, in any layout; a window
// to the right reaches the next rank, whose block comes last.
// REDEFINE: %{file} = %t/own.mlir
// RUN: %{remarks} | %{check} OWN
// OWN: balance=1.000000e+00
// OWN-SAME: round_balance=1.000000e+00, rounds=1, rounds_skipped=3, visible_pairs=256
// REDEFINE: %{layout} = contiguous
// REDEFINE: %{file} = %t/right.mlir
// RUN: %{remarks} | %{check} RIGHT
// RIGHT: rounds=4, rounds_skipped=0, visible_pairs=511

// In another order of the ring the ranks before are elsewhere.
// RUN: cat %t/ordered.mlir %t/window.mlir | ring-opt --ring-shard-attention=grid=wires --ring-classify-blocks --remarks-filter=ring-classify-blocks -o /dev/null 2>&1 | %{check} ORDERED
// ORDERED: rounds=4, rounds_skipped=0, visible_pairs=4216

// Nothing is visible at all: one round, which computes nothing.
// REDEFINE: %{file} = %t/nothing.mlir
// REDEFINE: %{ranks} = 3
// RUN: %{remarks} | %{check} NOTHING
// NOTHING: balance=1.000000e+00, {{.*}} round_balance=1.000000e+00, rounds=1, rounds_skipped=2, visible_pairs=0

// No mask: everything is visible, and the work lists say what is full.
// REDEFINE: %{file} = %t/full.mlir
// RUN: %{classify} | %{check} FULL
// FULL: ring.slices at(%{{.*}}, %{{.*}} in %{{.*}}, %{{.*}}) : tensor
// FULL-NOT: whole
// RUN: %{remarks} | %{check} FULL-REMARK
// FULL-REMARK: balance=1.000000e+00, pairs_skipped_percent=0.000000e+00, round_balance=1.000000e+00, rounds=3, rounds_skipped=0, visible_pairs=144

//===----------------------------------------------------------------------===//
// Balance under a causal mask
//===----------------------------------------------------------------------===//

// Contiguous 2 - 1/N, up to 1/S; zigzag at most 1.01.
// REDEFINE: %{file} = %t/causal.mlir
// REDEFINE: %{ranks} = 4
// RUN: %{remarks} | %{check} CONTIGUOUS4
// CONTIGUOUS4: causal.mlir:2:8: remark: [Passed] ClassifyBlocks | Category:ring-classify-blocks | Function=causal_rank
// CONTIGUOUS4-SAME: balance=1.74{{[0-9]*}}e+00, pairs_skipped_percent=4.98{{[0-9]*}}e+01, round_balance={{.*}}, rounds=4, rounds_skipped=0, visible_pairs=32896
// REDEFINE: %{ranks} = 2
// RUN: %{remarks} | %{check} CONTIGUOUS2
// CONTIGUOUS2: balance=1.49{{[0-9]*}}e+00
// REDEFINE: %{ranks} = 1
// RUN: %{remarks} | %{check} ONE
// ONE: balance=1.000000e+00, {{.*}} round_balance=1.000000e+00, rounds=1, rounds_skipped=0
// REDEFINE: %{layout} = zigzag
// REDEFINE: %{ranks} = 4
// RUN: %{remarks} | %{check} ZIGZAG
// REDEFINE: %{ranks} = 2
// RUN: %{remarks} | %{check} ZIGZAG
// REDEFINE: %{layout} = balanced
// RUN: %{remarks} | %{check} ZIGZAG
// ZIGZAG: balance=1.00{{[0-9]*}}e+00
// REDEFINE: %{layout} = striped
// REDEFINE: %{ranks} = 4
// RUN: %{remarks} | %{check} STRIPES
// STRIPES: balance=1.01{{[0-9]*}}e+00

//===----------------------------------------------------------------------===//
// Again, and on what is no loop of rounds
//===----------------------------------------------------------------------===//

// REDEFINE: %{file} = %t/window.mlir
// REDEFINE: %{layout} = contiguous
// RUN: %{classify} -o %t.once
// RUN: ring-opt --ring-classify-blocks %t.once | diff %t.once -
// RUN: ring-opt --ring-classify-blocks --remarks-filter=ring %t.once -o /dev/null 2>&1 | count 0

// Pipelined already: the rounds are what they are.
// RUN: %{form2} --ring-pipeline-rounds --ring-classify-blocks --remarks-filter=ring-classify-blocks 2>&1 | %{check} PIPELINED
// PIPELINED: rounds=4, rounds_skipped=0
// PIPELINED: ring.slices
// PIPELINED-NOT: whole

// A bound that others use as well stays theirs.
// RUN: ring-opt %t/shared_bound.mlir --ring-classify-blocks | %{check} BOUND
// BOUND:       %[[N:.*]] = arith.constant 4 : index
// BOUND:       call @use(%[[N]])
// BOUND:       %[[R:.*]] = arith.constant 2 : index
// BOUND:       scf.for %{{.*}} = %{{.*}} to %[[R]] step

//===----------------------------------------------------------------------===//
// What is known at run time only
//===----------------------------------------------------------------------===//

// Ids and lengths hide more than the mask does, never less: rounds without a
// visible pair are gone, and the numbers are bounds.
// REDEFINE: %{ranks} = 4
// REDEFINE: %{layout} = contiguous
// REDEFINE: %{file} = %t/documents.mlir
// RUN: %{classify} --cse | %{check} DOCUMENTS
// DOCUMENTS:   %[[R:.*]] = arith.constant 2 : index
// DOCUMENTS:   scf.for %{{.*}} = %{{.*}} to %[[R]] step
// DOCUMENTS:     ring.slices at({{.*}}) segments({{.*}}) lengths({{.*}}) mask(<causal, window = [16, 0]>) : tensor
// RUN: %{remarks} | %{check} DOCUMENTS-REMARK
// DOCUMENTS-REMARK: [Passed] ClassifyBlocks {{.*}} rounds=2, rounds_skipped=2, visible_pairs=4216
// DOCUMENTS-REMARK: [Analysis] ClassifyBlocks {{.*}} Remark="ids, lengths or offsets are known at run time only

// Offsets may move the queries anywhere: no round is skipped.
// REDEFINE: %{file} = %t/offsets.mlir
// RUN: %{classify} --cse | %{check} OFFSETS
// OFFSETS:     %[[R:.*]] = arith.constant 4 : index
// OFFSETS:     scf.for %{{.*}} = %{{.*}} to %[[R]] step
// OFFSETS:       ring.slices at({{.*}}) offsets({{.*}}) mask(<causal, window = [16, 0]>) : tensor
// RUN: %{remarks} | %{check} OFFSETS-REMARK
// OFFSETS-REMARK: [Passed] ClassifyBlocks {{.*}} Remark="offsets are known at run time only", rounds=4{{$}}
// OFFSETS-REMARK-NOT: ClassifyBlocks

// Tables of run time: all rounds, and `whole` is gone all the same.
// REDEFINE: %{file} = %t/dynamic.mlir
// RUN: %{classify} --cse -o %t.dynamic
// RUN: %{check} DYNAMIC < %t.dynamic
// RUN: ring-opt --ring-classify-blocks %t.dynamic | diff %t.dynamic -
// DYNAMIC:     func.func private @dynamic_rank(
// DYNAMIC:     %[[R:.*]] = arith.constant 4 : index
// DYNAMIC:     scf.for %{{.*}} = %{{.*}} to %[[R]] step
// DYNAMIC:       ring.slices at({{.*}}) mask(<causal, window = [16, 0]>) : tensor<?x5xi64>, tensor<?x5xi64>
// DYNAMIC-NOT: whole
// RUN: %{remarks} | %{check} DYNAMIC-REMARK
// DYNAMIC-REMARK:     [Passed] ClassifyBlocks | Category:ring-classify-blocks | Function=dynamic_rank | Remark="tables are known at run time only", rounds=4{{$}}
// DYNAMIC-REMARK-NOT: remark:

//===----------------------------------------------------------------------===//
// Programs that make no sense
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/wrong.mlir --ring-classify-blocks --split-input-file --verify-diagnostics -o /dev/null

//--- causal.mlir
func.func @causal(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<causal>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- window.mlir
func.func @window(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<causal, window = [16, 0]>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- own.mlir
func.func @own(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<window = [0, 0]>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- right.mlir
func.func @right(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<window = [0, 1]>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- ordered.mlir
shard.grid @wires(shape = 4) {ring.order = [0, 2, 1, 3]}

//--- nothing.mlir
func.func @nothing(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x0x4xf32>) -> tensor<1x2x2x4xf32> {
  %o = ring.attention %q, %k, %k : (tensor<1x2x2x4xf32>, tensor<1x2x0x4xf32>, tensor<1x2x0x4xf32>) -> tensor<1x2x2x4xf32>
  return %o : tensor<1x2x2x4xf32>
}

//--- full.mlir
func.func @full(%x: tensor<1x2x12x4xf32>) -> tensor<1x2x12x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x2x12x4xf32>, tensor<1x2x12x4xf32>, tensor<1x2x12x4xf32>) -> tensor<1x2x12x4xf32>
  return %o : tensor<1x2x12x4xf32>
}

//--- documents.mlir
func.func @documents(%x: tensor<1x2x256x4xf32>, %ids: tensor<1x256xi32>, %n: tensor<1xi32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x segments(%ids, %ids) lengths(%n) mask(<causal, window = [16, 0]>)
    : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x256xi32>, tensor<1x256xi32>, tensor<1xi32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- offsets.mlir
func.func @offsets(%x: tensor<1x2x256x4xf32>, %n: tensor<1xi32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x offsets(%n) mask(<causal, window = [16, 0]>)
    : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1xi32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- dynamic.mlir
func.func @dynamic(%x: tensor<1x2x?x4xf32>) -> tensor<1x2x?x4xf32> {
  %o = ring.attention %x, %x, %x mask(<causal, window = [16, 0]>)
    : (tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>) -> tensor<1x2x?x4xf32>
  return %o : tensor<1x2x?x4xf32>
}

//--- shared_bound.mlir
shard.grid @ring(shape = 4)
func.func private @use(index)
func.func private @r(%q: tensor<1x1x?x4xf32>, %k: tensor<1x1x?x4xf32>, %v: tensor<1x1x?x4xf32>, %acc: tensor<1x1x?x4xf32>, %max: tensor<1x1x?xf32>, %sum: tensor<1x1x?xf32>) -> tensor<1x1x?x4xf32> attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 8, 8, 1], [1, 8, 8, 8, 1], [2, 16, 8, 8, 1], [3, 24, 8, 8, 1]]> : tensor<4x5xi64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4 : index
  call @use(%n) : (index) -> ()
  %rank = shard.process_linear_index on @ring : index
  %r:5 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>) {
    %owner = ring.owner %i on @ring axis 0
    %s = ring.slices at(%rank, %owner in %t, %t) mask(<causal, window = [3, 0]>) whole : tensor<4x5xi64>, tensor<4x5xi64>
    %st:3 = ring.online_attention %q, %kb, %vb slices(%s) scale(0.5) outs(%a, %m, %l) : (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, !ring.slices, tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>) -> (tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
    %next = arith.addi %i, %c1 : index
    %more = arith.cmpi slt, %next, %n : index
    %kv:2 = scf.if %more -> (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>) {
      %f = ring.permute_start %kb, %vb on @ring axis 0 : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>
      %k1, %v1 = ring.permute_wait %f : !ring.future<tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>>
      scf.yield %k1, %v1 : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>
    } else {
      scf.yield %kb, %vb : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>
    }
    scf.yield %st#0, %st#1, %st#2, %kv#0, %kv#1 : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>
  }
  return %r#0 : tensor<1x1x?x4xf32>
}

//--- wrong.mlir
!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
// expected-error @below {{rank function without ring.slices}}
func.func private @empty(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
// expected-error @below {{rank function takes ('tensor<1x1x?x4xf32>', 'tensor<1x1x?x4xf32>'), expected query, key and value of 4 dimensions first}}
func.func private @short(%q: !b, %k: !b) -> !b attributes {ring.rank_of = @f} {
  return %q : !b
}

// -----

// The rank function is only declared.
func.func private @declared() attributes {ring.rank_of = @f}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @table_at_run_time(%q: !b, %k: !b, %v: !b, %t: tensor<2x5xi64>) -> !b attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // An argument is computed by the host; what the rank computes nobody knows.
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @table_of_the_rank(%q: !b, %k: !b, %v: !b, %t: tensor<2x5xi64>) -> !b attributes {ring.rank_of = @f} {
  %u = arith.addi %t, %t : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{layout table is neither a constant nor an argument}}
  %s = ring.slices at(%rank, %owner in %t, %u) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
// expected-error @below {{rank function in which no op names the grid}}
func.func private @grid_unnamed(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %s = ring.slices at(%c0, %c0 in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

// Only the rank's index names the grid: whether it is a ring nobody has asked.
!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 0)
func.func private @no_ranks(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<> : tensor<0x5xi64>
  // expected-error @below {{axis 0 of grid @ring has 0 ranks, expected 1 to 1024}}
  %rank = shard.process_linear_index on @ring : index
  %s = ring.slices at(%rank, %rank in %t, %t) whole : tensor<0x5xi64>, tensor<0x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 1025)
func.func private @many_ranks(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<> : tensor<0x5xi64>
  // expected-error @below {{axis 0 of grid @ring has 1025 ranks, expected 1 to 1024}}
  %rank = shard.process_linear_index on @ring : index
  %s = ring.slices at(%rank, %rank in %t, %t) whole : tensor<0x5xi64>, tensor<0x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @stride_0(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 0, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{entry 0 of a layout table has stride 0, expected its block 2 or more}}
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @overlap(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %u = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 1, 2]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{entry 1 of a layout table has stride 1, expected its block 2 or more}}
  %s = ring.slices at(%rank, %owner in %t, %u) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @negative(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, -2, 2, -1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{entry 0 of a layout table begins at 0 and has -1 blocks of -2, expected no negative number}}
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @no_rank(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [2, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{entry 1 of a layout table is of rank 2, expected 0 to 1}}
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @order(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[1, 0, 2, 2, 1], [0, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{entry 1 of a layout table is of rank 0 after rank 1, expected ascending ranks}}
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @overflow(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 4611686018427387904, 4], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-error @below {{entry 0 of a layout table goes beyond position 4611686018427387904}}
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

// Entries that hold nothing are no error.
!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @nothing(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 0, 0, 3], [1, 0, 4, 4, 1], [1, 9, 2, 0, 0]]> : tensor<3x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) whole : tensor<3x5xi64>, tensor<3x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @masks(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  // expected-note @below {{the other is here}}
  %s = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) whole : tensor<2x5xi64>, tensor<2x5xi64>
  // expected-error @below {{tables or mask differ from those of another work list of the function}}
  %u = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}

// -----

// Pairs that could be counted only block by block.
!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 1)
func.func private @strides(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 1, 2, 1073741824]]> : tensor<1x5xi64>
  %u = arith.constant dense<[[0, 0, 1, 3, 1073741824]]> : tensor<1x5xi64>
  %rank = shard.process_linear_index on @ring : index
  // expected-error @below {{counting the visible pairs of the layout tables takes 357913942 steps, expected 67108864 or less: blocks of one stride, or fewer of them}}
  %s = ring.slices at(%rank, %rank in %t, %u) mask(<causal, align = top_left>) whole : tensor<1x5xi64>, tensor<1x5xi64>
  return %q : !b
}

// -----

!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 1)
func.func private @pairs(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 4294967296, 4294967296, 1]]> : tensor<1x5xi64>
  %rank = shard.process_linear_index on @ring : index
  // expected-error @below {{layout tables of 4294967296 queries and 4294967296 keys, expected fewer than 2^63 pairs of them}}
  %s = ring.slices at(%rank, %rank in %t, %t) whole : tensor<1x5xi64>, tensor<1x5xi64>
  return %q : !b
}

// -----

// Long sequences with short chunks take no time.
!b = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @long(%q: !b, %k: !b, %v: !b) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 1, 2, 1073741824], [1, 1, 1, 2, 1073741824]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) mask(<causal, chunk = 3>) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !b
}
