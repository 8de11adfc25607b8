// RUN: split-file %s %t
// DEFINE: %{file} = %t/causal.mlir
// DEFINE: %{ranks} = 4
// DEFINE: %{distance} = 1
// DEFINE: %{form4} = ring-opt %{file} --ring-shard-attention=ranks=%{ranks} --ring-apply-layout --ring-classify-blocks --ring-pipeline-rounds=prefetch-distance=%{distance}
// DEFINE: %{bufferize} = --ring-expand-host --ring-bufferize-transfers --canonicalize --cse --eliminate-empty-tensors --ring-results-to-destinations --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=fully-dynamic-layout-map" --canonicalize
// DEFINE: %{check} = FileCheck %s --implicit-check-not=memref.alloc --implicit-check-not=memref.copy --implicit-check-not=memref.clone --check-prefix

// The host has a stack for each operand and result, and gathers into the
// caller's memory. A rank has its state, acc, max and sum, and nothing else: it
// computes on what the transport hands out, and writes results where the caller
// wants them. Nothing is copied.
// RUN: %{form4} %{bufferize} | %{check} CHECK
// CHECK-LABEL: func.func @causal(
// CHECK-SAME:    %[[Q:[^:]*]]: memref<2x4x10x8xf16, {{[^%]*}}, %[[K:[^:]*]]: memref<2x2x10x8xf16, {{[^%]*}}, %[[V:[^:]*]]: memref<2x2x10x5xf16, {{[^%]*}}, %[[O:[^:]*]]: memref<2x4x10x5xf16, {{[^%]*}}, %[[E:[^:]*]]: memref<2x4x10xf32
// CHECK-DAG:     %[[T:.*]] = memref.get_global
// CHECK-DAG:     memref.alloc(%{{.*}}) {{.*}} : memref<?x2x4x3x8xf16>
// CHECK-DAG:     memref.alloc(%{{.*}}) {{.*}} : memref<?x2x2x3x8xf16>
// CHECK-DAG:     memref.alloc(%{{.*}}) {{.*}} : memref<?x2x2x3x5xf16>
// CHECK-DAG:     %[[OS:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x2x4x3x5xf16>
// CHECK-DAG:     %[[ES:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x2x4x3xf32>
// CHECK:         ring.host.run @causal_rank ranks 4 (%{{.*}}, %{{.*}}, %{{.*}}) outs(%[[OS]], %[[ES]])
// CHECK-DAG:     ring.host.gather %[[OS]] by %{{.*}} dim 2 outs(%[[O]])
// CHECK-DAG:     ring.host.gather %[[ES]] by %{{.*}} dim 2 outs(%[[E]])
// CHECK-LABEL: func.func private @causal_rank(
// CHECK-SAME:    %[[Q:[^:]*]]: memref<2x4x?x8xf16, {{[^%]*}}, %[[K:[^:]*]]: memref<2x2x?x8xf16, {{[^%]*}}, %[[V:[^:]*]]: memref<2x2x?x5xf16, {{[^%]*}}, %[[O:[^:]*]]: memref<2x4x?x5xf16, {{[^%]*}}, %[[E:[^:]*]]: memref<2x4x?xf32
// CHECK:         %[[ACC:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<2x4x?x5xf32>
// CHECK-DAG:     %[[A:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<2x4x?xf32>
// CHECK-DAG:     %[[B:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<2x4x?xf32>
// CHECK:         %[[F:.*]] = ring.permute_start %[[K]], %[[V]]
// CHECK:         scf.for {{.*}} iter_args(%[[KB:[^ ]*]] = %[[K]], %[[VB:[^ ]*]] = %[[V]], %[[FB:[^ ]*]] = %[[F]])
// CHECK:           ring.online_attention %[[Q]], %[[KB]], %[[VB]] {{.*}} outs(%[[ACC]], %[[MAX:.*]], %[[SUM:.*]]) :
// CHECK:           %[[R:.*]]:2 = ring.permute_wait %[[FB]]
// CHECK:           %[[G:.*]] = ring.permute_start %[[R]]#0, %[[R]]#1
// CHECK:           scf.yield %[[R]]#0, %[[R]]#1, %[[G]]
// CHECK:         ring.online_attention {{.*}} outs(%[[ACC]], %[[MAX]], %[[SUM]]) :
// CHECK:         ring.online_attention {{.*}} outs(%[[ACC]], %[[MAX]], %[[SUM]]) :
// CHECK:         ring.finalize %[[ACC]], %[[MAX]], %[[SUM]] outs(%[[O]], %[[E]])
// CHECK-NEXT:    return

// The passes before see the tables through the memory that they are in, and have
// nothing to do; a layout stays, and the schedule is verified on tensors only.
// RUN: %{form4} %{bufferize} -o %t/form5.mlir
// RUN: ring-opt %t/form5.mlir --ring-apply-layout=layout=zigzag --ring-classify-blocks --ring-pipeline-rounds --ring-verify-schedule | diff %t/form5.mlir -
// RUN: not ring-opt %t/form5.mlir --ring-apply-layout=layout=striped 2>&1 | FileCheck %s --check-prefix=LAYOUT
// LAYOUT: error: the layout of a program on memrefs cannot change
// RUN: ring-opt %t/form5.mlir --ring-verify-schedule --remarks-filter=ring-verify-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNVERIFIED
// UNVERIFIED: remark: [Missed] VerifySchedule | {{.*}}a program on memrefs

// The same with all transfers in flight, with none, and with one rank.
// REDEFINE: %{distance} = 3
// RUN: %{form4} %{bufferize} | %{check} RANK
// REDEFINE: %{ranks} = 1
// RUN: %{form4} %{bufferize} | %{check} RANK
// RUN: ring-opt %t/causal.mlir --ring-shard-attention=ranks=4 %{bufferize} | %{check} RANK
// Where all three operands are one tensor, one stack holds it.
// REDEFINE: %{file} = %t/self.mlir
// REDEFINE: %{ranks} = 2
// RUN: %{form4} %{bufferize} | %{check} SELF
// RUN: %{form4} --cse %{bufferize} | %{check} SELF
// RANK-LABEL:   func.func @causal(
// RANK-COUNT-5:   memref.alloc
// RANK-LABEL:   func.func private @causal_rank(
// RANK-COUNT-3:   memref.alloc
// SELF-LABEL:   func.func @self(
// SELF-COUNT-2:   memref.alloc
// SELF-LABEL:   func.func private @self_rank(
// SELF-COUNT-3:   memref.alloc

// States are merged in place.
// RUN: ring-opt %t/merge.mlir --one-shot-bufferize="bufferize-function-boundaries" | %{check} MERGE
// MERGE-LABEL: func.func @merge(
// MERGE-SAME:    %[[A:[^:]*]]: memref<1x2x3x4xf32, {{[^%]*}}, %[[B:[^:]*]]: memref<1x2x3xf32, {{[^%]*}}, %[[C:[^:]*]]: memref<1x2x3xf32, {{[^%]*}}, %[[X:[^:]*]]: memref<1x2x3x4xf32, {{[^%]*}}, %[[Y:[^:]*]]: memref<1x2x3xf32, {{[^%]*}}, %[[Z:[^:]*]]: memref<1x2x3xf32
// MERGE:         ring.merge ins(%[[A]], %[[B]], %[[C]]) outs(%[[X]], %[[Y]], %[[Z]])

// A state that is read again afterwards is not overwritten.
// RUN: ring-opt %t/again.mlir --one-shot-bufferize="bufferize-function-boundaries" | FileCheck %s --check-prefix=AGAIN
// AGAIN-LABEL: func.func @again(
// AGAIN-COUNT-3: memref.copy
// AGAIN:         ring.merge
// AGAIN:         ring.finalize %arg3, %arg4, %arg5 outs

//--- causal.mlir
func.func @causal(%q: tensor<2x4x10x8xf16>, %k: tensor<2x2x10x8xf16>, %v: tensor<2x2x10x5xf16>) -> (tensor<2x4x10x5xf16>, tensor<2x4x10xf32>) {
  %o, %lse = ring.attention %q, %k, %v mask(<causal>) : (tensor<2x4x10x8xf16>, tensor<2x2x10x8xf16>, tensor<2x2x10x5xf16>) -> (tensor<2x4x10x5xf16>, tensor<2x4x10xf32>)
  return %o, %lse : tensor<2x4x10x5xf16>, tensor<2x4x10xf32>
}

//--- self.mlir
func.func @self(%x: tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32> {
  %o = ring.attention %x, %x, %x mask(<causal>) : (tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32>
  return %o : tensor<1x2x64x16xf32>
}

//--- merge.mlir
!w = tensor<1x2x3x4xf32>
!r = tensor<1x2x3xf32>
func.func @merge(%a: !w, %b: !r, %c: !r, %x: !w, %y: !r, %z: !r) -> (!w, !r, !r) {
  %0:3 = ring.merge ins(%a, %b, %c) outs(%x, %y, %z) : (!w, !r, !r, !w, !r, !r) -> (!w, !r, !r)
  return %0#0, %0#1, %0#2 : !w, !r, !r
}

//--- again.mlir
!w = tensor<1x2x3x4xf32>
!r = tensor<1x2x3xf32>
func.func @again(%a: !w, %b: !r, %c: !r, %x: !w, %y: !r, %z: !r, %o: !w) -> (!w, !r, !r, !w) {
  %0:3 = ring.merge ins(%a, %b, %c) outs(%x, %y, %z) : (!w, !r, !r, !w, !r, !r) -> (!w, !r, !r)
  %1 = ring.finalize %x, %y, %z outs(%o) : (!w, !r, !r, !w) -> !w
  return %0#0, %0#1, %0#2, %1 : !w, !r, !r, !w
}
