// The rounds of a state, in the forms that programs have: what travels is memory of
// the GPU, the last round writes the results, and the state is the runtime's.

// RUN: split-file %s %t
// RUN: ring-opt %t/single.mlir --convert-ring-to-gpu | FileCheck %s --check-prefix=SINGLE --implicit-check-not=ring.online --implicit-check-not=ring.finalize --implicit-check-not=linalg.fill
// RUN: ring-opt %t/loop.mlir --convert-ring-to-gpu | FileCheck %s --check-prefix=LOOP
// RUN: ring-opt %t/travel.mlir --convert-ring-to-gpu | FileCheck %s --check-prefix=TRAVEL
// RUN: ring-opt %t/mixed.mlir --convert-ring-to-gpu=mixed | FileCheck %s --check-prefix=MIXED
// RUN: sed 's/x64x/x128x/g' %t/single.mlir > %t/wide.mlir
// RUN: sed 's/bf16/f32/g' %t/single.mlir > %t/f32.mlir
// DEFINE: %{plan} = ring-opt --remarks-filter=convert-ring-to-gpu 2>&1 --convert-ring-to-gpu
// RUN: %{plan} %t/single.mlir | tee %t/plan | FileCheck %s --check-prefix=PLAN
// RUN: FileCheck %s --check-prefix=SM80 < %t/plan
// RUN: %{plan}=chip=sm_86 %t/single.mlir | tee %t/plan | FileCheck %s --check-prefix=PLAN
// RUN: FileCheck %s --check-prefix=SM86 < %t/plan
// RUN: %{plan}=chip=sm_87 %t/wide.mlir | tee %t/plan | FileCheck %s --check-prefix=PLAN
// RUN: FileCheck %s --check-prefix=WIDE87 < %t/plan
// RUN: %{plan}=chip=sm_89 %t/wide.mlir | tee %t/plan | FileCheck %s --check-prefix=PLAN
// RUN: FileCheck %s --check-prefix=WIDE89 < %t/plan
// RUN: %{plan} %t/f32.mlir | tee %t/plan | FileCheck %s --check-prefix=PLAN
// RUN: FileCheck %s --check-prefix=F32 < %t/plan

// Nothing is left to do the second time, and what is not a rank function stays.
// RUN: ring-opt %t/single.mlir --convert-ring-to-gpu -o %t/once.mlir
// RUN: ring-opt %t/once.mlir --convert-ring-to-gpu | diff %t/once.mlir -
// RUN: ring-opt %t/other.mlir --convert-ring-to-gpu | FileCheck %s --check-prefix=OTHER --implicit-check-not=gpu.module

// SINGLE-LABEL: gpu.module @ring_kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">]
// SINGLE:         llvm.mlir.global external @ring_shared() {addr_space = 3 : i32
// SINGLE:         llvm.func @f_rank_attention(%{{.*}}: !llvm.ptr {llvm.align = 8 : i64, llvm.byval = {{.*}}, nvvm.grid_constant}) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 128>}
// SINGLE-LABEL: func.func private @f_rank(
// SINGLE-DAG:     %[[Q:.*]] = ring.device.import %arg0
// SINGLE-DAG:     %[[K:.*]] = ring.device.import %arg1
// SINGLE-DAG:     %[[V:.*]] = ring.device.import %arg2
// SINGLE-DAG:     %[[OUT:.*]] = ring.device.export %arg3
// SINGLE-DAG:     %[[LSE:.*]] = ring.device.export %arg4
// SINGLE:         memref.alloc(%[[NONE:.*]]) : memref<1x4x?x64xf32>
// SINGLE:         %[[A:.*]] = ring.device.attention @ring_kernels::@f_rank_attention query(%[[Q]]) outs(%[[OUT]], %[[LSE]])
// SINGLE-SAME:      head_blocks = 2 : i32, heads = 4 : i32
// SINGLE:         %[[LAST:.*]] = arith.constant true
// SINGLE:         ring.device.round %[[A]], %{{.*}}, %[[K]], %[[V]] slices(%{{.*}}) last(%[[LAST]])

// LOOP:           scf.for %[[T:.*]] = %c0 to %c2 step %c1
// LOOP:             %[[NEXT:.*]] = arith.addi %[[T]], %c1
// LOOP:             %[[LAST:.*]] = arith.cmpi sge, %[[NEXT]], %c2
// LOOP:             ring.device.round %{{.*}}, %[[T]], %{{.*}}, %{{.*}} slices(%{{.*}}) last(%[[LAST]])

// TRAVEL-LABEL: func.func private @f_rank(
// TRAVEL-DAG:     %[[K:.*]] = ring.device.import %arg1
// TRAVEL-DAG:     %[[V:.*]] = ring.device.import %arg2
// TRAVEL:         %[[F:.*]] = ring.permute_start %[[K]], %[[V]]
// TRAVEL:         %[[NO:.*]] = arith.constant false
// TRAVEL:         ring.device.round %{{.*}}, %{{.*}}, %[[K]], %[[V]] slices(%{{.*}}) last(%[[NO]])
// TRAVEL:         %[[KV:.*]]:2 = ring.permute_wait %[[F]]
// TRAVEL:         %[[YES:.*]] = arith.constant true
// TRAVEL:         ring.device.round %{{.*}}, %{{.*}}, %[[KV]]#0, %[[KV]]#1 slices(%{{.*}}) last(%[[YES]])

// MIXED-LABEL:  func.func @f(
// MIXED:          ring.host.run @f_rank ranks 2
// MIXED-SAME:       {ring.device_callee = @f_rank_gpu}
// MIXED-LABEL:  func.func private @f_rank(
// MIXED:          ring.online_attention
// MIXED:          ring.finalize
// MIXED-LABEL:  func.func private @f_rank_gpu(
// MIXED:          ring.device.round

// The kernel and its launches have what the plan says. A chip with less memory gets
// smaller tiles.
// SM80:   Remark="64 queries of 2 heads x 64 keys, 4 warps of 32 rows, 2 stages,
// SM86:   Remark="64 queries of 2 heads x 64 keys, 4 warps of 32 rows, 1 stages,
// WIDE87: Remark="64 queries of 2 heads x 64 keys, 4 warps of 32 rows, 1 stages,
// WIDE89: Remark="64 queries of 2 heads x 16 keys, 4 warps of 32 rows, 1 stages,
// F32:    Remark="64 queries of 2 heads x 32 keys, 4 warps of 32 rows, 2 stages,
// PLAN: remark: [Passed] TilePlan | Category:convert-ring-to-gpu | Function=f_rank | Remark="[[#Q:]] queries of [[#HEADS:]] heads x [[#K:]] keys, [[#WARPS:]] warps of [[#]] rows, [[#]] stages, [[#BYTES:]] bytes of shared memory, about [[#]] of 255 registers"
// PLAN: llvm.func @f_rank_attention({{.*}} nvvm.reqntid = array<i32: [[#mul(WARPS, 32)]]>
// PLAN: ring.device.attention {{.*}} {head_blocks = [[#div(4, HEADS)]] : i32, heads = 4 : i32, key_tile = [[#K]] : i32, query_tile = [[#Q]] : i32, shared_bytes = [[#BYTES]] : i32, state_floats = [[#]] : i32, threads = [[#mul(WARPS, 32)]] : i32}

// OTHER-LABEL: func.func @not_a_rank(
// OTHER:         ring.online_attention

//--- single.mlir
memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

//--- loop.mlir
memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  scf.for %t = %c0 to %c2 step %c1 {
    %owner = ring.owner %t on @ring axis 0
    %s = ring.slices at(%rank, %owner in %table, %table) : memref<2x5xi64>, memref<2x5xi64>
    ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  }
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

//--- travel.mlir
memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %f = ring.permute_start %k, %v on @ring axis 0 : memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  %kv:2 = ring.permute_wait %f : !ring.future<memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>>
  %o1 = ring.owner %c1 on @ring axis 0
  %s1 = ring.slices at(%rank, %o1 in %table, %table) : memref<2x5xi64>, memref<2x5xi64>
  ring.online_attention %q, %kv#0, %kv#1 slices(%s1) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

//--- mixed.mlir
memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func @f(%q: memref<?x1x4x50x64xbf16>, %k: memref<?x1x2x50x64xbf16>, %lse: memref<?x1x4x50xf32>) {
  ring.host.run @f_rank ranks 2 (%q, %k, %k) outs(%q, %lse) : (memref<?x1x4x50x64xbf16>, memref<?x1x2x50x64xbf16>, memref<?x1x2x50x64xbf16>, memref<?x1x4x50x64xbf16>, memref<?x1x4x50xf32>) -> ()
  return
}
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

//--- other.mlir
func.func @not_a_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %s: !ring.slices, %acc: memref<1x4x?x64xf32>, %max: memref<1x4x?xf32>) {
  ring.online_attention %q, %k, %k slices(%s) scale(1.0) outs(%acc, %max, %max) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  return
}
