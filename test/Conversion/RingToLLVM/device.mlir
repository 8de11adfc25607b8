// RUN: split-file %s %t

// Ops of a GPU become calls, each of which is checked. The GPU is taken after the
// arguments have been checked, and given back on every way out, before the rank ends.
// RUN: ring-opt %t/rank.mlir --convert-ring-to-llvm | FileCheck %s --check-prefix=RANK --implicit-check-not="= ring." --implicit-check-not=gpu.binary
// RANK-LABEL: func.func private @r(
// RANK-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %[[Q:[^:]*]]: memref<1x4x?x16xbf16, {{[^%]*}}, %[[K:[^:]*]]: memref<1x2x?x16xbf16, {{[^%]*}}, %[[IDS:[^:]*]]: memref<1x8xi32, {{[^%]*}}, %[[SINKS:[^:]*]]: memref<4xf32, {{[^%]*}}, %[[SLOPE:[^:]*]]: f32, %[[N:[^:]*]]: index, %[[OUT:[^:]*]]: memref<1x4x?x16xbf16, {{[^%]*}}, %[[LSE:[^:]*]]: memref<1x4x?xf32,
// RANK:         call @ring_begin(%[[CTX]],
// RANK-COUNT-6: call @ring_check_argument(%[[CTX]],
// RANK-NOT:     call @ring_check_argument
// RANK:         %[[S0:.*]] = call @ring_device_begin(%[[CTX]])
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT:.*]](%[[S0]] : i32), ^

// A tensor goes in and another comes out: the first element, dimensions, bytes of an
// element, then sizes and strides.
// RANK:         %[[QD:.*]] = builtin.unrealized_conversion_cast %[[Q]] : memref
// RANK:         %[[BASE:.*]] = llvm.extractvalue %[[QD]][1]
// RANK:         %[[OFFSET:.*]] = llvm.extractvalue %[[QD]][2]
// RANK:         %[[FIRST:.*]] = llvm.getelementptr %[[BASE]][%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, bf16
// RANK:         llvm.insertvalue %[[FIRST]], %{{.*}}[0]
// RANK:         %[[DIMS:.*]] = arith.constant 4 : i32
// RANK:         llvm.insertvalue %[[DIMS]], %{{.*}}[1]
// RANK:         %[[BYTES:.*]] = arith.constant 2 : i32
// RANK:         llvm.insertvalue %[[BYTES]], %{{.*}}[2]
// RANK:         %[[SIZE:.*]] = llvm.extractvalue %[[QD]][3, 2]
// RANK:         llvm.insertvalue %[[SIZE]], %{{.*}}[3, 2]
// RANK:         %[[STRIDE:.*]] = llvm.extractvalue %[[QD]][4, 2]
// RANK:         llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 2]
// RANK:         %[[S1:.*]] = call @ring_device_import(%[[CTX]], %{{.*}}, %[[MADE:.*]]) :
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S1]] : i32), ^
// RANK:         %[[AT:.*]] = llvm.getelementptr %[[MADE]][0]
// RANK:         %[[T:.*]] = llvm.load %[[AT]]
// RANK:         %[[DATA:.*]] = llvm.extractvalue %[[T]][0]
// RANK:         llvm.insertvalue %[[DATA]], %{{.*}}[1]
// RANK:         %[[STRIDE2:.*]] = llvm.extractvalue %[[T]][4, 2]
// RANK:         llvm.insertvalue %[[STRIDE2]], %{{.*}}[4, 2]
// RANK:         %[[DQ:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<1x4x?x16xbf16,

// RANK:         builtin.unrealized_conversion_cast %[[K]] : memref
// RANK:         call @ring_device_import(%[[CTX]],
// RANK:         %[[DK:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<1x2x?x16xbf16,
// RANK:         builtin.unrealized_conversion_cast %[[IDS]] : memref
// RANK:         call @ring_device_import(%[[CTX]],
// RANK:         %[[DIDS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<1x8xi32,
// RANK:         builtin.unrealized_conversion_cast %[[IDS]] : memref
// RANK:         %[[S2:.*]] = call @ring_device_host_copy(%[[CTX]],
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S2]] : i32), ^
// RANK:         %[[HIDS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<1x8xi32,
// RANK:         call @ring_device_import(%[[CTX]],
// RANK:         %[[DSINKS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4xf32,
// RANK:         builtin.unrealized_conversion_cast %[[OUT]] : memref
// RANK:         %[[S3:.*]] = call @ring_device_export(%[[CTX]],
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S3]] : i32), ^
// RANK:         %[[DOUT:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<1x4x?x16xbf16,
// RANK:         builtin.unrealized_conversion_cast %[[LSE]] : memref
// RANK:         call @ring_device_export(%[[CTX]],
// RANK:         %[[DLSE:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<1x4x?xf32,

// The images in their order: kind, chip, address, bytes.
// RANK-DAG:     %[[DATA0:.*]] = llvm.mlir.addressof @ring_image_kernels_0
// RANK-DAG:     %[[CUBIN:.*]] = llvm.mlir.addressof @ring_string_cubin
// RANK-DAG:     %[[SIZE0:.*]] = arith.constant 3 : i64
// RANK-DAG:     %[[DATA1:.*]] = llvm.mlir.addressof @ring_image_kernels_1
// RANK-DAG:     %[[PTX:.*]] = llvm.mlir.addressof @ring_string_ptx
// RANK-DAG:     %[[CHIP1:.*]] = llvm.mlir.addressof @ring_string_sm_86
// RANK-DAG:     %[[SIZE1:.*]] = arith.constant 8 : i64
// RANK:         llvm.insertvalue %[[CUBIN]], %{{.*}}[0]
// RANK:         llvm.insertvalue %{{.*}}, %{{.*}}[1]
// RANK:         llvm.insertvalue %[[DATA0]], %{{.*}}[2]
// RANK:         llvm.insertvalue %[[SIZE0]], %{{.*}}[3]
// RANK:         llvm.insertvalue %[[PTX]], %{{.*}}[4]
// RANK:         llvm.insertvalue %[[CHIP1]], %{{.*}}[5]
// RANK:         llvm.insertvalue %[[DATA1]], %{{.*}}[6]
// RANK:         %[[ARRAY:.*]] = llvm.insertvalue %[[SIZE1]], %{{.*}}[7] : !llvm.struct<(ptr, ptr, ptr, i64, ptr, ptr, ptr, i64)>
// RANK:         llvm.store %[[ARRAY]], %[[IMAGES:[^ ]*]] :

// ring_attention_kernel: name, images and their number, then the attributes.
// RANK-DAG:     %[[NAME:.*]] = llvm.mlir.addressof @ring_string_kernel
// RANK-DAG:     %[[COUNT:.*]] = arith.constant 2 : i32
// RANK-DAG:     %[[THREADS:.*]] = arith.constant 128 : i32
// RANK-DAG:     %[[SHARED:.*]] = arith.constant 1024 : i32
// RANK-DAG:     %[[QTILE:.*]] = arith.constant 64 : i32
// RANK-DAG:     %[[KTILE:.*]] = arith.constant 32 : i32
// RANK-DAG:     %[[HEADS:.*]] = arith.constant 4 : i32
// RANK-DAG:     %[[BLOCKS:.*]] = arith.constant 1 : i32
// RANK-DAG:     %[[FLOATS:.*]] = arith.constant 512 : i32
// RANK:         llvm.insertvalue %[[NAME]], %{{.*}}[0]
// RANK:         llvm.insertvalue %[[IMAGES]], %{{.*}}[1]
// RANK:         llvm.insertvalue %[[COUNT]], %{{.*}}[2]
// RANK:         llvm.insertvalue %[[THREADS]], %{{.*}}[3]
// RANK:         llvm.insertvalue %[[SHARED]], %{{.*}}[4]
// RANK:         llvm.insertvalue %[[QTILE]], %{{.*}}[5]
// RANK:         llvm.insertvalue %[[KTILE]], %{{.*}}[6]
// RANK:         llvm.insertvalue %[[HEADS]], %{{.*}}[7]
// RANK:         llvm.insertvalue %[[BLOCKS]], %{{.*}}[8]
// RANK:         %[[KSTRUCT:.*]] = llvm.insertvalue %[[FLOATS]], %{{.*}}[9] : !llvm.struct<(ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32)>
// RANK:         llvm.store %[[KSTRUCT]], %[[KERNEL:[^ ]*]] :

// Captured scalars go to the GPU as tensors without dimensions, an index as i64.
// RANK:         memref.store %[[SLOPE]], %[[PLACE:.*]][] : memref<f32>
// RANK:         builtin.unrealized_conversion_cast %[[PLACE]] : memref<f32>
// RANK:         call @ring_device_import(%[[CTX]],
// RANK:         %[[CSLOPE:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<f32, strided<[], offset: ?>>
// RANK:         %[[WIDE:.*]] = arith.index_cast %[[N]] : index to i64
// RANK:         memref.store %[[WIDE]], %[[PLACE2:.*]][] : memref<i64>
// RANK:         call @ring_device_import(%[[CTX]],
// RANK:         %[[CN:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<i64, strided<[], offset: ?>>

// ring_attention_operands: query, bias, sinks, mean, ids, results, captures and their
// number. What is absent is null.
// RANK:         builtin.unrealized_conversion_cast %[[DQ]] : memref
// RANK:         llvm.getelementptr %[[PQ:[^ ]*]][0]
// RANK:         %[[NOBIAS:.*]] = llvm.mlir.zero : !llvm.ptr
// RANK:         builtin.unrealized_conversion_cast %[[DSINKS]] : memref
// RANK:         llvm.getelementptr %[[PSINKS:[^ ]*]][0]
// RANK:         %[[NOMEAN:.*]] = llvm.mlir.zero : !llvm.ptr
// RANK:         builtin.unrealized_conversion_cast %[[DIDS]] : memref
// RANK:         llvm.getelementptr %[[PQIDS:[^ ]*]][0]
// RANK:         builtin.unrealized_conversion_cast %[[DIDS]] : memref
// RANK:         llvm.getelementptr %[[PKIDS:[^ ]*]][0]
// RANK:         builtin.unrealized_conversion_cast %[[DOUT]] : memref
// RANK:         llvm.getelementptr %[[POUT:[^ ]*]][0]
// RANK:         builtin.unrealized_conversion_cast %[[DLSE]] : memref
// RANK:         llvm.getelementptr %[[PLSE:[^ ]*]][0]
// RANK:         builtin.unrealized_conversion_cast %[[CSLOPE]] : memref
// RANK:         llvm.getelementptr %[[PCAPTURES:[^ ]*]][0]
// RANK:         builtin.unrealized_conversion_cast %[[CN]] : memref
// RANK:         llvm.getelementptr %[[PCAPTURES]][1]
// RANK:         builtin.unrealized_conversion_cast %[[DSINKS]] : memref
// RANK:         llvm.getelementptr %[[PCAPTURES]][2]
// RANK:         %[[THREE:.*]] = arith.constant 3 : i32
// RANK:         llvm.insertvalue %[[PQ]], %{{.*}}[0]
// RANK:         llvm.insertvalue %[[NOBIAS]], %{{.*}}[1]
// RANK:         llvm.insertvalue %[[PSINKS]], %{{.*}}[2]
// RANK:         llvm.insertvalue %[[NOMEAN]], %{{.*}}[3]
// RANK:         llvm.insertvalue %[[PQIDS]], %{{.*}}[4]
// RANK:         llvm.insertvalue %[[PKIDS]], %{{.*}}[5]
// RANK:         llvm.insertvalue %[[POUT]], %{{.*}}[6]
// RANK:         llvm.insertvalue %[[PLSE]], %{{.*}}[7]
// RANK:         llvm.insertvalue %[[PCAPTURES]], %{{.*}}[8]
// RANK:         %[[OSTRUCT:.*]] = llvm.insertvalue %[[THREE]], %{{.*}}[9] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i32)>
// RANK:         llvm.store %[[OSTRUCT]], %[[OPERANDS:[^ ]*]] :
// RANK:         %[[S4:.*]] = call @ring_device_attention_begin(%[[CTX]], %[[KERNEL]], %[[OPERANDS]], %[[HANDLE:.*]]) :
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S4]] : i32), ^
// RANK:         %[[A:.*]] = llvm.load %[[HANDLE]] : !llvm.ptr -> !llvm.ptr
// RANK:         %[[TYPED:.*]] = builtin.unrealized_conversion_cast %[[A]] : !llvm.ptr to !ring.device_attention

// A round: its number, the block that has arrived, and the work list on the host.
// RANK:         %[[SLICES:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.ptr to !ring.slices
// RANK:         %[[LAST:.*]] = arith.extui %{{.*}} : i1 to i32
// RANK:         %[[ATTENTION:.*]] = builtin.unrealized_conversion_cast %[[TYPED]] : !ring.device_attention to !llvm.ptr
// RANK:         %[[ROUND:.*]] = arith.index_cast %{{.*}} : index to i64
// RANK:         builtin.unrealized_conversion_cast %[[DK]] : memref
// RANK:         llvm.getelementptr %[[PK:[^ ]*]][0]
// RANK:         builtin.unrealized_conversion_cast %[[DK]] : memref
// RANK:         llvm.getelementptr %[[PV:[^ ]*]][0]
// RANK:         %[[WORK:.*]] = builtin.unrealized_conversion_cast %[[SLICES]] : !ring.slices to !llvm.ptr
// RANK:         %[[S5:.*]] = call @ring_device_attention_round(%[[CTX]], %[[ATTENTION]], %[[ROUND]], %[[PK]], %[[PV]], %[[WORK]], %[[LAST]]) :
// RANK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S5]] : i32), ^
// RANK:       ^[[EXIT]](%[[STATUS:.*]]: i32):
// RANK-NEXT:    %[[DONE:.*]] = call @ring_device_finish(%[[CTX]], %[[STATUS]])
// RANK-NEXT:    %[[END:.*]] = call @ring_end(%[[CTX]], %[[DONE]])
// RANK-NEXT:    return %[[END]] : i32

// What is visible is said once, of the copy on the host, and serves each work list.
// RUN: ring-opt %t/rank.mlir --convert-ring-to-llvm | FileCheck %s --check-prefix=SEEN
// SEEN:         call @ring_device_host_copy(
// SEEN:         %[[HIDS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<1x8xi32,
// SEEN:         builtin.unrealized_conversion_cast %[[HIDS]] : memref
// SEEN:         builtin.unrealized_conversion_cast %[[HIDS]] : memref
// SEEN:         call @ring_visibility_init(%[[VISIBLE:[^,]*]],
// SEEN:         call @ring_device_attention_begin(
// SEEN-NOT:     call @ring_visibility_init
// SEEN:         call @ring_slices_init(%[[WORK:[^,]*]], {{.*}}, %[[VISIBLE]]) :
// SEEN:         %[[TYPED:.*]] = builtin.unrealized_conversion_cast %[[WORK]] : !llvm.ptr to !ring.slices
// SEEN:         %[[ADDRESS:.*]] = builtin.unrealized_conversion_cast %[[TYPED]] : !ring.slices to !llvm.ptr
// SEEN:         call @ring_device_attention_round({{.*}}, %[[ADDRESS]], %{{[^,]*}}) :

// Kernels that have only been lowered have no images, and an attention with neither
// operands nor captures besides its query has none.
// RUN: sed -e '/gpu.binary/d; s/sinks(.*) captures(.*)$/outs(%dout)/; s/: !q, !sinks, .*, index, !sinks/: !q, !q/' %t/rank.mlir | ring-opt --convert-ring-to-llvm | FileCheck %s --check-prefix=PLAIN
// PLAIN-COUNT-2: call @ring_device_export(
// PLAIN:         %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// PLAIN-NEXT:    %[[NAME:.*]] = llvm.mlir.addressof @ring_string_kernel
// PLAIN-NEXT:    %[[ZERO:.*]] = arith.constant 0 : i32
// PLAIN:         llvm.insertvalue %[[NAME]], %{{.*}}[0] : !llvm.struct<(ptr, ptr, i32, i32,
// PLAIN-NEXT:    llvm.insertvalue %[[NONE]], %{{.*}}[1]
// PLAIN-NEXT:    llvm.insertvalue %[[ZERO]], %{{.*}}[2]
// PLAIN:         %[[BIAS:.*]] = llvm.mlir.zero
// PLAIN-NEXT:    %[[SINKS:.*]] = llvm.mlir.zero
// PLAIN-NEXT:    %[[MEAN:.*]] = llvm.mlir.zero
// PLAIN-NEXT:    %[[QIDS:.*]] = llvm.mlir.zero
// PLAIN-NEXT:    %[[KIDS:.*]] = llvm.mlir.zero
// PLAIN:         %[[LSE:.*]] = llvm.mlir.zero
// PLAIN-NEXT:    %[[CAPTURES:.*]] = llvm.mlir.zero
// PLAIN-NEXT:    %[[NO:.*]] = arith.constant 0 : i32
// PLAIN:         llvm.insertvalue %[[BIAS]], %{{.*}}[1]
// PLAIN-NEXT:    llvm.insertvalue %[[SINKS]], %{{.*}}[2]
// PLAIN-NEXT:    llvm.insertvalue %[[MEAN]], %{{.*}}[3]
// PLAIN-NEXT:    llvm.insertvalue %[[QIDS]], %{{.*}}[4]
// PLAIN-NEXT:    llvm.insertvalue %[[KIDS]], %{{.*}}[5]
// PLAIN-NEXT:    llvm.insertvalue %{{.*}}, %{{.*}}[6]
// PLAIN-NEXT:    llvm.insertvalue %[[LSE]], %{{.*}}[7]
// PLAIN-NEXT:    llvm.insertvalue %[[CAPTURES]], %{{.*}}[8]
// PLAIN-NEXT:    llvm.insertvalue %[[NO]], %{{.*}}[9]

// Whatever a function asks of the GPU, it takes it first.
// RUN: ring-opt %t/import.mlir --convert-ring-to-llvm | FileCheck %s --check-prefix=IMPORT
// IMPORT:        call @ring_device_begin(
// IMPORT:        call @ring_device_import(
// IMPORT:        call @ring_device_finish(
// IMPORT-NEXT:   call @ring_end(

// Where a rank function is there twice, the rank's device decides.
// RUN: ring-opt %t/callee.mlir --convert-ring-to-llvm | FileCheck %s --check-prefix=CALLEE
// CALLEE-LABEL: func.func private @local(
// CALLEE-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %[[X:[^:]*]]: memref
// CALLEE-DAG:     %[[CPU:.*]] = constant @r : (!llvm.ptr, memref<4xf32, strided<[?], offset: ?>>) -> i32
// CALLEE-DAG:     %[[GPU:.*]] = constant @r_gpu : (!llvm.ptr, memref<4xf32, strided<[?], offset: ?>>) -> i32
// CALLEE:         %[[DEVICE:.*]] = call @ring_device(%[[CTX]]) : (!llvm.ptr) -> i32
// CALLEE:         %[[ZERO:.*]] = arith.constant 0 : i32
// CALLEE:         %[[IS:.*]] = arith.cmpi eq, %[[DEVICE]], %[[ZERO]] : i32
// CALLEE:         %[[CHOSEN:.*]] = arith.select %[[IS]], %[[CPU]], %[[GPU]]
// CALLEE:         %[[STATUS:.*]] = call_indirect %[[CHOSEN]](%[[CTX]], %[[X]])
// CALLEE:         cf.cond_br %{{.*}}, ^{{.*}}(%[[STATUS]] : i32), ^
// CALLEE-LABEL: func.func private @r_body(
// CALLEE-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %{{[^:]*}}: !llvm.ptr
// CALLEE:         %[[DEVICE:.*]] = call @ring_device(%[[CTX]]) : (!llvm.ptr) -> i32
// CALLEE:         %[[PART:.*]] = memref.reinterpret_cast
// CALLEE-DAG:     %[[CPU:.*]] = constant @r : (!llvm.ptr, memref<4xf32, strided<[?], offset: ?>>) -> i32
// CALLEE-DAG:     %[[GPU:.*]] = constant @r_gpu : (!llvm.ptr, memref<4xf32, strided<[?], offset: ?>>) -> i32
// CALLEE-DAG:     %[[ZERO:.*]] = arith.constant 0 : i32
// CALLEE:         %[[IS:.*]] = arith.cmpi eq, %[[DEVICE]], %[[ZERO]] : i32
// CALLEE:         %[[CHOSEN:.*]] = arith.select %[[IS]], %[[CPU]], %[[GPU]]
// CALLEE:         %[[STATUS:.*]] = call_indirect %[[CHOSEN]](%[[CTX]], %[[PART]])
// CALLEE:         return %[[STATUS]] : i32

//--- rank.mlir
!q = memref<1x4x?x16xbf16, strided<[?, ?, ?, ?], offset: ?>>
!k = memref<1x2x?x16xbf16, strided<[?, ?, ?, ?], offset: ?>>
!lse = memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>
!ids = memref<1x8xi32, strided<[?, ?], offset: ?>>
!sinks = memref<4xf32, strided<[?], offset: ?>>
gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80">, properties = {chip = "sm_80", kind = "cubin"}, "ELF">, #gpu.object<#nvvm.target<chip = "sm_80">, properties = {chip = "sm_86", kind = "ptx"}, assembly = ".version">]
memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 8, 8, 1], [1, 8, 8, 8, 1]]>
shard.grid @ring(shape = 2)
func.func private @r(%q: !q, %k: !k, %ids: !ids, %sinks: !sinks, %slope: f32, %n: index, %out: !q, %lse: !lse) attributes {ring.rank_of = @f} {
  %table = memref.get_global @table : memref<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %dq = ring.device.import %q : !q to !q
  %dk = ring.device.import %k : !k to !k
  %dids = ring.device.import %ids : !ids to !ids
  %hids = ring.device.host_copy %ids : !ids to !ids
  %dsinks = ring.device.import %sinks : !sinks to !sinks
  %dout = ring.device.export %out : !q to !q
  %dlse = ring.device.export %lse : !lse to !lse
  %a = ring.device.attention @kernels::@kernel query(%dq) sinks(%dsinks) segments(%dids, %dids) outs(%dout, %dlse) captures(%slope, %n, %dsinks)
    {threads = 128 : i32, shared_bytes = 1024 : i32, query_tile = 64 : i32, key_tile = 32 : i32, heads = 4 : i32, head_blocks = 1 : i32, state_floats = 512 : i32}
    : !q, !sinks, !ids, !ids, !q, !lse, f32, index, !sinks
  %s = ring.slices at(%rank, %c0 in %table, %table) segments(%hids, %hids : !ids, !ids) : memref<2x5xi64>, memref<2x5xi64>
  %last = arith.constant true
  ring.device.round %a, %c0, %dk, %dk slices(%s) last(%last) : !k, !k
  return
}

//--- import.mlir
!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @r(%x: !b) attributes {ring.rank_of = @f} {
  %d = ring.device.import %x : !b to !b
  return
}

//--- callee.mlir
!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @local(%x: !b) attributes {ring.local, ring.rank_of = @g} {
  ring.call @r () outs(%x) {ring.device_callee = @r_gpu} : (!b) -> ()
  return
}
func.func private @r(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func private @r_gpu(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<?x4xf32>) {
  ring.host.run @r ranks 2 (%s) outs() {ring.device_callee = @r_gpu} : (memref<?x4xf32>) -> ()
  return
}
