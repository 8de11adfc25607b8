// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --check-prefix

// The host splits, runs and joins; the ranks that live here come from the
// runtime. No status is ignored, and no rank of the ring is begun or ended
// here: the function says which version of the runtime and how many ranks it is
// for, has its arguments' sizes checked, static ones and not, and leaves by one
// way, with its status.
// RUN: ring-opt %t/host.mlir --convert-ring-to-llvm | %{check} HOST
// HOST-LABEL: func.func @f(
// HOST-SAME:    %[[HOST:[^:]*]]: !llvm.ptr, {{.*}}) -> i32
// HOST-NOT:     ring_begin
// HOST:         %[[VERSION:.*]] = arith.constant {{[0-9]+}} : i32
// HOST-NEXT:    %[[RANKS:.*]] = arith.constant 4 : i32
// HOST-NEXT:    %[[S0:.*]] = call @ring_host_begin(%[[HOST]], %[[VERSION]], %[[RANKS]]) : (!llvm.ptr, i32, i32) -> i32
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT:.*]](%[[S0]] : i32), ^
// HOST:         %[[DATA:.*]] = llvm.getelementptr
// HOST-COUNT-4: llvm.extractvalue %{{.*}}[3, {{[0-3]}}]
// HOST:         %[[EXPECTED:.*]] = llvm.mlir.addressof @ring_sizes_
// HOST:         %[[C0:.*]] = call @ring_host_check_argument(%[[HOST]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[EXPECTED]])
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[C0]] : i32), ^
// HOST-NOT:     ring_begin
// HOST:         call @ring_host_local_ranks(%[[HOST]])
// HOST:         %[[T:.*]] = memref.get_global @table
// HOST:         %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[T]]
// HOST:         %[[D:.*]] = arith.constant 2 : i32
// HOST:         %[[S1:.*]] = call @ring_host_scatter(%[[HOST]], %{{.*}}, %{{.*}}, %[[D]], %{{.*}}, %{{.*}})
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S1]] : i32), ^
// What the ranks work on is packed for the callback.
// HOST:         %[[N:.*]] = arith.constant 4 : i32
// HOST:         %[[F:.*]] = constant @f_rank_body : (!llvm.ptr, !llvm.ptr) -> i32
// HOST:         %[[P:.*]] = builtin.unrealized_conversion_cast %[[F]]
// HOST:         %[[S2:.*]] = call @ring_host_run(%[[HOST]], %[[N]], %[[P]], %[[ENV:.*]])
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S2]] : i32), ^
// HOST:         %[[S3:.*]] = call @ring_host_gather(%[[HOST]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// HOST:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S3]] : i32), ^
// HOST:       ^[[EXIT]](%[[STATUS:.*]]: i32):
// HOST-NEXT:    %[[END:.*]] = call @ring_host_end(%[[HOST]], %[[STATUS]])
// HOST-NEXT:    return %[[END]] : i32

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

// What is replicated is packed between inputs and outputs; each rank is given
// it as it is, in the type that the rank function takes.
// RUN: ring-opt %t/replicated.mlir --convert-ring-to-llvm --canonicalize | %{check} REPLICATED
// REPLICATED-LABEL: func.func @f(
// REPLICATED:         call @ring_host_run(
// REPLICATED-LABEL: func.func private @r_body(
// REPLICATED-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %[[ENV:[^:]*]]: !llvm.ptr) -> i32
// REPLICATED:         llvm.load %[[ENV]] : !llvm.ptr -> !llvm.struct<(struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>, struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, f32, i64, struct<(ptr, ptr, i64, array<3 x i64>, array<3 x i64>)>)>
// REPLICATED:         %[[A:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4x2x?x3xf16>
// REPLICATED:         %[[T:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<?x5xi64>
// REPLICATED:         %[[N:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<2xi32, strided<[?], offset: ?>>
// REPLICATED:         %[[X:.*]] = llvm.extractvalue %{{.*}}[3]
// REPLICATED:         %[[I:.*]] = builtin.unrealized_conversion_cast %{{.*}} : i64 to index
// REPLICATED:         %[[B:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4x2x?xf32>
// REPLICATED:         memref.reinterpret_cast %[[A]]
// REPLICATED-NOT:     memref.reinterpret_cast %[[T]]
// REPLICATED:         %[[TC:.*]] = memref.cast %[[T]] : memref<?x5xi64> to memref<?x5xi64, strided<[?, ?], offset: ?>>
// REPLICATED:         memref.reinterpret_cast %[[B]]
// REPLICATED:         call @r(%[[CTX]], %{{[^,]*}}, %[[TC]], %[[N]], %[[X]], %[[I]], %{{[^,]*}})

// Tables: the layout's kind and granularity, the ranks, both lengths, who sees
// whom, and both tables to write, behind one another.
// RUN: ring-opt %t/tables.mlir --convert-ring-to-llvm --canonicalize | %{check} TABLES
// TABLES-DAG:   llvm.mlir.global internal constant @"ring_string_lengths of a \22b\22"("lengths of a \22b\22\00")
// TABLES-LABEL: func.func @g(
// TABLES-SAME:    %[[H:[^:]*]]: !llvm.ptr, %[[K:[^:]*]]: index, %[[I:[^:]*]]: index, %[[ROOM:[^:]*]]: memref<?x5xi64>
// TABLES-DAG:     %[[WHAT:.*]] = llvm.mlir.addressof @"ring_string_lengths of a \22b\22"
// TABLES-DAG:     %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// TABLES-DAG:     %[[BOTH:.*]] = llvm.alloca %{{.*}} x !llvm.array<2 x struct<(ptr, i32, i32, array<6 x i64>, array<6 x i64>)>>
// TABLES:         %[[K1:.*]] = arith.index_cast %[[K]] : index to i64
// TABLES:         %[[I1:.*]] = arith.index_cast %[[I]] : index to i64
// TABLES:         %[[S:.*]] = call @ring_host_require_equal(%[[H]], %[[K1]], %[[I1]], %[[WHAT]])
// TABLES:         cf.cond_br %{{.*}}, ^[[EXIT:.*]](%[[S]] : i32), ^
// causal, left, right, chunk, prefix, bottom-right, ids, lengths, no offsets.
// TABLES:         call @ring_visibility_init(%[[VISIBLE:[^,]*]], %c1_i32, %c7_i64, %c9223372036854775807_i64, %c0_i64, %c0_i64, %c1_i32, %[[IDS:[^,]*]], %[[IDS2:[^,]*]], %[[N:[^,]*]], %[[NONE]])
// TABLES:         %[[K2:.*]] = arith.index_cast %[[K]] : index to i64
// TABLES:         %[[I2:.*]] = arith.index_cast %[[I]] : index to i64
// TABLES:         %[[S:.*]] = call @ring_host_tables(%[[H]], %c2_i32, %c3_i64, %c4_i32, %[[K2]], %[[I2]], %[[VISIBLE]], %[[BOTH]])
// TABLES:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S]] : i32), ^
// TABLES:         memref.extract_aligned_pointer_as_index %[[ROOM]]
// TABLES:         %[[ENTRIES:.*]] = memref.dim %[[ROOM]], %c0
// TABLES:         %[[E:.*]] = arith.index_cast %[[ENTRIES]] : index to i64
// TABLES:         %[[P:.*]] = call @ring_padded_size(%{{[^,]*}}, %[[E]], %c4_i32) : (!llvm.ptr, i64, i32) -> i64
// TABLES:         arith.index_cast %[[P]] : i64 to index
// Every kind of layout has its number.
// RUN: sed -e 's/<striped, 3>/<contiguous>/' %t/tables.mlir | ring-opt --convert-ring-to-llvm --canonicalize | FileCheck %s --check-prefix=KIND0
// KIND0: call @ring_host_tables(%{{[^,]*}}, %c0_i32, %c1_i64,
// RUN: sed -e 's/<striped, 3>/<zigzag>/' %t/tables.mlir | ring-opt --convert-ring-to-llvm --canonicalize | FileCheck %s --check-prefix=KIND1
// KIND1: call @ring_host_tables(%{{[^,]*}}, %c1_i32, %c1_i64,
// RUN: sed -e 's/<striped, 3>/<balanced>/; s/8x5xi64/256x5xi64/g' %t/tables.mlir | ring-opt --convert-ring-to-llvm --canonicalize | FileCheck %s --check-prefix=KIND3
// KIND3: call @ring_host_tables(%{{[^,]*}}, %c3_i32, %c1_i64,

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

//--- replicated.mlir
!b = memref<2x?x3xf16, strided<[?, ?, ?], offset: ?>>
!t = memref<?x5xi64, strided<[?, ?], offset: ?>>
!n = memref<2xi32, strided<[?], offset: ?>>
!o = memref<2x?xf32, strided<[?, ?], offset: ?>>
func.func @f(%a: memref<4x2x?x3xf16>, %t: memref<?x5xi64>, %n: !n, %x: f32, %i: index, %b: memref<4x2x?xf32>) {
  ring.host.run @r ranks 4 (%a) replicated(%t, %n, %x, %i) outs(%b)
    : (memref<4x2x?x3xf16>, memref<?x5xi64>, !n, f32, index, memref<4x2x?xf32>) -> ()
  return
}
func.func private @r(%q: !b, %t: !t, %n: !n, %x: f32, %i: index, %o: !o) attributes {ring.rank_of = @f} {
  return
}

//--- tables.mlir
!id = memref<2x12xi32, strided<[?, ?], offset: ?>>
func.func @g(%k: index, %i: index, %room: memref<?x5xi64>, %other: memref<8x5xi64>, %n: memref<2xi32>, %ids: !id, %o: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  ring.require_equal %k, %i "lengths of a \"b\""
  ring.tables <striped, 3> ranks 4 sizes(%k, %i) segments(%ids, %ids) lengths(%n) mask(<causal, window = [7, *], align = bottom_right>) outs(%room, %other)
    : (index, index, !id, !id, memref<2xi32>, memref<?x5xi64>, memref<8x5xi64>) -> ()
  %p = ring.padded_size %room ranks 4 : memref<?x5xi64>
  memref.store %p, %o[%c0] : memref<1xindex>
  return
}
