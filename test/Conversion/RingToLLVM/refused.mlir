// RUN: ring-opt %s --convert-ring-to-llvm --split-input-file --verify-diagnostics -o /dev/null

// What the lowering does not take it refuses, before it changes anything.

// A kernel that another conversion has lowered.
llvm.func @lowered(%i: i64, %x: !llvm.ptr) {
  llvm.return
}
func.func @f(%n: index, %x: memref<?xf32>) {
  // expected-error @below {{calls @lowered, expected a 'func.func'}}
  ring.parallel_call @lowered(%n, %n) (%x) : memref<?xf32>
  return
}

// -----

func.func private @kernel(%i: index, %s: !ring.slices) {
  return
}
func.func @f(%n: index, %s: !ring.slices) {
  // expected-error @below {{on '!ring.slices', expected a type that LLVM has}}
  ring.parallel_call @kernel(%n, %n) (%s) : !ring.slices
  return
}

// -----

func.func private @rank()
func.func @f(%s: memref<4x4xf32>) {
  // expected-error @below {{runs @rank, expected a rank function that nothing else calls}}
  ring.host.run @rank ranks 4 (%s) outs(%s) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<4x4xf32>, %x: !b) {
  // expected-error @below {{runs @rank, expected a rank function that nothing else calls}}
  ring.host.run @rank ranks 4 (%s) outs() : (memref<4x4xf32>) -> ()
  call @rank(%x) : (!b) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<4x4xf32>) {
  // expected-error @below {{gives 2 arguments to @rank, expected 1}}
  ring.host.run @rank ranks 4 (%s) outs(%s) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

// expected-note @below {{the function takes 'memref<4xf32>'}}
func.func private @rank(%x: memref<4xf32>) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<4x4xf32>) {
  // expected-error @below {{argument 0 is 'memref<4x4xf32>', which does not fit @rank}}
  ring.host.run @rank ranks 4 (%s) outs() : (memref<4x4xf32>) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
// expected-note @below {{the function takes 'memref<4xf32, strided<[?], offset: ?>>', 'f32'}}
func.func private @rank(%x: !b, %y: f32) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<4x4xf32>, %y: i32) {
  // expected-error @below {{argument 1 is 'i32', which does not fit @rank}}
  ring.host.run @rank ranks 4 (%s) replicated(%y) outs() : (memref<4x4xf32>, i32) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%x: !b) {
  // expected-error @below {{outside a local rank function}}
  ring.call @rank () outs(%x) : (!b) -> ()
  return
}

// -----

// Only the host and local functions run others: this one has rounds of its own.
!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func private @other(%x: !b) attributes {ring.rank_of = @f} {
  // expected-error @below {{outside a local rank function}}
  ring.call @rank () outs(%x) : (!b) -> ()
  return
}

// -----

// The function is local to no ranks.
!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%x: !b) attributes {ring.local} {
  // expected-error @below {{outside a local rank function}}
  ring.call @rank () outs(%x) : (!b) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @local(%x: !b) attributes {ring.local, ring.rank_of = @f} {
  // expected-error @below {{calls the local function @local, expected one with rounds}}
  ring.call @local () outs(%x) : (!b) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(!b) attributes {ring.rank_of = @f}
func.func private @local(%x: !b) attributes {ring.local, ring.rank_of = @f} {
  // expected-error @below {{runs @rank, expected a rank function that nothing else calls}}
  ring.call @rank () outs(%x) : (!b) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func private @local(%x: !b) attributes {ring.local, ring.rank_of = @f} {
  // expected-error @below {{gives 2 arguments to @rank, expected 1}}
  ring.call @rank (%x) outs(%x) : (!b, !b) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
// expected-note @below {{the function takes 'memref<4xf32, strided<[?], offset: ?>>', 'f32'}}
func.func private @rank(%x: !b, %y: f32) attributes {ring.rank_of = @f} {
  return
}
func.func private @local(%x: !b, %y: memref<4xf16>) attributes {ring.local, ring.rank_of = @f} {
  // expected-error @below {{argument 1 is 'memref<4xf16>', which does not fit @rank}}
  ring.call @rank (%x) outs(%y) : (!b, memref<4xf16>) -> ()
  return
}

// -----

func.func private @rank(%x: tensor<4xf32>) attributes {ring.rank_of = @f} {
  return
}
func.func private @local(%x: tensor<4xf32>) attributes {ring.local, ring.rank_of = @f} {
  // expected-error @below {{on tensors, expected memrefs: bufferize first}}
  %r = ring.call @rank () outs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<4x4xf32>) {
  // expected-error @below {{'ring.host.run' op ranks is 4294967298, expected 1 to 1024}}
  ring.host.run @rank ranks 4294967298 (%s) outs() : (memref<4x4xf32>) -> ()
  return
}

// -----

shard.grid @ring(shape = 2)
func.func private @helper(%t: index) -> index {
  // expected-error @below {{'ring.owner' in a function that others call, expected it in a host or rank function}}
  %o = ring.owner %t on @ring axis 0
  return %o : index
}
func.func @f(%t: index) {
  %o = call @helper(%t) : (index) -> index
  return
}

// -----

shard.grid @ring(shape = 2)
func.func private @f(%k: memref<4xf32>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-error @below {{inside 'scf.for', expected control flow of cf only}}
    %f = ring.permute_start %k on @ring axis 0 : memref<4xf32>
    %r = ring.permute_wait %f : !ring.future<memref<4xf32>>
  }
  return
}

// -----

shard.grid @ring(shape = 2)
!f = !ring.future<memref<4xf32>>
func.func private @f(%k: memref<4xf32>, %c: i1) attributes {ring.rank_of = @f} {
  %f = ring.permute_start %k on @ring axis 0 : memref<4xf32>
  // expected-error @below {{'arith.select' carries a transfer, expected control flow of cf only}}
  %g = arith.select %c, %f, %f : !f
  %r = ring.permute_wait %g : !f
  return
}

// -----

!f = !ring.future<memref<4xf32>>
// expected-error @below {{takes '!ring.future<memref<4xf32>>', expected strided memrefs in the default memory}}
func.func private @f(%f: !f) attributes {ring.rank_of = @f} {
  %r = ring.permute_wait %f : !f
  return
}

// -----

!m = memref<4x4xf32, affine_map<(a, b) -> (a, b floordiv 2)>>
// expected-error @below {{takes 'memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2)>>', expected strided memrefs in the default memory}}
func.func @f(%m: !m) {
  return
}

// -----

shard.grid @ring(shape = 2)
!m = memref<4xf32, 1>
func.func private @f(%p: index) attributes {ring.rank_of = @f} {
  %k = memref.alloc() : !m
  // expected-error @below {{on 'memref<4xf32, 1>', expected strided memrefs in the default memory}}
  %f = ring.permute_start %k on @ring axis 0 : !m
  %r = ring.permute_wait %f : !ring.future<!m>
  return
}

// -----

shard.grid @ring(shape = 2)
!m = memref<1x1x1x1x1x1x4xf32>
func.func private @f(%k: !m) attributes {ring.rank_of = @f} {
  // expected-error @below {{on 'memref<1x1x1x1x1x1x4xf32>', expected 6 dimensions or less}}
  %f = ring.permute_start %k on @ring axis 0 : !m
  %r = ring.permute_wait %f : !ring.future<!m>
  return
}

// -----

shard.grid @ring(shape = 2)
func.func private @f(%k: memref<4xindex>) attributes {ring.rank_of = @f} {
  // expected-error @below {{on 'memref<4xindex>', expected elements that are integers or floats}}
  %f = ring.permute_start %k on @ring axis 0 : memref<4xindex>
  %r = ring.permute_wait %f : !ring.future<memref<4xindex>>
  return
}

// -----

shard.grid @open(shape = 2x?)
func.func private @f() attributes {ring.rank_of = @f} {
  // expected-error @below {{grid @open is no ring of 1 to 1024 ranks}}
  %r = shard.process_linear_index on @open : index
  return
}

// -----

shard.grid @ring(shape = 1024x1024)
func.func private @f() attributes {ring.rank_of = @f} {
  // expected-error @below {{ranks is 1048576, expected 1 to 1024}}
  %r = shard.process_linear_index on @ring : index
  return
}

// -----

// Names of the runtime that something else has.
// expected-error @below {{'@ring_end' is a name of the runtime}}
func.func private @ring_end(f32)
func.func private @f() attributes {ring.rank_of = @f} {
  return
}

// -----

// expected-error @below {{'@ring_string_what' is a name of the runtime}}
func.func private @ring_string_what()
func.func @f(%a: index, %b: index) {
  ring.require_equal %a, %b "what"
  return
}

// -----

// A grid that something else names stays, and so does a module in the module,
// whose calls are not of this module's functions.
module @other {
  shard.grid @ring(shape = 2)
  func.func private @f()
  func.func @g(%t: index) {
    func.call @f() : () -> ()
    %o = ring.owner %t on @ring axis 0
    return
  }
}
shard.grid @ring(shape = 2)
func.func private @f() attributes {ring.rank_of = @g} {
  %r = shard.process_linear_index on @ring : index
  return
}
llvm.func @h() {
  %r = shard.process_linear_index on @ring : index
  llvm.return
}

// -----

// A host has no GPU, its ranks have.
!b = memref<4xf32, strided<[?], offset: ?>>
func.func @f(%x: !b) {
  // expected-error @below {{outside a rank function with rounds}}
  %d = ring.device.import %x : !b to !b
  return
}

// -----

// Nor has a local function: those that it calls take the GPU.
!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @local(%x: !b) attributes {ring.local, ring.rank_of = @f} {
  // expected-error @below {{outside a rank function with rounds}}
  %d = ring.device.host_copy %x : !b to !b
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b, %n: index) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{inside 'scf.for', expected control flow of cf only}}
    %d = ring.device.export %x : !b to !b
  }
  return
}

// -----

!b = memref<4xindex, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  // expected-error @below {{expected elements that are integers or floats}}
  %d = ring.device.import %x : !b to !b
  return
}

// -----

// What an op of the GPU makes stays in its function.
!b = memref<1x1x4x8xf32, strided<[?, ?, ?, ?], offset: ?>>
// expected-error @below {{takes '!ring.device_attention', expected strided memrefs in the default memory}}
func.func private @rank(%x: !b, %a: !ring.device_attention, %s: !ring.slices) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  ring.device.round %a, %c0, %x, %x slices(%s) last(%true) : !b, !b
  return
}

// -----

!b = memref<1x1x4x8xf32, strided<[?, ?, ?, ?], offset: ?>>
func.func private @rank(%x: !b, %c: vector<4xf32>) attributes {ring.rank_of = @f} {
  // expected-error @below {{captures 'vector<4xf32>', expected memrefs, integers, indices or floats}}
  %a = ring.device.attention @kernels::@k query(%x) outs(%x) captures(%c) {threads = 128 : i32, shared_bytes = 1024 : i32, query_tile = 128 : i32, key_tile = 64 : i32, heads = 8 : i32, head_blocks = 8 : i32, state_floats = 512 : i32} : !b, !b, vector<4xf32>
  return
}

// -----

!b = memref<1x1x4x8xf32, strided<[?, ?, ?, ?], offset: ?>>
// expected-note @below {{the images are here}}
gpu.binary @kernels [#gpu.object<#nvvm.target, properties = {kind = "ptx"}, "abc">]
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  // expected-error @below {{has an image without the properties 'kind' and 'chip'}}
  %a = ring.device.attention @kernels::@k query(%x) outs(%x) {threads = 128 : i32, shared_bytes = 1024 : i32, query_tile = 128 : i32, key_tile = 64 : i32, heads = 8 : i32, head_blocks = 8 : i32, state_floats = 512 : i32} : !b, !b
  return
}

// -----

!b = memref<1x1x4x8xf32, strided<[?, ?, ?, ?], offset: ?>>
// expected-note @below {{the images are here}}
gpu.binary @kernels [#gpu.object<#nvvm.target, "abc">]
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  // expected-error @below {{has an image without the properties 'kind' and 'chip'}}
  %a = ring.device.attention @kernels::@k query(%x) outs(%x) {threads = 128 : i32, shared_bytes = 1024 : i32, query_tile = 128 : i32, key_tile = 64 : i32, heads = 8 : i32, head_blocks = 8 : i32, state_floats = 512 : i32} : !b, !b
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<4x4xf32>) {
  // expected-error @below {{runs @absent, expected a rank function that nothing else calls}}
  ring.host.run @rank ranks 4 (%s) outs() {ring.device_callee = @absent} : (memref<4x4xf32>) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
func.func private @gpu(%x: !b, %y: !b) attributes {ring.rank_of = @f} {
  return
}
func.func private @local(%x: !b) attributes {ring.local, ring.rank_of = @f} {
  // expected-error @below {{gives 1 arguments to @gpu, expected 2}}
  ring.call @rank () outs(%x) {ring.device_callee = @gpu} : (!b) -> ()
  return
}

// -----

!b = memref<4xf32, strided<[?], offset: ?>>
func.func private @rank(%x: !b) attributes {ring.rank_of = @f} {
  return
}
// expected-note @below {{the function takes 'memref<?xf32, strided<[?], offset: ?>>'}}
func.func private @gpu(%x: memref<?xf32, strided<[?], offset: ?>>) attributes {ring.rank_of = @f} {
  return
}
func.func @f(%s: memref<4x4xf32>) {
  // expected-error @below {{runs @gpu on GPUs, expected the arguments of @rank}}
  ring.host.run @rank ranks 4 (%s) outs() {ring.device_callee = @gpu} : (memref<4x4xf32>) -> ()
  return
}
