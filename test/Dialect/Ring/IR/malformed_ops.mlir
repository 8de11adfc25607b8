// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @no_operands() {
  // expected-error @+1 {{'ring.attention' op expected 3 or more operands, but found 0}}
  %out = "ring.attention"() ({}) : () -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @no_region(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{'ring.attention' op requires one region}}
  %out = "ring.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}>
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @no_results(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{'ring.attention' op expected 1 or more results}}
  "ring.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}> ({})
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> ()
  return
}

// -----

func.func @segment_sizes_short(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{size mismatch in attribute conversion: 3 vs 9}}
  %out = "ring.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({})
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @segment_sizes_left_out(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{'ring.attention' op operand count (3) does not match with the total size (0) specified in attribute 'operandSegmentSizes'}}
  %out = "ring.attention"(%q, %q, %q) ({})
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @segment_sizes_negative(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{'ring.attention' op 'operandSegmentSizes' attribute cannot have negative elements}}
  %out = "ring.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, -1, 1, 0, 0, 0>}> ({})
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @two_biases(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{'ring.attention' op operand group starting at #3 requires 0 or 1 element, but found 2}}
  %out = "ring.attention"(%q, %q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 2, 0, 0, 0, 0, 0>}> ({})
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @scale_of_64_bits(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{'ring.attention' op attribute 'scale' failed to satisfy constraint: 32-bit float attribute}}
  %out = "ring.attention"(%q, %q, %q) <{scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}> ({})
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @scale_is_integer(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+2 {{unexpected decimal integer literal for a floating point value}}
  // expected-note @+1 {{add a trailing dot to make the literal a float}}
  %out = ring.attention %q, %q, %q scale(1)
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @mask_is_layout(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{Invalid attribute `mask` in property conversion: #ring.layout<zigzag>}}
  %out = "ring.attention"(%q, %q, %q) <{mask = #ring.layout<zigzag>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}> ({})
    : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @unranked(%q: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  %local = ring.scatter %q by %q dim 2 on @ring axis 0 : tensor<*xf32>, tensor<*xf32> -> tensor<*xf32>
  return
}

// -----

func.func @unknown_op(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+1 {{unregistered operation 'ring.atention' found in dialect ('ring') that does not allow unknown operations}}
  %out = "ring.atention"(%q, %q, %q) : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}
