// RUN: ring-opt %s --allow-unregistered-dialect --convert-attention-to-linalg --split-input-file --verify-diagnostics

func.func @attribute(%q: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{'tm_tensor.attention' has the attribute 'is_causal', which is not understood}}
  %r = "tm_tensor.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 3, 1>, is_causal}>
    : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %r : tensor<2x8x4xf32>
}

// -----

func.func @operands(%q: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{'tm_tensor.attention' has 3 operands, expected query, key, value, perhaps a mask, and the output}}
  %r = "tm_tensor.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 2, 1>}>
    : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %r : tensor<2x8x4xf32>
}

// -----

func.func @type(%q: tensor<2x8x4xf16>) -> tensor<2x8x4xf16> {
  // expected-error @+1 {{'tm_tensor.attention' has an operand of type 'tensor<2x8x4xf16>', expected an f32 tensor of static shape}}
  %r = "tm_tensor.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 3, 1>}>
    : (tensor<2x8x4xf16>, tensor<2x8x4xf16>, tensor<2x8x4xf16>, tensor<2x8x4xf16>) -> tensor<2x8x4xf16>
  return %r : tensor<2x8x4xf16>
}

// -----

// Grouped heads are not in its definition.
func.func @heads(%q: tensor<4x8x4xf32>, %k: tensor<2x8x4xf32>) -> tensor<4x8x4xf32> {
  // expected-error @+1 {{'tm_tensor.attention' has operands whose sizes do not agree}}
  %r = "tm_tensor.attention"(%q, %k, %k, %q) <{operandSegmentSizes = array<i32: 3, 1>}>
    : (tensor<4x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  return %r : tensor<4x8x4xf32>
}

// -----

func.func @result(%q: tensor<2x8x4xf32>) -> tensor<2x8x5xf32> {
  // expected-error @+1 {{'tm_tensor.attention' has results of other types than 'tensor<2x8x4xf32>'}}
  %r = "tm_tensor.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 3, 1>}>
    : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x5xf32>
  return %r : tensor<2x8x5xf32>
}

// -----

#q = affine_map<(h, q, c, d, k) -> (h, q, d)>
#k = affine_map<(h, q, c, d, k) -> (h, k, d)>
#v = affine_map<(h, q, c, d, k) -> (h, k, c)>
#s = affine_map<(h, q, c, d, k) -> ()>
#o = affine_map<(h, q, c, d, k) -> (h, q, c)>
func.func @region(%q: tensor<3x8x4xf32>, %scale: f32) -> tensor<3x8x4xf32> {
  // expected-error @+1 {{'iree_linalg_ext.attention' changes scores in its region, which is not supported}}
  %r = "iree_linalg_ext.attention"(%q, %q, %q, %scale, %q) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%scale) : (f32) -> ()
  }) : (tensor<3x8x4xf32>, tensor<3x8x4xf32>, tensor<3x8x4xf32>, f32, tensor<3x8x4xf32>) -> tensor<3x8x4xf32>
  return %r : tensor<3x8x4xf32>
}

// -----

#q = affine_map<(h, q, c, d, k) -> (h, q, d)>
#k = affine_map<(h, q, c, d, k) -> (h, k, d)>
#v = affine_map<(h, q, c, d, k) -> (h, k, c)>
#s = affine_map<(h, q, c, d, k) -> ()>
#m = affine_map<(h, q, c, d, k) -> (h, q, d)>
#o = affine_map<(h, q, c, d, k) -> (h, q, c)>
func.func @mask(%q: tensor<3x8x4xf32>, %scale: f32) -> tensor<3x8x4xf32> {
  // expected-error @+1 {{'iree_linalg_ext.attention' has a mask that depends on channels}}
  %r = "iree_linalg_ext.attention"(%q, %q, %q, %scale, %q, %q) <{indexing_maps = [#q, #k, #v, #s, #m, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<3x8x4xf32>, tensor<3x8x4xf32>, tensor<3x8x4xf32>, f32, tensor<3x8x4xf32>, tensor<3x8x4xf32>) -> tensor<3x8x4xf32>
  return %r : tensor<3x8x4xf32>
}

// -----

// The sum would be over queries.
#q = affine_map<(h, q, c, d, k) -> (h, q, d)>
#k = affine_map<(h, q, c, d, k) -> (h, k, d)>
#v = affine_map<(h, q, c, d, k) -> (h, k, c)>
#s = affine_map<(h, q, c, d, k) -> ()>
#o = affine_map<(h, q, c, d, k) -> (h, k, c)>
func.func @loops(%q: tensor<3x8x4xf32>, %scale: f32) -> tensor<3x8x4xf32> {
  // expected-error @+1 {{'iree_linalg_ext.attention' has a loop that is none of an attention's}}
  %r = "iree_linalg_ext.attention"(%q, %q, %q, %scale, %q) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<3x8x4xf32>, tensor<3x8x4xf32>, tensor<3x8x4xf32>, f32, tensor<3x8x4xf32>) -> tensor<3x8x4xf32>
  return %r : tensor<3x8x4xf32>
}
