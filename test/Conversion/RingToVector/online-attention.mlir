// RUN: split-file %s %t
// DEFINE: %{file} = %t/bf16.mlir
// DEFINE: %{bits} = 512
// DEFINE: %{convert} = ring-opt %{file} --convert-ring-to-vector=vector-bits=%{bits} --canonicalize
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --implicit-check-not=math.exp --implicit-check-not=math.log --implicit-check-not="{{arith.(addf|subf|mulf|divf|maximumf) .* : f32$}}" --check-prefix

//===----------------------------------------------------------------------===//
// The kernel and its call
//===----------------------------------------------------------------------===//

// A work item is a tile of queries of one head; of the pool's items, tiles *
// batch * heads, each is one call. Nothing is computed on scalars and nothing
// is called but the work list of the runtime.
// RUN: %{convert} -o %t.bf16
// RUN: %{check} BF16 --implicit-check-not="{{call @(f[^_]|[^fr])}}" < %t.bf16
// BF16-LABEL: func.func private @f_attention(%arg0: index,
// BF16-SAME:    memref<2x4x?x64xbf16, {{.*}}memref<2x2x?x64xbf16, {{.*}}memref<2x2x?x20xbf16, {{.*}}!llvm.ptr, {{.*}}memref<2x4x?x20xf32>
// BF16:         call @ring_slices_query_range(
// BF16:         call @ring_slices_keys(
// BF16:         call @ring_slices_next_keys(
// Rows whose elements are neighbours are loaded as vectors, with masked tails
// (20 = 16 + 4); any other strides one by one.
// BF16:         %[[UNIT:.*]] = arith.cmpi eq, %{{.*}}, %c1 : index
// BF16:         scf.if %[[UNIT]] {
// BF16-NOT:       memref.load
// BF16:           vector.load {{.*}} : memref<64xbf16, strided<[1], offset: ?>>, vector<16xbf16>
// BF16-NOT:       memref.load
// BF16:         } else {
// BF16:           memref.load {{.*}} : memref<2x4x?x64xbf16,
// The scale multiplies f32 scores; the maximum is over vectors of queries.
// BF16:         vector.fma {{.*}} : vector<64xf32>
// BF16:         arith.mulf %{{.*}}, %[[SCALE:.*]] : vector<64xf32>
// In a partial range the runtime says once for each tile which pairs are seen.
// BF16:         call @ring_slices_visible(
// BF16:         vector.maskedload {{.*}} : memref<20xbf16, {{.*}}>, vector<16xi1>, vector<16xbf16> into vector<16xbf16>
// The state goes back as f32.
// BF16:         vector.maskedstore {{.*}} : memref<20xf32, {{.*}}>, vector<16xi1>, vector<16xf32>
// BF16-LABEL: func.func @f(
// BF16-SAME:    %[[Q:[^:]*]]: memref<2x4x?x64xbf16, {{[^%]*}}, %[[K:[^:]*]]: memref<{{[^%]*}}, %[[V:[^:]*]]: memref<{{[^%]*}}, %[[S:[^:]*]]: !ring.slices, %[[A:[^:]*]]: memref<{{[^%]*}}, %[[M:[^:]*]]: memref<{{[^%]*}}, %[[L:[^:]*]]: memref<
// BF16:         %[[LIST:.*]] = builtin.unrealized_conversion_cast %[[S]] : !ring.slices to !llvm.ptr
// BF16:         call @ring_slices_query_ranges(%[[LIST]],
// BF16:         ring.parallel_call @f_attention(%{{.*}}, %{{.*}}) (%[[Q]], %[[K]], %[[V]], %[[LIST]], %[[A]], %[[M]], %[[L]])
// BF16-NEXT:    return

// f16 is widened, f32 is not.
// RUN: sed -e 's/bf16/f16/g' %t/bf16.mlir | ring-opt --convert-ring-to-vector --canonicalize | %{check} F16
// F16: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// RUN: sed -e 's/bf16/f32/g' %t/bf16.mlir | ring-opt --convert-ring-to-vector --canonicalize | %{check} F32 --implicit-check-not=arith.extf
// F32: vector.fma

// Registers of other sizes.
// REDEFINE: %{bits} = 256
// RUN: %{convert} | %{check} B256 --implicit-check-not="vector<64xf32>" --implicit-check-not="vector<4xf32>"
// B256: vector.load {{.*}}, vector<8xbf16>
// B256: vector.fma {{.*}} : vector<16xf32>
// REDEFINE: %{bits} = 128
// RUN: %{convert} | %{check} B128 --implicit-check-not="vector<16xf32>"
// B128: vector.load {{.*}}, vector<4xbf16>
// B128: vector.fma {{.*}} : vector<8xf32>

// Keys met at once: the size of scratch.
// RUN: ring-opt %t/bf16.mlir --convert-ring-to-vector=key-tile=7 | %{check} KEYS
// KEYS-DAG: memref.alloca() {{.*}} : memref<7x64xf32>
// KEYS-DAG: memref.alloca() {{.*}} : memref<7x32xf32>
// KEYS:     vector.fma

// The same op twice has one kernel, another one its own; the round of a trace
// is that of the work list.
// RUN: ring-opt %t/rounds.mlir --convert-ring-to-vector --canonicalize | %{check} ROUNDS --implicit-check-not="func.func private @{{f_att|.*_scores}}" --implicit-check-not="ring.slices at" --implicit-check-not="ring.owner"
// ROUNDS:     func.func private @f_attention(
// ROUNDS:     func.func private @[[OTHER:f_attention_.*]](%arg0: index
// ROUNDS:     %[[O3:.*]] = ring.owner %[[C3:.*]] on @ring axis 0
// ROUNDS:     ring.slices at(
// ROUNDS:     ring.parallel_call @f_attention(%{{.*}}, %[[C3]])
// ROUNDS:     ring.parallel_call @f_attention(%{{.*}}, %[[C3]])
// ROUNDS:     ring.parallel_call @[[OTHER]](%{{.*}}, %[[C3]])

// No NaN is made of constants; a second time changes nothing.
// RUN: %python %ring_src_root/test/Target/CPU/Inputs/nan_constants.py %t.bf16
// RUN: ring-opt --convert-ring-to-vector --canonicalize %t.bf16 | diff %t.bf16 -

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

// RUN: ring-opt %t/refused.mlir --convert-ring-to-vector --canonicalize --split-input-file --verify-diagnostics -o /dev/null
// RUN: not ring-opt %t/bf16.mlir --convert-ring-to-vector=vector-bits=64 -o /dev/null 2>&1 | FileCheck %s --check-prefix=BITS
// BITS: error: vector-bits is 64, expected 128, 256 or 512
// RUN: not ring-opt %t/bf16.mlir --convert-ring-to-vector=key-tile=0 -o /dev/null 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: error: key-tile is 0, expected 1 or more

//--- bf16.mlir
!q = memref<2x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
!k = memref<2x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
!v = memref<2x2x?x20xbf16, strided<[?, ?, ?, ?], offset: ?>>
!w = memref<2x4x?x20xf32>
!r = memref<2x4x?xf32>
func.func @f(%q: !q, %k: !k, %v: !v, %s: !ring.slices, %acc: !w, %max: !r, %sum: !r) {
  ring.online_attention %q, %k, %v slices(%s) scale(0.1) outs(%acc, %max, %sum) : (!q, !k, !v, !ring.slices, !w, !r, !r) -> ()
  return
}

//--- rounds.mlir
!b = memref<1x2x?x16xf32>
!r = memref<1x2x?xf32>
!t = memref<2x5xi64>
shard.grid @ring(shape = 4)
func.func @f(%q: !b, %k: !b, %v: !b, %acc: !b, %max: !r, %sum: !r, %t: !t, %rank: index) {
  %c3 = arith.constant 3 : index
  %owner = ring.owner %c3 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) : !t, !t
  ring.online_attention %q, %k, %v slices(%s) scale(0.5) outs(%acc, %max, %sum) : (!b, !b, !b, !ring.slices, !b, !r, !r) -> ()
  ring.online_attention %q, %k, %v slices(%s) scale(0.5) outs(%acc, %max, %sum) : (!b, !b, !b, !ring.slices, !b, !r, !r) -> ()
  ring.online_attention %q, %k, %v slices(%s) scale(0.25) outs(%acc, %max, %sum) : (!b, !b, !b, !ring.slices, !b, !r, !r) -> ()
  return
}

//--- refused.mlir
!b = memref<1x2x?x20000xf32>
!v = memref<1x2x?x16xf32>
!r = memref<1x2x?xf32>
func.func @head_size(%q: !b, %v: !v, %s: !ring.slices, %acc: !v, %max: !r, %sum: !r) {
  // expected-error-re @below {{feature 'head size' is not supported by convert-ring-to-vector: it needs {{[0-9]+}} bytes of scratch a thread, the limit is 12582912}}
  ring.online_attention %q, %q, %v slices(%s) scale(0.5) outs(%acc, %max, %sum) : (!b, !b, !v, !ring.slices, !v, !r, !r) -> ()
  return
}

// -----

!b = tensor<1x2x?x16xf32>
!r = tensor<1x2x?xf32>
func.func @tensors(%q: !b, %s: !ring.slices, %acc: !b, %max: !r, %sum: !r) -> !b {
  // expected-error @below {{on tensors, expected memrefs: bufferize first}}
  %0:3 = ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) : (!b, !b, !b, !ring.slices, !b, !r, !r) -> (!b, !r, !r)
  return %0#0 : !b
}

// -----

// expected-error @below {{'@ring_slices_keys' is a name of the runtime}}
func.func private @ring_slices_keys(f32)
!b = memref<1x2x?x16xf32>
!r = memref<1x2x?xf32>
func.func @taken(%q: !b, %s: !ring.slices, %acc: !b, %max: !r, %sum: !r) {
  ring.online_attention %q, %q, %q slices(%s) scale(0.5) outs(%acc, %max, %sum) : (!b, !b, !b, !ring.slices, !b, !r, !r) -> ()
  return
}
