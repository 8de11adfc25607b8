// RUN: ring-opt %s --canonicalize | FileCheck %s
// Freed memory is filled: patterns use none.
// RUN: env MALLOC_PERTURB_=165 GLIBC_TUNABLES=glibc.malloc.tcache_count=0 ring-opt %s --canonicalize -o /dev/null

// CHECK-LABEL: @unused_lse_goes
func.func @unused_lse_goes(%q: tensor<1x8x256x64xf32>, %s: tensor<8xf32>) -> tensor<1x8x256x64xf32> {
  // CHECK:      %[[OUT:.*]] = ring.attention {{.*}} sinks(%{{.*}}) mask(<causal>) scale(5.000000e-01) score {
  // CHECK-NEXT: ^bb0(%[[X:[^:]*]]: f32
  // CHECK-NEXT:   arith.negf %[[X]]
  // CHECK:      {note = "kept"} : {{.*}} -> tensor<1x8x256x64xf32>
  // CHECK-NEXT: return %[[OUT]]
  %out, %lse = ring.attention %q, %q, %q sinks(%s) mask(<causal>) scale(0.5)
    score {
    ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
      %y = arith.negf %x : f32
      ring.yield %y : f32
    } {note = "kept"}
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<8xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>)
  return %out : tensor<1x8x256x64xf32>
}

// CHECK-LABEL: @used_lse_stays
func.func @used_lse_stays(%q: tensor<1x8x256x64xf32>) -> tensor<1x8x256xf32> {
  // CHECK: -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>)
  %out, %lse = ring.attention %q, %q, %q
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>)
  return %lse : tensor<1x8x256xf32>
}

// CHECK-LABEL: @mask_that_hides_nothing_goes
func.func @mask_that_hides_nothing_goes(%q: tensor<1x8x256x64xf32>, %k: tensor<1x8x100x64xf32>) -> tensor<1x8x256x64xf32> {
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{[^ ]*}} :
  %out = ring.attention %q, %k, %k mask(<window = [*, *], align = bottom_right>)
    : (tensor<1x8x256x64xf32>, tensor<1x8x100x64xf32>, tensor<1x8x100x64xf32>) -> tensor<1x8x256x64xf32>
  return %out : tensor<1x8x256x64xf32>
}

// CHECK-LABEL: @offsets_without_mask_go
func.func @offsets_without_mask_go(%q: tensor<1x8x256x64xf32>, %n: tensor<1xi32>, %o: tensor<1xi32>) -> tensor<1x8x256x64xf32> {
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{.*}} lengths(%arg1) : {{.*}}, tensor<1xi32>) ->
  %out = ring.attention %q, %q, %q lengths(%n) offsets(%o)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x8x256x64xf32>
  return %out : tensor<1x8x256x64xf32>
}

// CHECK-LABEL: @each_part_of_a_mask_keeps_mask_and_offsets
func.func @each_part_of_a_mask_keeps_mask_and_offsets(%q: tensor<1x8x256x64xf32>, %o: tensor<1xi32>)
    -> (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) {
  // CHECK: offsets(%{{.*}}) mask(<causal>) :
  %causal = ring.attention %q, %q, %q offsets(%o) mask(<causal>)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1xi32>) -> tensor<1x8x256x64xf32>
  // CHECK: offsets(%{{.*}}) mask(<window = [0, *]>) :
  %left = ring.attention %q, %q, %q offsets(%o) mask(<window = [0, *]>)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1xi32>) -> tensor<1x8x256x64xf32>
  // CHECK: offsets(%{{.*}}) mask(<window = [*, 0]>) :
  %right = ring.attention %q, %q, %q offsets(%o) mask(<window = [*, 0]>)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1xi32>) -> tensor<1x8x256x64xf32>
  // CHECK: offsets(%{{.*}}) mask(<chunk = 4>) :
  %chunk = ring.attention %q, %q, %q offsets(%o) mask(<chunk = 4>)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1xi32>) -> tensor<1x8x256x64xf32>
  return %causal, %left, %right, %chunk : tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>
}

// CHECK-LABEL: @default_empty_rows_go
func.func @default_empty_rows_go(%q: tensor<1x8x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) {
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{[^ ]*}} :
  %zero = ring.attention %q, %q, %q empty_rows(zero)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  // CHECK: empty_rows(uniform) :
  %uniform = ring.attention %q, %q, %q empty_rows(uniform)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  // CHECK: empty_rows(nan) :
  %nan = ring.attention %q, %q, %q empty_rows(nan)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return %zero, %uniform, %nan : tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>
}

// CHECK-LABEL: @score_that_changes_nothing_goes
func.func @score_that_changes_nothing_goes(%q: tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32> {
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{[^ ]*}} :
  // CHECK-NOT: ring.yield
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %unused = arith.negf %x : f32
    ring.yield %x : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return %out : tensor<1x8x256x64xf32>
}

// CHECK-LABEL: @unused_attention_goes
func.func @unused_attention_goes(%q: tensor<1x8x256x64xf32>) {
  // CHECK-NEXT: return
  %out = ring.attention %q, %q, %q
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}
