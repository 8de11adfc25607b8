// RUN: ring-opt %s --convert-ring-to-llvm | FileCheck %s --implicit-check-not="= ring."

// A local function has no rounds of its own, so nothing begins or ends: its
// arguments are checked, and the first bad status of what it calls is its own.

!x = memref<1x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
!y = memref<1x1x?x4xf32>

// CHECK-LABEL: func.func private @local(
// CHECK-SAME:    %[[CTX:[^:]*]]: !llvm.ptr, %[[X:[^:]*]]: memref<1x1x?x4xf32, {{.*}}>, %[[N:[^:]*]]: f32, %[[OUT:[^:]*]]: memref<1x1x?x4xf32, {{.*}}>) -> i32
// CHECK-SAME:    llvm.emit_c_interface
// CHECK-NOT:     @ring_begin
// CHECK:         llvm.mlir.addressof @ring_sizes_1_1_any_4
// CHECK:         %[[S0:.*]] = call @ring_check_argument(%[[CTX]], %c0{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:         cf.cond_br %{{.*}}, ^[[EXIT:.*]](%[[S0]] : i32), ^
// CHECK:         %[[S1:.*]] = call @ring_check_argument(%[[CTX]], %c2{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S1]] : i32), ^
// CHECK:         %[[M:.*]] = memref.alloc
// The rank's context, then what the function takes, in the types that it takes.
// CHECK:         %[[MC:.*]] = memref.cast %[[M]] : memref<1x1x?x4xf32> to memref<1x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
// CHECK:         %[[S2:.*]] = call @attention(%[[CTX]], %[[X]], %[[N]], %[[MC]])
// CHECK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S2]] : i32), ^[[GOOD:.*]]
// CHECK:       ^[[GOOD]]:
// CHECK:         %[[MC2:.*]] = memref.cast %[[M]]
// CHECK:         %[[S3:.*]] = call @attention(%[[CTX]], %[[MC2]], %[[N]], %[[OUT]])
// CHECK:         cf.cond_br %{{.*}}, ^[[EXIT]](%[[S3]] : i32), ^
// CHECK:         cf.br ^[[EXIT]](%c0{{.*}} : i32)
// CHECK:       ^[[EXIT]](%[[STATUS:.*]]: i32):
// CHECK-NEXT:    return %[[STATUS]] : i32
func.func private @local(%x: !x, %n: f32, %out: !x) attributes {ring.local, ring.rank_of = @f} {
  %c2 = arith.constant 2 : index
  %rows = memref.dim %x, %c2 : !x
  %m = memref.alloc(%rows) : !y
  ring.call @attention (%x, %n) outs(%m) : (!x, f32, !y) -> ()
  ring.call @attention (%m, %n) outs(%out) : (!y, f32, !x) -> ()
  memref.dealloc %m : !y
  return
}

// The function with rounds is as it is where the host runs it.
// CHECK-LABEL: func.func private @attention(
// CHECK-SAME:    %[[CTX:[^:]*]]: !llvm.ptr,
// CHECK:         call @ring_begin(%[[CTX]],
// CHECK:         call @ring_end(%[[CTX]],
func.func private @attention(%q: !x, %n: f32, %out: !x) attributes {ring.rank_of = @f} {
  return
}

// The host runs the local function.
// CHECK-LABEL: func.func @f(
// CHECK:         call @ring_host_run(
// CHECK-LABEL: func.func private @local_body(
// CHECK:         call @local(
func.func @f(%s: memref<?x1x1x4x4xf32>, %n: f32) {
  ring.host.run @local ranks 2 (%s) replicated(%n) outs(%s) : (memref<?x1x1x4x4xf32>, f32, memref<?x1x1x4x4xf32>) -> ()
  return
}
