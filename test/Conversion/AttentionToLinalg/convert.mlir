// RUN: ring-opt %s --allow-unregistered-dialect --convert-attention-to-linalg --split-input-file | FileCheck %s --implicit-check-not=tm_tensor --implicit-check-not=iree
// RUN: ring-opt %s --allow-unregistered-dialect --split-input-file \
// RUN:   --pass-pipeline='builtin.module(convert-attention-to-linalg,func.func(ring-raise-attention))' | FileCheck %s --check-prefix=RAISED

// Attention ops of dialects that are not linked become their definition, and
// that is recognised again, mask and all.

// CHECK-LABEL: func @scale(
// CHECK-SAME: %[[Q:.*]]: tensor<2x8x4xf32>, %[[K:.*]]: tensor<2x6x4xf32>, %[[V:.*]]: tensor<2x6x5xf32>, %[[O:.*]]: tensor<2x8x5xf32>)
// CHECK: %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: linalg.generic {{.*}} ins(%[[Q]], %[[K]] : tensor<2x8x4xf32>, tensor<2x6x4xf32>)
// CHECK: arith.mulf %{{.*}}, %[[SCALE]]
// RAISED-LABEL: func @scale
// RAISED: ring.attention {{.*}} scale(2.500000e-01) : (tensor<1x2x8x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x5xf32>) -> tensor<1x2x8x5xf32>
func.func @scale(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %o: tensor<2x8x5xf32>) -> tensor<2x8x5xf32> {
  %r = "tm_tensor.attention"(%q, %k, %v, %o) <{operandSegmentSizes = array<i32: 3, 1>, scale = 0.25 : f64}>
    : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  return %r : tensor<2x8x5xf32>
}

// -----

// CHECK-LABEL: func @default_scale
// CHECK: arith.constant 5.000000e-01 : f32
// RAISED-LABEL: func @default_scale
// RAISED: ring.attention %arg0, %arg1, %arg2 bias(%arg3) scale(5.000000e-01) empty_rows(nan) :
func.func @default_scale(%q: tensor<3x2x8x4xf32>, %k: tensor<3x2x6x4xf32>, %v: tensor<3x2x6x5xf32>, %m: tensor<3x2x8x6xf32>, %o: tensor<3x2x8x5xf32>) -> tensor<3x2x8x5xf32> {
  %r = "tm_tensor.attention"(%q, %k, %v, %m, %o) <{operandSegmentSizes = array<i32: 4, 1>}>
    : (tensor<3x2x8x4xf32>, tensor<3x2x6x4xf32>, tensor<3x2x6x5xf32>, tensor<3x2x8x6xf32>, tensor<3x2x8x5xf32>) -> tensor<3x2x8x5xf32>
  return %r : tensor<3x2x8x5xf32>
}

// -----

// Booleans hide where they are false.
// CHECK-LABEL: func @booleans
// CHECK: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: i1, %{{.*}}: f32):
// CHECK-NEXT: arith.select %[[B]], %[[S]], %
// RAISED-LABEL: func @booleans
// RAISED: ring.attention %arg0, %arg1, %arg2 scale(5.000000e-01) empty_rows(nan) score {
func.func @booleans(%q: tensor<3x2x8x4xf32>, %k: tensor<3x2x6x4xf32>, %v: tensor<3x2x6x5xf32>, %m: tensor<3x2x8x6xi1>, %o: tensor<3x2x8x5xf32>) -> tensor<3x2x8x5xf32> {
  %r = "tm_tensor.attention"(%q, %k, %v, %m, %o) <{operandSegmentSizes = array<i32: 4, 1>}>
    : (tensor<3x2x8x4xf32>, tensor<3x2x6x4xf32>, tensor<3x2x6x5xf32>, tensor<3x2x8x6xi1>, tensor<3x2x8x5xf32>) -> tensor<3x2x8x5xf32>
  return %r : tensor<3x2x8x5xf32>
}

// -----

// The maps say where what is: values as [head, channel, key].
#q = affine_map<(h, q, c, d, k) -> (h, q, d)>
#k = affine_map<(h, q, c, d, k) -> (h, k, d)>
#v = affine_map<(h, q, c, d, k) -> (h, c, k)>
#s = affine_map<(h, q, c, d, k) -> ()>
#o = affine_map<(h, q, c, d, k) -> (h, q, c)>
// RAISED-LABEL: func @maps
// RAISED: %[[V:.*]] = linalg.transpose ins(%{{.*}} : tensor<3x5x6xf32>) {{.*}} permutation = [0, 2, 1]
// RAISED: ring.attention {{.*}} scale(5.000000e-01) : (tensor<1x3x8x4xf32>, tensor<1x3x6x4xf32>, tensor<1x3x6x5xf32>) -> tensor<1x3x8x5xf32>
func.func @maps(%q: tensor<3x8x4xf32>, %k: tensor<3x6x4xf32>, %v: tensor<3x5x6xf32>, %o: tensor<3x8x5xf32>) -> tensor<3x8x5xf32> {
  %scale = arith.constant 0.5 : f32
  %r = "iree_linalg_ext.attention"(%q, %k, %v, %scale, %o) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<3x8x4xf32>, tensor<3x6x4xf32>, tensor<3x5x6xf32>, f32, tensor<3x8x5xf32>) -> tensor<3x8x5xf32>
  return %r : tensor<3x8x5xf32>
}
