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

// -----

func.func @product(%x: tensor<5xi64>, %a: tensor<i64>) -> tensor<5xi64> {
  // expected-error @+1 {{'tm_tensor.scan' combines elements by something else than an addition}}
  %r:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 0 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.muli %y, %z : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<5xi64>, tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>, tensor<i64>)
  return %r#0 : tensor<5xi64>
}

// -----

func.func @twice(%x: tensor<5xi64>, %a: tensor<i64>) -> tensor<5xi64> {
  // expected-error @+1 {{'tm_tensor.scan' combines elements by something else than an addition}}
  %r:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 0 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.addi %y, %y : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<5xi64>, tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>, tensor<i64>)
  return %r#0 : tensor<5xi64>
}

// -----

func.func @last(%x: tensor<5xi64>, %a: tensor<i64>) -> tensor<i64> {
  // expected-error @+1 {{'tm_tensor.scan' has a use of its last sum, which is not supported}}
  %r:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 0 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.addi %y, %z : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<5xi64>, tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>, tensor<i64>)
  return %r#1 : tensor<i64>
}

// -----

func.func @dimension(%x: tensor<5xi64>, %a: tensor<i64>) -> tensor<5xi64> {
  // expected-error @+1 {{'tm_tensor.scan' runs along dimension 1 of 1}}
  %r:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.addi %y, %z : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<5xi64>, tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>, tensor<i64>)
  return %r#0 : tensor<5xi64>
}

// -----

func.func @accumulator(%x: tensor<5x2xi64>, %a: tensor<5xi64>) -> tensor<5x2xi64> {
  // expected-error @+1 {{'tm_tensor.scan' has an accumulator of type 'tensor<5xi64>', expected 'tensor<2xi64>'}}
  %r:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 0 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.addi %y, %z : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<5x2xi64>, tensor<5x2xi64>, tensor<5xi64>) -> (tensor<5x2xi64>, tensor<5xi64>)
  return %r#0 : tensor<5x2xi64>
}

// -----

func.func @dynamic(%x: tensor<?xi64>, %a: tensor<i64>) -> tensor<?xi64> {
  // expected-error @+1 {{'tm_tensor.scan' has an input of type 'tensor<?xi64>', expected a tensor of static shape, as its result is}}
  %r:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 0 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.addi %y, %z : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<?xi64>, tensor<?xi64>, tensor<i64>) -> (tensor<?xi64>, tensor<i64>)
  return %r#0 : tensor<?xi64>
}
