// RUN: split-file %s %t
// DEFINE: %{ranks} = 4
// DEFINE: %{file} = %t/full.mlir
// DEFINE: %{form3} = ring-opt %{file} --ring-shard-attention=ranks=%{ranks} --ring-classify-blocks
// DEFINE: %{distance} = 1
// DEFINE: %{pipeline} = %{form3} --ring-pipeline-rounds=prefetch-distance=%{distance}
// DEFINE: %{remarks} = %{pipeline} --remarks-filter=ring-pipeline-rounds --remark-policy=all -o /dev/null 2>&1
// DEFINE: %{check} = FileCheck %s --implicit-check-not=ring.permute --implicit-check-not=scf.if --implicit-check-not=arith.cmpi --implicit-check-not=ring.online_attention --check-prefix

//===----------------------------------------------------------------------===//
// Distances on four ranks
//===----------------------------------------------------------------------===//

// One transfer in flight: a prologue, two rounds as a loop, and two that start
// nothing. No guard is left.
// RUN: %{pipeline} --canonicalize | %{check} D1
// D1-LABEL: func.func private @full_rank(
// D1-SAME:    %[[Q:[^:]*]]: {{[^:]*}}, %[[K:[^:]*]]: {{[^:]*}}, %[[V:[^:]*]]: {{[^:]*}})
// D1-SAME:    ring.slots = 2
// D1-DAG:     %[[C0:.*]] = arith.constant 0 : index
// D1-DAG:     %[[C1:.*]] = arith.constant 1 : index
// D1-DAG:     %[[C2:.*]] = arith.constant 2 : index
// D1-DAG:     %[[C3:.*]] = arith.constant 3 : index
// D1:         %[[F:.*]] = ring.permute_start %[[K]], %[[V]] on @ring axis 0
// D1:         %[[L:.*]]:6 = scf.for %[[T:.*]] = %[[C0]] to %[[C2]] step %[[C1]] iter_args(%[[A:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}}, %[[KB:.*]] = %[[K]], %[[VB:.*]] = %[[V]], %[[FB:.*]] = %[[F]])
// D1:           %[[OWNER:.*]] = ring.owner %[[T]] on @ring axis 0
// D1:           %[[W:.*]] = ring.slices at(%{{.*}}, %[[OWNER]] in
// D1:           %[[N:.*]]:3 = ring.online_attention %[[Q]], %[[KB]], %[[VB]] slices(%[[W]]) {{.*}} outs(%[[A]], %[[M]], %[[S]])
// D1:           %[[B:.*]]:2 = ring.permute_wait %[[FB]]
// D1:           %[[G:.*]] = ring.permute_start %[[B]]#0, %[[B]]#1 on @ring axis 0
// D1:           scf.yield %[[N]]#0, %[[N]]#1, %[[N]]#2, %[[B]]#0, %[[B]]#1, %[[G]]
// D1:         %[[O2:.*]] = ring.owner %[[C2]] on @ring axis 0
// D1:         %[[W2:.*]] = ring.slices at(%{{.*}}, %[[O2]] in
// D1:         %[[N2:.*]]:3 = ring.online_attention %[[Q]], %[[L]]#3, %[[L]]#4 slices(%[[W2]]) {{.*}} outs(%[[L]]#0, %[[L]]#1, %[[L]]#2)
// D1:         %[[B2:.*]]:2 = ring.permute_wait %[[L]]#5
// D1:         %[[O3:.*]] = ring.owner %[[C3]] on @ring axis 0
// D1:         %[[W3:.*]] = ring.slices at(%{{.*}}, %[[O3]] in
// D1:         %[[N3:.*]]:3 = ring.online_attention %[[Q]], %[[B2]]#0, %[[B2]]#1 slices(%[[W3]]) {{.*}} outs(%[[N2]]#0, %[[N2]]#1, %[[N2]]#2)
// D1:         ring.finalize %[[N3]]#0, %[[N3]]#1, %[[N3]]#2

// Two: the second sends on what the first, not waited for yet, will deliver.
// REDEFINE: %{distance} = 2
// RUN: %{pipeline} --cse | %{check} D2
// D2:      ring.slots = 3
// D2:      %[[F1:.*]] = ring.permute_start %{{.*}}, %{{.*}} on @ring axis 0 : tensor
// D2:      %[[F2:.*]] = ring.permute_start %[[F1]] on @ring axis 0 : !ring.future
// D2:      %[[L:.*]]:7 = scf.for {{.*}}, %[[G1:[^ ]*]] = %[[F1]], %[[G2:[^ ]*]] = %[[F2]])
// D2:        ring.online_attention
// D2:        %[[B:.*]]:2 = ring.permute_wait %[[G1]]
// D2:        %[[G3:.*]] = ring.permute_start %[[G2]] on @ring axis 0 : !ring.future
// D2:        scf.yield {{.*}}, %[[B]]#0, %[[B]]#1, %[[G2]], %[[G3]]
// D2:      ring.online_attention %{{.*}}, %[[L]]#3, %[[L]]#4
// D2:      %[[B2:.*]]:2 = ring.permute_wait %[[L]]#5
// D2:      ring.online_attention %{{.*}}, %[[B2]]#0, %[[B2]]#1
// D2:      %[[B3:.*]]:2 = ring.permute_wait %[[L]]#6
// D2:      ring.online_attention %{{.*}}, %[[B3]]#0, %[[B3]]#1

// Three, all there are: no loop is left. A longer distance is the same.
// REDEFINE: %{distance} = 3
// RUN: %{pipeline} -o %t.d3
// RUN: %{check} D3 --implicit-check-not=scf.for < %t.d3
// D3: ring.slots = 3
// D3: %[[F1:.*]] = ring.permute_start %{{.*}}, %{{.*}} on @ring axis 0 : tensor
// D3: %[[F2:.*]] = ring.permute_start %[[F1]] on
// D3: %[[F3:.*]] = ring.permute_start %[[F2]] on
// D3: ring.online_attention
// D3: %[[B1:.*]]:2 = ring.permute_wait %[[F1]]
// D3: ring.online_attention %{{.*}}, %[[B1]]#0, %[[B1]]#1
// D3: %[[B2:.*]]:2 = ring.permute_wait %[[F2]]
// D3: ring.online_attention %{{.*}}, %[[B2]]#0, %[[B2]]#1
// D3: %[[B3:.*]]:2 = ring.permute_wait %[[F3]]
// D3: ring.online_attention %{{.*}}, %[[B3]]#0, %[[B3]]#1
// REDEFINE: %{distance} = 4
// RUN: %{pipeline} | diff %t.d3 -
// REDEFINE: %{distance} = 9223372036854775807
// RUN: %{pipeline} | diff %t.d3 -

//===----------------------------------------------------------------------===//
// Few rounds
//===----------------------------------------------------------------------===//

// One rank: no transfer, no loop.
// REDEFINE: %{distance} = 2
// REDEFINE: %{ranks} = 1
// RUN: %{pipeline} | %{check} NONE --implicit-check-not=scf.for
// NONE: ring.slots = 0
// NONE: ring.online_attention

// One round, since the window reaches no other block.
// REDEFINE: %{ranks} = 4
// REDEFINE: %{file} = %t/own.mlir
// RUN: %{pipeline} | %{check} NONE --implicit-check-not=scf.for
// RUN: %{remarks} | FileCheck %s --check-prefix=OWN --implicit-check-not=Exposed
// OWN: bytes_per_rank=0, slots=0, transfers=0

// Two of four rounds: one transfer.
// REDEFINE: %{file} = %t/window.mlir
// RUN: %{pipeline} | %{check} TWO --implicit-check-not=scf.for
// TWO: ring.slots = 1
// TWO: %[[F1:.*]] = ring.permute_start
// TWO: ring.online_attention
// TWO: %[[B1:.*]]:2 = ring.permute_wait %[[F1]]
// TWO: ring.online_attention %{{.*}}, %[[B1]]#0, %[[B1]]#1

//===----------------------------------------------------------------------===//
// Counts in remarks
//===----------------------------------------------------------------------===//

// transfers * batch * kv_heads * Lk * (d + dv) * bytes, 3 * 2 * 3 * 3 * 20 * 2.
// REDEFINE: %{file} = %t/full.mlir
// REDEFINE: %{distance} = 1
// RUN: %{remarks} | FileCheck %s --check-prefix=COUNTS --implicit-check-not=Exposed
// COUNTS: full.mlir:2:8: remark: [Passed] PipelineRounds | Category:ring-pipeline-rounds | Function=full_rank | bytes_per_rank=2160, slots=2, transfers=3
// Blocks are padded to the longest: 10 positions on 4 ranks are 3 a block.
// RUN: sed -e 's/x12x/x10x/g' %t/full.mlir > %t.ten.mlir
// REDEFINE: %{file} = %t.ten.mlir
// RUN: %{remarks} | FileCheck %s --check-prefix=TEN
// TEN: bytes_per_rank=2160, slots=2, transfers=3

// Sizes of run time: the same program, whose bytes nobody knows; nor whether a
// transfer is exposed.
// RUN: ring-opt %t/full.mlir --ring-shard-attention=ranks=4 --ring-classify-blocks --ring-pipeline-rounds | grep -c 'ring.permute_start\|ring.permute_wait\|ring.online_attention\|scf.for' > %t.static
// RUN: ring-opt %t/dynamic.mlir --ring-shard-attention=ranks=4 --ring-classify-blocks --ring-pipeline-rounds | grep -c 'ring.permute_start\|ring.permute_wait\|ring.online_attention\|scf.for' | diff %t.static -
// REDEFINE: %{file} = %t/dynamic.mlir
// RUN: %{remarks} | FileCheck %s --check-prefix=DYNAMIC --implicit-check-not=Exposed
// DYNAMIC: remark: [Passed] PipelineRounds | Category:ring-pipeline-rounds | Function=dynamic_rank | slots=2, transfers=3{{$}}

// A rank that sees nothing in a round has nothing to hide a transfer behind.
// REDEFINE: %{file} = %t/causal.mlir
// RUN: %{remarks} | FileCheck %s --check-prefix=EXPOSED
// EXPOSED: causal.mlir:2:8: remark: [Missed] ExposedTransfer | Category:ring-pipeline-rounds | Function=causal_rank
// EXPOSED-SAME: Reason="transfer 2 is exposed: rank 0 sees nothing in round 1"
// EXPOSED-SAME: zigzag
// EXPOSED-SAME: exposed_transfers_of_ranks=3
// With offsets nobody knows.
// REDEFINE: %{file} = %t/offsets.mlir
// RUN: %{remarks} | FileCheck %s --check-prefix=MOVED --implicit-check-not=Exposed
// MOVED: transfers=3
// Under zigzag each rank sees something in each round.
// RUN: ring-opt %t/causal.mlir --ring-shard-attention=ranks=4 --ring-apply-layout --ring-classify-blocks --ring-pipeline-rounds --remarks-filter=ring-pipeline-rounds --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=HIDDEN --implicit-check-not=Exposed
// HIDDEN: transfers=3

//===----------------------------------------------------------------------===//
// Again, and among other passes
//===----------------------------------------------------------------------===//

// REDEFINE: %{file} = %t/full.mlir
// RUN: %{pipeline} -o %t.once
// RUN: ring-opt --ring-pipeline-rounds=prefetch-distance=2 %t.once | diff %t.once -
// RUN: ring-opt --ring-pipeline-rounds --remarks-filter=ring-pipeline-rounds %t.once -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: [Missed] PipelineRounds | {{.*}} Reason="no loop of rounds that computes and then passes its blocks on: pipelined before, or changed"

// Canonicalization before it is no obstacle, also on one rank.
// RUN: %{form3} --canonicalize --cse --ring-pipeline-rounds=prefetch-distance=2 --cse | %{check} D2
// REDEFINE: %{ranks} = 1
// RUN: %{form3} --canonicalize --cse --ring-pipeline-rounds | %{check} CANONICAL --implicit-check-not=scf.for
// CANONICAL: ring.online_attention

// RUN: not ring-opt --ring-pipeline-rounds=prefetch-distance=0 %t.once -o /dev/null 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: prefetch-distance is 0, expected 1 or more

//===----------------------------------------------------------------------===//
// Loops that are something else stay as they are
//===----------------------------------------------------------------------===//

// What the rewrite would drop or change: it must not touch it, and says so.
// DEFINE: %{edit} = unset
// DEFINE: %{edited} = sed -e %{edit} %t/loop.mlir > %t.edited && ring-opt %t.edited -o %t.before && ring-opt %t.before --ring-pipeline-rounds -o %t.after && diff %t.before %t.after
// A loop of rounds as it should be is rewritten.
// RUN: ring-opt %t/loop.mlir --ring-pipeline-rounds | %{check} LOOP
// LOOP: ring.permute_start
// LOOP: ring.online_attention
// LOOP: ring.permute_wait
// LOOP: ring.permute_start
// LOOP: ring.online_attention
// LOOP: ring.permute_wait
// LOOP: ring.online_attention
// LOOP: call @tick

// The blocks are swapped on their way.
// REDEFINE: %{edit} = 's/permute_start %%kb, %%vb/permute_start %%vb, %%kb/'
// RUN: %{edited}
// What arrives is swapped.
// REDEFINE: %{edit} = 's/yield %%k1, %%v1/yield %%v1, %%k1/'
// RUN: %{edited}
// Without a transfer the blocks are swapped.
// REDEFINE: %{edit} = 's/yield %%kb, %%vb/yield %%vb, %%kb/'
// RUN: %{edited}
// Something else happens with the transfer.
// REDEFINE: %{edit} = 's/branch: nothing/\n func.call @tick() : () -> ()/'
// RUN: %{edited}
// The guard has another round.
// REDEFINE: %{edit} = 's/addi %%i, %%c1/addi %%i, %%c2/'
// RUN: %{edited}
// Another bound.
// REDEFINE: %{edit} = 's/cmpi slt, %%next, %%n/cmpi slt, %%next, %%c2/'
// RUN: %{edited}
// Others use the guard.
// REDEFINE: %{edit} = 's/guard: nothing/\n func.call @see(%%more) : (i1) -> ()/'
// RUN: %{edited}
// The state is where a block should be.
// REDEFINE: %{edit} = 's/%%kv#0, %%kv#1 :/%%kv#1, %%kv#0 :/'
// RUN: %{edited}

//===----------------------------------------------------------------------===//
// Loops that no ring has
//===----------------------------------------------------------------------===//

// RUN: sed -e 's/constant 3 :/constant -1 :/' %t/loop.mlir | not ring-opt --ring-pipeline-rounds -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: <stdin>:16:10: error: loop has -1 rounds, expected 1 to 3
// RUN: sed -e 's/constant 3 :/constant 0 :/' %t/loop.mlir | not ring-opt --ring-pipeline-rounds -o /dev/null 2>&1 | FileCheck %s --check-prefix=NO_ROUND
// NO_ROUND: <stdin>:16:10: error: loop has 0 rounds, expected 1 to 3
// More rounds than ranks, which would be peeled one by one.
// RUN: sed -e 's/constant 3 :/constant 1000000000000 :/' %t/loop.mlir | not ring-opt --ring-pipeline-rounds=prefetch-distance=1000000000000 -o /dev/null 2>&1 | FileCheck %s --check-prefix=FOREVER
// FOREVER: <stdin>:16:10: error: loop has 1000000000000 rounds, expected 1 to 3

// A call in the loop is kept although nobody uses its result.
// RUN: sed -e 's/body: nothing/\n %%x = func.call @count() : () -> index/' %t/loop.mlir | ring-opt --ring-pipeline-rounds | FileCheck %s --check-prefix=CALL
// CALL-COUNT-3: call @count

//--- full.mlir
func.func @full(%q: tensor<2x3x12x4xbf16>, %k: tensor<2x3x12x4xbf16>, %v: tensor<2x3x12x16xbf16>) -> tensor<2x3x12x16xbf16> {
  %o = ring.attention %q, %k, %v : (tensor<2x3x12x4xbf16>, tensor<2x3x12x4xbf16>, tensor<2x3x12x16xbf16>) -> tensor<2x3x12x16xbf16>
  return %o : tensor<2x3x12x16xbf16>
}

//--- dynamic.mlir
func.func @dynamic(%q: tensor<?x6x?x8xbf16>, %k: tensor<?x3x?x8xbf16>, %v: tensor<?x3x?x12xbf16>) -> tensor<?x6x?x12xbf16> {
  %o = ring.attention %q, %k, %v mask(<causal, align = bottom_right>)
    : (tensor<?x6x?x8xbf16>, tensor<?x3x?x8xbf16>, tensor<?x3x?x12xbf16>) -> tensor<?x6x?x12xbf16>
  return %o : tensor<?x6x?x12xbf16>
}

//--- causal.mlir
func.func @causal(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<causal>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- offsets.mlir
func.func @offsets(%x: tensor<1x2x256x4xf32>, %n: tensor<1xi32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x offsets(%n) mask(<causal>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1xi32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- window.mlir
func.func @window(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<window = [16, 0]>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- own.mlir
func.func @own(%x: tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32> {
  %o = ring.attention %x, %x, %x mask(<window = [0, 0]>) : (tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>, tensor<1x2x256x4xf32>) -> tensor<1x2x256x4xf32>
  return %o : tensor<1x2x256x4xf32>
}

//--- loop.mlir
!b = tensor<1x1x?x4xf32>
!r = tensor<1x1x?xf32>
!t = tensor<3x5xi64>
!f = !ring.future<!b, !b>
shard.grid @ring(shape = 3)
func.func private @tick()
func.func private @see(i1)
func.func private @count() -> index
func.func private @r(%q: !b, %k: !b, %v: !b, %acc: !b, %max: !r, %sum: !r) -> !b attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 8, 8, 1], [1, 8, 8, 8, 1], [2, 16, 8, 8, 1]]> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = arith.constant 3 : index
  %rank = shard.process_linear_index on @ring : index
  %r:5 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %acc, %m = %max, %l = %sum, %kb = %k, %vb = %v) -> (!b, !r, !r, !b, !b) {
    %owner = ring.owner %i on @ring axis 0
    %s = ring.slices at(%rank, %owner in %t, %t) whole : !t, !t
    // body: nothing
    %st:3 = ring.online_attention %q, %kb, %vb slices(%s) scale(0.5) outs(%a, %m, %l) : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
    %next = arith.addi %i, %c1 : index
    %more = arith.cmpi slt, %next, %n : index
    // guard: nothing
    %kv:2 = scf.if %more -> (!b, !b) {
      // branch: nothing
      %f = ring.permute_start %kb, %vb on @ring axis 0 : !b, !b
      %k1, %v1 = ring.permute_wait %f : !f
      scf.yield %k1, %v1 : !b, !b
    } else {
      scf.yield %kb, %vb : !b, !b
    }
    scf.yield %st#0, %st#1, %st#2, %kv#0, %kv#1 : !b, !r, !r, !b, !b
  }
  func.call @tick() : () -> ()
  return %r#0 : !b
}
