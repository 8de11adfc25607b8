// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --check-prefix

// The host splits, runs and joins; the ranks that live here come from the
// runtime. No status is ignored, and no rank of the ring is begun or ended
// here.
// RUN: ring-opt %t/host.mlir --convert-ring-to-llvm | %{check} HOST
// HOST-LABEL: func.func @f(
// HOST-SAME:    %[[HOST:[^:]*]]: !llvm.ptr, {{.*}}) -> i32
// HOST-NOT:     ring_begin
// HOST:         call @ring_host_local_ranks(%[[HOST]])
// HOST:         %[[T:.*]] = memref.get_global @table
// HOST:         %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[T]]
// HOST:         %[[D:.*]] = arith.constant 2 : i32
// HOST:         %[[S1:.*]] = call @ring_host_scatter(%[[HOST]], %{{.*}}, %{{.*}}, %[[D]], %{{.*}}, %{{.*}})
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT:.*]](%[[S1]] : i32), ^
// What the ranks work on is packed for the callback.
// HOST:         %[[N:.*]] = arith.constant 4 : i32
// HOST:         %[[F:.*]] = constant @f_rank_body : (!llvm.ptr, !llvm.ptr) -> i32
// HOST:         %[[P:.*]] = builtin.unrealized_conversion_cast %[[F]]
// HOST:         %[[S2:.*]] = call @ring_host_run(%[[HOST]], %[[N]], %[[P]], %[[ENV:.*]])
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S2]] : i32), ^
// HOST:         %[[S3:.*]] = call @ring_host_gather(%[[HOST]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S3]] : i32), ^
// HOST:       ^[[EXIT]](%[[STATUS:.*]]: i32):
// HOST-NEXT:    return %[[STATUS]] : i32

// HOST-LABEL: func.func private @f_rank(
// HOST-SAME:    !llvm.ptr, %{{[^:]*}}: memref<1x1x?x4xf32, {{.*}}) -> i32

// Each rank takes its part of every stack.
// HOST-LABEL: func.func private @f_rank_body(
// HOST-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %[[ENV:[^:]*]]: !llvm.ptr) -> i32
// HOST:         llvm.load %[[ENV]]
// HOST:         %[[L:.*]] = call @ring_local_index(%[[CTX]])
// HOST:         %[[I:.*]] = arith.index_cast %[[L]] : i32 to index
// HOST:         %{{.*}}, %{{.*}}, %[[SIZES:.*]]:5, %[[STRIDES:.*]]:5 = memref.extract_strided_metadata
// HOST:         %[[BEFORE:.*]] = arith.muli %[[I]], %[[STRIDES]]#0
// HOST:         %[[OFFSET:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
// HOST:         %[[AC:.*]] = memref.reinterpret_cast %{{.*}} to offset: [%[[OFFSET]]], sizes: [1, 1, %[[SIZES]]#3, 4], strides: [%[[STRIDES]]#1, %[[STRIDES]]#2, %[[STRIDES]]#3, %[[STRIDES]]#4]
// HOST:         %[[BC:.*]] = memref.reinterpret_cast
// HOST:         %[[S:.*]] = call @f_rank(%[[CTX]], %[[AC]], %[[BC]])
// HOST:         return %[[S]] : i32

// Two runs of one rank function have a callback each.
// RUN: ring-opt %t/twice.mlir --convert-ring-to-llvm | %{check} TWICE
// TWICE:     constant @[[FIRST:f_rank_body.*]] : (!llvm.ptr, !llvm.ptr) -> i32
// TWICE:     constant @[[SECOND:f_rank_body.*]] : (!llvm.ptr, !llvm.ptr) -> i32
// TWICE-DAG: func.func private @[[FIRST]](
// TWICE-DAG: func.func private @[[SECOND]](

//--- host.mlir
!s = memref<?x1x1x2x4xf32>
!w = memref<1x1x8x4xf32, strided<[?, ?, ?, ?], offset: ?>>
!b = memref<1x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
memref.global "private" constant @table : memref<4x5xi64> = dense<[[0, 0, 2, 2, 1], [1, 2, 2, 2, 1], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]>
func.func @f(%q: !w, %o: !w) {
  %n = ring.host.ranks
  %t = memref.get_global @table : memref<4x5xi64>
  %a = memref.alloc(%n) : !s
  %b = memref.alloc(%n) : !s
  ring.host.scatter %q by %t dim 2 outs(%a) : (!w, memref<4x5xi64>, !s) -> ()
  ring.host.run @f_rank ranks 4 (%a) outs(%b) : (!s, !s) -> ()
  ring.host.gather %b by %t dim 2 outs(%o) : (!s, memref<4x5xi64>, !w) -> ()
  return
}
func.func private @f_rank(%a: !b, %b: !b) attributes {ring.rank_of = @f} {
  return
}

//--- twice.mlir
!s = memref<?x1x1x2x4xf32>
!b = memref<1x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
// The rank function stands first, and has its context by then.
func.func private @f_rank(%a: !b, %b: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%a: !s, %b: !s) {
  ring.host.run @f_rank ranks 4 (%a) outs(%b) : (!s, !s) -> ()
  ring.host.run @f_rank ranks 4 (%b) outs(%a) : (!s, !s) -> ()
  return
}
