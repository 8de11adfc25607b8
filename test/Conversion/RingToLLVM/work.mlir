// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --implicit-check-not=shard. --check-prefix

//===----------------------------------------------------------------------===//
// Work lists
//===----------------------------------------------------------------------===//

// Who sees whom is told first: causal, left, right, chunk, prefix, whether
// positions are counted from the ends, and the addresses of ids, lengths and
// offsets. A side that is unbounded is the largest number; what there is not is
// no address.
// RUN: ring-opt %t/slices.mlir --convert-ring-to-llvm --canonicalize | %{check} SLICES
// SLICES-LABEL: func.func @f(
// SLICES-SAME:    %{{[^:]*}}: !llvm.ptr, %[[Q:[^:]*]]: memref<4x5xi64>, %[[K:[^:]*]]: memref<3x5xi64>, %[[RANK:[^:]*]]: index, %[[OWNER:[^:]*]]: index
// SLICES-DAG:     %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// SLICES-DAG:     %[[NO:.*]] = arith.constant 0 : i32
// SLICES-DAG:     %[[YES:.*]] = arith.constant 1 : i32
// SLICES-DAG:     %[[NIL:.*]] = arith.constant 0 : i64
// SLICES-DAG:     %[[LEFT:.*]] = arith.constant 7 : i64
// SLICES-DAG:     %[[RIGHT:.*]] = arith.constant 9223372036854775807 : i64
// SLICES-DAG:     %[[CHUNK:.*]] = arith.constant 11 : i64
// SLICES-DAG:     %[[PREFIX:.*]] = arith.constant 3 : i64
// SLICES-DAG:     %[[ENTRIESQ:.*]] = arith.constant 4 : i64
// SLICES:         call @ring_visibility_init(%[[V:[^,]*]], %[[YES]], %[[LEFT]], %[[RIGHT]], %[[CHUNK]], %[[PREFIX]], %[[YES]], %[[NONE]], %[[NONE]], %[[NONE]], %[[NONE]])
// SLICES:         memref.extract_aligned_pointer_as_index %[[Q]]
// SLICES:         memref.extract_aligned_pointer_as_index %[[K]]
// SLICES:         %[[R:.*]] = arith.index_cast %[[RANK]] : index to i64
// SLICES:         %[[O:.*]] = arith.index_cast %[[OWNER]] : index to i64
// SLICES:         call @ring_slices_init(%[[LIST:[^,]*]], %{{[^,]*}}, %[[ENTRIESQ]], %{{[^,]*}}, %[[PREFIX]], %[[R]], %[[O]], %[[YES]], %[[V]])
// Whole, without a mask.
// SLICES:         call @ring_visibility_init(%[[W:[^,]*]], %[[NO]], %[[RIGHT]], %[[RIGHT]], %[[NIL]], %[[NIL]], %[[NO]], %[[NONE]], %[[NONE]], %[[NONE]], %[[NONE]])
// SLICES:         call @ring_slices_init({{(([^,]*, ){7})}}%[[NO]], %[[W]])

// Ids, lengths and offsets: a descriptor each, in the runtime's form, on the
// stack of the function; data at its offset, sizes and strides in elements.
// RUN: ring-opt %t/operands.mlir --convert-ring-to-llvm --canonicalize | %{check} OPERANDS
// OPERANDS-LABEL: func.func @f(
// OPERANDS-SAME:    %[[SQ:[^:]*]]: memref<2x8xi32, strided<[?, ?], offset: ?>>, %[[SK:[^:]*]]: memref<2x?xi32>, %[[N:[^:]*]]: memref<2xi32>, %[[O:[^:]*]]: memref<2xi32>
// OPERANDS-COUNT-4: call @ring_host_check_argument(
// OPERANDS-NOT:     llvm.mlir.zero
// OPERANDS:         %[[D:.*]] = builtin.unrealized_conversion_cast %[[SQ]] : memref<2x8xi32, strided<[?, ?], offset: ?>> to !llvm.struct<[[DESC:.*]]>
// OPERANDS:         %[[ALIGNED:.*]] = llvm.extractvalue %[[D]][1]
// OPERANDS:         %[[OFFSET:.*]] = llvm.extractvalue %[[D]][2]
// OPERANDS:         %[[DATA:.*]] = llvm.getelementptr %[[ALIGNED]][%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i32
// OPERANDS:         llvm.insertvalue %[[DATA]], %{{.*}}[0] : !llvm.struct<(ptr, i32, i32, array<6 x i64>, array<6 x i64>)>
// OPERANDS:         %[[STRIDE:.*]] = llvm.extractvalue %[[D]][4, 1]
// OPERANDS:         llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 1]
// OPERANDS:         llvm.store %{{.*}}, %[[IDSQ:.*]] : !llvm.struct<(ptr, i32, i32, array<6 x i64>, array<6 x i64>)>, !llvm.ptr
// OPERANDS:         builtin.unrealized_conversion_cast %[[SK]] :
// OPERANDS:         llvm.store %{{.*}}, %[[IDSK:.*]] : !llvm.struct
// OPERANDS:         builtin.unrealized_conversion_cast %[[N]] :
// OPERANDS:         llvm.store %{{.*}}, %[[LENGTHS:.*]] : !llvm.struct
// OPERANDS:         builtin.unrealized_conversion_cast %[[O]] :
// OPERANDS:         llvm.store %{{.*}}, %[[OFFSETS:.*]] : !llvm.struct
// OPERANDS:         call @ring_visibility_init(%[[V:[^,]*]], {{(([^,]*, ){6})}}%[[IDSQ]], %[[IDSK]], %[[LENGTHS]], %[[OFFSETS]])
// OPERANDS:         call @ring_slices_init({{(([^,]*, ){8})}}%[[V]])

// A rank function has its ids as arguments: they are looked at once, when it is
// known that they are all there, and another mask is told apart.
// RUN: ring-opt %t/rounds.mlir --convert-scf-to-cf --convert-ring-to-llvm --canonicalize | FileCheck %s --check-prefix ROUNDS
// ROUNDS-LABEL: func.func @f_rank(
// ROUNDS-NOT:     call @ring_visibility_init
// ROUNDS:         call @ring_begin(
// ROUNDS-NOT:     call @ring_visibility_init
// ROUNDS:         call @ring_check_argument(
// ROUNDS-DAG:     call @ring_visibility_init(%[[CAUSAL:[^,]*]], %c1_i32
// ROUNDS-DAG:     call @ring_visibility_init(%[[FULL:[^,]*]], %c0_i32
// ROUNDS-NOT:     call @ring_visibility_init
// ROUNDS:         call @ring_slices_init({{(([^,]*, ){8})}}%[[CAUSAL]])
// ROUNDS:         call @ring_slices_init({{(([^,]*, ){8})}}%[[CAUSAL]])
// ROUNDS:         call @ring_slices_init({{(([^,]*, ){8})}}%[[FULL]])

//===----------------------------------------------------------------------===//
// Kernels on the pool
//===----------------------------------------------------------------------===//

// An item is one call of the callback, which unpacks what the kernel takes. Two
// calls of one kernel share it.
// RUN: ring-opt %t/parallel.mlir --convert-ring-to-llvm | %{check} PARALLEL
// PARALLEL-DAG:   llvm.mlir.global internal constant @ring_string_kernel("kernel\00")
// PARALLEL-LABEL: func.func private @f_kernel(
// PARALLEL-SAME:    %{{[^:]*}}: index, %{{[^:]*}}: memref<?xf32>, %{{[^:]*}}: i64) {
// PARALLEL-LABEL: func.func @f(
// PARALLEL-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %[[N:[^:]*]]: index
// PARALLEL:         %[[NAME:.*]] = llvm.mlir.addressof @ring_string_kernel
// PARALLEL:         %[[C:.*]] = arith.index_cast %[[N]] : index to i64
// PARALLEL:         %[[F:.*]] = constant @f_kernel_item : (!llvm.ptr, i64) -> ()
// PARALLEL:         %[[P:.*]] = builtin.unrealized_conversion_cast %[[F]]
// PARALLEL:         %[[S:.*]] = call @ring_parallel_for(%[[CTX]], %[[NAME]], %{{.*}}, %[[C]], %[[P]], %{{.*}})
// PARALLEL:         cf.cond_br %{{.*}}, ^{{.*}}(%[[S]] : i32), ^
// PARALLEL:         constant @f_kernel_item
// PARALLEL:         call @ring_parallel_for
// The host's calls go to the same pool.
// PARALLEL-LABEL: func.func @h(
// PARALLEL-SAME:    %[[HOST:[^:]*]]: !llvm.ptr, %[[N:[^:]*]]: index
// PARALLEL:         %[[C:.*]] = arith.index_cast %[[N]] : index to i64
// PARALLEL:         %[[F:.*]] = constant @f_kernel_item
// PARALLEL:         %[[P:.*]] = builtin.unrealized_conversion_cast %[[F]]
// PARALLEL:         %[[S:.*]] = call @ring_host_parallel_for(%[[HOST]], %[[C]], %[[P]], %{{.*}})
// PARALLEL:         cf.cond_br %{{.*}}, ^{{.*}}(%[[S]] : i32), ^
// PARALLEL:       func.func private @f_kernel_item(%[[ENV:[^:]*]]: !llvm.ptr, %[[ITEM:[^:]*]]: i64)
// PARALLEL-DAG:     %[[I:.*]] = arith.index_cast %[[ITEM]] : i64 to index
// PARALLEL-DAG:     llvm.load %[[ENV]]
// PARALLEL:         call @f_kernel(%[[I]], %{{.*}}, %{{.*}}) : (index, memref<?xf32>, i64) -> ()
// PARALLEL-NOT:   func.func private @f_kernel_item

//===----------------------------------------------------------------------===//
// What has no lowering
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/refused.mlir --convert-ring-to-llvm --split-input-file --verify-diagnostics -o /dev/null

// Functions that others call, declarations and empty modules stay.
// RUN: ring-opt %t/others.mlir --convert-ring-to-llvm | %{check} OTHERS
// OTHERS: func.func private @declared(f32) -> f32
// OTHERS: func.func private @called(%{{.*}}: f32) -> f32

//--- rounds.mlir
shard.grid @ring(shape = 2)
func.func @f_rank(%q: memref<2x5xi64>, %k: memref<2x5xi64>, %ids: memref<1x8xi32>, %rank: index) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %t = %c0 to %c2 step %c1 {
    %owner = ring.owner %t on @ring axis 0
    %s = ring.slices at(%rank, %owner in %q, %k) segments(%ids, %ids : memref<1x8xi32>, memref<1x8xi32>) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  }
  %s1 = ring.slices at(%rank, %c1 in %q, %k) segments(%ids, %ids : memref<1x8xi32>, memref<1x8xi32>) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  %s2 = ring.slices at(%rank, %c1 in %q, %k) segments(%ids, %ids : memref<1x8xi32>, memref<1x8xi32>) : memref<2x5xi64>, memref<2x5xi64>
  return
}

//--- slices.mlir
func.func @f(%q: memref<4x5xi64>, %k: memref<3x5xi64>, %rank: index, %owner: index) {
  %s = ring.slices at(%rank, %owner in %q, %k) mask(<causal, window = [7, *], chunk = 11, prefix = 3, align = bottom_right>) : memref<4x5xi64>, memref<3x5xi64>
  %p = builtin.unrealized_conversion_cast %s : !ring.slices to !llvm.ptr
  %t = ring.slices at(%rank, %owner in %q, %k) whole : memref<4x5xi64>, memref<3x5xi64>
  %r = builtin.unrealized_conversion_cast %t : !ring.slices to !llvm.ptr
  llvm.store %p, %r : !llvm.ptr, !llvm.ptr
  return
}

//--- parallel.mlir
func.func private @f_kernel(%i: index, %x: memref<?xf32>, %y: i64) {
  return
}
func.func @f(%n: index, %x: memref<?xf32>, %y: i64) attributes {ring.rank_of = @h} {
  %c3 = arith.constant 3 : index
  ring.parallel_call @f_kernel(%n, %c3) (%x, %y) : memref<?xf32>, i64
  ring.parallel_call @f_kernel(%c3, %c3) (%x, %y) : memref<?xf32>, i64
  return
}
func.func @h(%n: index, %x: memref<?xf32>, %y: i64) {
  ring.parallel_call @f_kernel(%n, %n) (%x, %y) : memref<?xf32>, i64
  return
}

//--- operands.mlir
func.func @f(%q: memref<4x5xi64>, %k: memref<3x5xi64>, %i: index, %sq: memref<2x8xi32, strided<[?, ?], offset: ?>>, %sk: memref<2x?xi32>, %n: memref<2xi32>, %o: memref<2xi32>) {
  %s = ring.slices at(%i, %i in %q, %k) segments(%sq, %sk : memref<2x8xi32, strided<[?, ?], offset: ?>>, memref<2x?xi32>) lengths(%n : memref<2xi32>) offsets(%o : memref<2xi32>) mask(<causal>)
    : memref<4x5xi64>, memref<3x5xi64>
  %p = builtin.unrealized_conversion_cast %s : !ring.slices to !llvm.ptr
  llvm.store %p, %p : !llvm.ptr, !llvm.ptr
  return
}

//--- refused.mlir
shard.grid @ring(shape = 2)
func.func private @tensors(%k: tensor<4xf32>, %f: !ring.future<tensor<4xf32>>) attributes {ring.rank_of = @f} {
  // expected-error @below {{on tensors, expected memrefs: bufferize first}}
  %k1 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  return
}

// -----

!w = memref<1x2x3x4xf32>
!r = memref<1x2x3xf32>
func.func @state(%a: !w, %b: !r, %c: !r) {
  // expected-error @below {{no lowering to the runtime for 'ring.merge'}}
  ring.merge ins(%a, %b, %c) outs(%a, %b, %c) : (!w, !r, !r, !w, !r, !r) -> ()
  return
}

//--- others.mlir
func.func private @declared(f32) -> f32
func.func private @called(%x: f32) -> f32 {
  return %x : f32
}
func.func @caller(%x: f32) {
  %0 = call @called(%x) : (f32) -> f32
  return
}
