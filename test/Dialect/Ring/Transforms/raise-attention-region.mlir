// DEFINE: %{raise} = ring-opt %s --ring-raise-attention --split-input-file --remarks-filter=ring-raise-attention
// RUN: %{raise} | FileCheck %s
// RUN: %{raise} 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK --implicit-check-not=Remark

// Pairs that a score region hides by -inf, as follows from positions, become a
// mask; what the region does beside stays.

// REMARK: Function=causal | Remark="raised to a mask", mask=#ring.mask<causal>
// REMARK: Function=twice | Remark="raised to a mask", mask="#ring.mask<causal, window = [2, 0]>"
// REMARK: Function=part | Remark="raised to a mask", mask=#ring.mask<causal>
// REMARK: Function=bias | Remark="raised to a mask", mask=#ring.mask<causal>
// REMARK: Function=added | Remark="raised to a mask", mask=#ring.mask<causal>

!t = tensor<1x4x8x16xf32>

// CHECK-LABEL: func @causal
// CHECK: ring.attention %arg0, %arg0, %arg0 mask(<causal>) score {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: ring.yield %[[Y]]
func.func @causal(%q: !t) -> !t {
  %low = arith.constant 0xFF800000 : f32
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %future = arith.cmpi sgt, %j, %i : index
    %y = arith.addf %x, %x : f32
    %z = arith.select %future, %low, %y : f32
    ring.yield %z : f32
  } : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// Nothing else is left, so there is no region any more.
!t = tensor<1x4x8x16xf32>
// CHECK-LABEL: func @twice
// CHECK: ring.attention %arg0, %arg0, %arg0 mask(<causal, window = [2, 0]>) :
func.func @twice(%q: !t) -> !t {
  %low = arith.constant 0xFF800000 : f32
  %two = arith.constant 2 : index
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %past = arith.cmpi sle, %j, %i : index
    %y = arith.select %past, %x, %low : f32
    %d = arith.subi %i, %j : index
    %near = arith.cmpi sle, %d, %two : index
    %z = arith.select %near, %y, %low : f32
    ring.yield %z : f32
  } : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// Heads apart: the part that is of positions alone is a mask as well.
!t = tensor<1x4x8x16xf32>
// CHECK-LABEL: func @part
// CHECK: ring.attention %arg0, %arg0, %arg0 mask(<causal>) score {
// CHECK: arith.select
func.func @part(%q: !t) -> !t {
  %low = arith.constant 0xFF800000 : f32
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %past = arith.cmpi sle, %j, %i : index
    %own = arith.cmpi ne, %j, %h : index
    %both = arith.andi %past, %own : i1
    %z = arith.select %both, %x, %low : f32
    ring.yield %z : f32
  } : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// What is hidden inside may be seen again outside, and a finite score is not
// hidden.
!t = tensor<1x4x8x16xf32>
// CHECK-LABEL: func @inside
// CHECK: ring.attention %arg0, %arg0, %arg0 score {
// CHECK: ring.attention %arg0, %arg0, %arg0 score {
func.func @inside(%q: !t) -> (!t, !t) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %past = arith.cmpi sle, %j, %i : index
    %y = arith.select %past, %x, %low : f32
    %z = arith.maximumf %y, %zero : f32
    ring.yield %z : f32
  } : (!t, !t, !t) -> !t
  %low30 = arith.constant -1.0e30 : f32
  %p = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %past = arith.cmpi sle, %j, %i : index
    %y = arith.select %past, %x, %low30 : f32
    ring.yield %y : f32
  } : (!t, !t, !t) -> !t
  return %o, %p : !t, !t
}

// -----

// With offsets, positions are others than indices.
!t = tensor<1x4x8x16xf32>
// CHECK-LABEL: func @offsets
// CHECK: ring.attention %arg0, %arg0, %arg0 offsets(%arg1) score {
func.func @offsets(%q: !t, %at: tensor<1xi32>) -> !t {
  %low = arith.constant 0xFF800000 : f32
  %o = ring.attention %q, %q, %q offsets(%at) score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %past = arith.cmpi sle, %j, %i : index
    %y = arith.select %past, %x, %low : f32
    ring.yield %y : f32
  } : (!t, !t, !t, tensor<1xi32>) -> !t
  return %o : !t
}

// -----

// A bias that is a mask, as PyTorch's attn_mask of booleans becomes one.
!t = tensor<1x1x3x16xf32>
// CHECK-LABEL: func @bias
// CHECK: ring.attention %arg0, %arg0, %arg0 mask(<causal>) :
func.func @bias(%q: !t) -> !t {
  %table = arith.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x1x3x3xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(b, h, q, k) -> (b, h, q, k)>, affine_map<(b, h, q, k) -> (b, h, q, k)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%table : tensor<1x1x3x3xi1>) outs(%e : tensor<1x1x3x3xf32>) {
  ^bb0(%seen: i1, %out: f32):
    %0 = arith.select %seen, %zero, %low : f32
    linalg.yield %0 : f32
  } -> tensor<1x1x3x3xf32>
  %o = ring.attention %q, %q, %q bias(%b) : (!t, !t, !t, tensor<1x1x3x3xf32>) -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x3x16xf32>
// CHECK-LABEL: func @added
// CHECK: ring.attention %arg0, %arg0, %arg0 mask(<causal>) :
// CHECK: ring.attention %arg0, %arg0, %arg0 bias(%{{.*}}) :
// CHECK: ring.attention %arg0, %arg0, %arg0 bias(%{{.*}}) :
func.func @added(%q: !t) -> (!t, !t, !t) {
  %b = arith.constant dense<[[[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %o = ring.attention %q, %q, %q bias(%b) : (!t, !t, !t, tensor<1x1x3x3xf32>) -> !t
  // A row that is hidden all along would be the mean of all values.
  %finite = arith.constant dense<[[[[0.0, -3.0e38, -3.0e38], [0.0, 0.0, -3.0e38], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %p = ring.attention %q, %q, %q bias(%finite) : (!t, !t, !t, tensor<1x1x3x3xf32>) -> !t
  // +inf takes all weight.
  %most = arith.constant dense<[[[[0.0, 0x7F800000, 0x7F800000], [0.0, 0.0, 0x7F800000], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %r = ring.attention %q, %q, %q bias(%most) : (!t, !t, !t, tensor<1x1x3x3xf32>) -> !t
  return %o, %p, %r : !t, !t, !t
}

// -----

// The region sees the bias, and may make something else of -inf.
!t = tensor<1x1x3x16xf32>
// CHECK-LABEL: func @before
// CHECK: ring.attention %arg0, %arg0, %arg0 bias(%{{.*}}) score {
func.func @before(%q: !t) -> !t {
  %zero = arith.constant 0.0 : f32
  %b = arith.constant dense<[[[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %o = ring.attention %q, %q, %q bias(%b) score {
  ^bb0(%x: f32, %i0: index, %h: index, %i: index, %j: index):
    %y = arith.maximumf %x, %zero : f32
    ring.yield %y : f32
  } : (!t, !t, !t, tensor<1x1x3x3xf32>) -> !t
  return %o : !t
}
