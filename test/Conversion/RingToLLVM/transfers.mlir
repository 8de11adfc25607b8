// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --implicit-check-not=shard. --check-prefix

// A rank function gets its context first and returns a status. Each call that
// can fail is checked, and the first bad status goes to the one way out, which
// tells the others how this rank has ended.
// RUN: ring-opt %t/rank.mlir --convert-ring-to-llvm | %{check} RANK
// RANK-LABEL: func.func private @r(
// RANK-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %[[K:[^:]*]]: memref<1x1x?x4xf16, {{[^%]*}}, %[[V:[^:]*]]: memref<1x1x?x6xf16, {{.*}}) -> i32
// RANK-SAME:    llvm.emit_c_interface
// The ranks it was compiled for, slots, the fingerprint, and its meaning.
// RANK-DAG:     %[[PRINT:.*]] = arith.constant 77 : i64
// RANK-DAG:     %[[N:.*]] = arith.constant 4 : i32
// RANK-DAG:     %[[SLOTS:.*]] = arith.constant 3 : i32
// RANK-DAG:     %[[PROGRAM:.*]] = llvm.mlir.addressof @"ring_string_4 ranks"
// RANK:         %[[S:.*]] = call @ring_begin(%[[CTX]], %[[N]], %[[SLOTS]], %[[PRINT]], %[[PROGRAM]])
// RANK:         %[[BAD:.*]] = arith.cmpi ne, %[[S]], %{{.*}} : i32
// RANK:         cf.cond_br %[[BAD]], ^[[EXIT:.*]](%[[S]] : i32), ^
// RANK:         %[[RANK:.*]] = call @ring_rank(%[[CTX]])
// RANK:         arith.index_cast %[[RANK]] : i32 to index

// One message group of two tensors, from the first element of each: the
// descriptor's offset is part of the address. Its type is told by its bytes.
// RANK-DAG:     %[[TWO:.*]] = arith.constant 2 : i32
// RANK-DAG:     %[[KD:.*]] = builtin.unrealized_conversion_cast %[[K]] : memref<1x1x?x4xf16, {{.*}} to !llvm.struct
// RANK:         %[[BASE:.*]] = llvm.extractvalue %[[KD]][1]
// RANK:         %[[OFFSET:.*]] = llvm.extractvalue %[[KD]][2]
// RANK:         llvm.getelementptr %[[BASE]][%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, f16
// RANK:         builtin.unrealized_conversion_cast %[[V]]
// RANK:         %[[S1:.*]] = call @ring_permute_start(%[[CTX]], %{{.*}}, %{{.*}}, %[[TWO]], %{{.*}}, %[[T1:[^ ]*]]) :
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S1]] : i32), ^
// RANK:         %[[TICKET:.*]] = llvm.load %[[T1]] : !llvm.ptr -> i64

// A future that is sent on is a ticket.
// RANK:         %[[S2:.*]] = call @ring_permute_forward(%[[CTX]], %{{.*}}, %{{.*}}, %[[TICKET]], %[[T2:[^ ]*]]) :
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S2]] : i32), ^
// RANK:         %[[SECOND:.*]] = llvm.load %[[T2]] : !llvm.ptr -> i64

// The addresses are what the transport says.
// RANK:         %[[S3:.*]] = call @ring_permute_wait(%[[CTX]], %[[TICKET]], %{{.*}}, %[[GOT1:[^ ]*]]) :
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S3]] : i32), ^
// RANK:         %[[S4:.*]] = call @ring_permute_wait(%[[CTX]], %[[SECOND]], %{{.*}}, %[[GOT:[^ ]*]]) :
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S4]] : i32), ^
// RANK:         llvm.getelementptr %[[GOT]][0]
// RANK:         %[[K2:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct{{.*}} to memref<1x1x?x4xf16,
// RANK:         llvm.getelementptr %[[GOT]][1]
// RANK:         %[[V2:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct{{.*}} to memref<1x1x?x6xf16,
// RANK:         memref.load %[[K2]]
// RANK:         memref.store %{{.*}}, %[[V2]]
// RANK:         cf.br ^[[EXIT]](%[[ZERO:.*]] : i32)
// RANK:       ^[[EXIT]](%[[STATUS:.*]]: i32):
// RANK-NEXT:    %[[END:.*]] = call @ring_end(%[[CTX]], %[[STATUS]])
// RANK-NEXT:    return %[[END]] : i32

// Block arguments that carry futures carry tickets.
// RUN: ring-opt %t/loop.mlir --convert-scf-to-cf --convert-ring-to-llvm | %{check} LOOP --implicit-check-not=ring.future
// LOOP:       %[[FIRST:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// LOOP:       cf.br ^[[HEAD:.*]](%{{.*}}, %[[FIRST]] : index, i64)
// LOOP:     ^[[HEAD]](%{{.*}}: index, %[[CARRIED:.*]]: i64):
// LOOP:       %[[NEXT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// LOOP:       cf.br ^[[HEAD]](%{{.*}}, %[[NEXT]] : index, i64)
// LOOP:       call @ring_permute_wait(%{{.*}}, %[[CARRIED]],
// Memory for calls is taken once a function, not once a round.
// LOOP-NOT:   llvm.alloca

// Without slots and fingerprint: one slot, print 0, no words. A rank of one rank.
// RUN: sed -e 's/, ring.slots.*"4 ranks"//; s/shape = 4/shape = 1/' %t/rank.mlir | ring-opt --convert-ring-to-llvm | %{check} PLAIN
// PLAIN-DAG: %[[PRINT:.*]] = arith.constant 0 : i64
// PLAIN-DAG: %[[N:c1_i32.*]] = arith.constant 1 : i32
// PLAIN-DAG: %[[SLOTS:c1_i32.*]] = arith.constant 1 : i32
// PLAIN-DAG: %[[NONE:.*]] = llvm.mlir.zero
// PLAIN:     call @ring_begin(%{{.*}}, %[[N]], %[[SLOTS]], %[[PRINT]], %[[NONE]])

// After all passes, no op of ours is left, and running the pass again on what
// is LLVM by then changes nothing.
// RUN: ring-opt %t/rank.mlir --convert-ring-to-llvm --finalize-memref-to-llvm --convert-arith-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts --ring-export-interface -o %t.llvm
// RUN: FileCheck %s --check-prefix=LLVM --implicit-check-not=unrealized < %t.llvm
// LLVM-DAG: llvm.func internal @{{.*}}attributes
// LLVM-DAG: llvm.func @r(
// LLVM-NOT: _mlir_ciface_{{[^r]}}
// RUN: ring-opt %t.llvm --convert-ring-to-llvm --ring-export-interface -o /dev/null

//--- rank.mlir
!k = memref<1x1x?x4xf16, strided<[?, ?, ?, ?], offset: ?>>
!v = memref<1x1x?x6xf16, strided<[?, ?, ?, ?], offset: ?>>
shard.grid @ring(shape = 4)
func.func private @r(%k: !k, %v: !v) attributes {ring.rank_of = @f, ring.slots = 3 : i64, ring.fingerprint = 77 : i64, ring.program = "4 ranks"} {
  %rank = shard.process_linear_index on @ring : index
  %f = ring.permute_start %k, %v on @ring axis 0 : !k, !v
  %g = ring.permute_start %f on @ring axis 0 : !ring.future<!k, !v>
  %k1, %v1 = ring.permute_wait %f : !ring.future<!k, !v>
  %k2, %v2 = ring.permute_wait %g : !ring.future<!k, !v>
  %c0 = arith.constant 0 : index
  %x = memref.load %k2[%c0, %c0, %rank, %c0] : !k
  memref.store %x, %v2[%c0, %c0, %rank, %c0] : !v
  return
}

//--- loop.mlir
!k = memref<1x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
shard.grid @ring(shape = 4)
func.func private @r(%k: !k) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %f = ring.permute_start %k on @ring axis 0 : !k
  %l = scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %f) -> (!ring.future<!k>) {
    %g = ring.permute_start %p on @ring axis 0 : !ring.future<!k>
    %k1 = ring.permute_wait %p : !ring.future<!k>
    scf.yield %g : !ring.future<!k>
  }
  %k2 = ring.permute_wait %l : !ring.future<!k>
  return
}
