// RUN: ring-opt %s --allow-unregistered-dialect --convert-stablehlo-to-linalg --split-input-file --verify-diagnostics

// What is not understood is an error at the op, never a guess.

func.func @unknown_op(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.sort' is not supported}}
  %y = "stablehlo.sort"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @unknown_attribute(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.add' has the attribute 'saturate', which is not understood}}
  %y = "stablehlo.add"(%x, %x) <{saturate = true}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'stablehlo.negate' is of type 'tensor<?xf32>', expected tensors of static shape}}
  %y = "stablehlo.negate"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @unsigned(%x: tensor<8xui32>) -> tensor<8xui32> {
  // expected-error @+1 {{'stablehlo.add' is of type 'tensor<8xui32>', expected tensors of static shape, of floats or signless integers}}
  %y = "stablehlo.add"(%x, %x) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
  return %y : tensor<8xui32>
}

// -----

func.func @not_for_the_type(%x: tensor<8xi32>) -> tensor<8xi32> {
  // expected-error @+1 {{'stablehlo.exponential' of 'i32' is not supported}}
  %y = "stablehlo.exponential"(%x) : (tensor<8xi32>) -> tensor<8xi32>
  return %y : tensor<8xi32>
}

// -----

func.func @operands(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.add' has 1 operands, expected 2}}
  %y = "stablehlo.add"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Nothing is broadcast silently.
func.func @shapes(%x: tensor<8xf32>, %z: tensor<1xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.add' has an operand of type 'tensor<1xf32>', expected the shape of 'tensor<8xf32>'}}
  %y = "stablehlo.add"(%x, %z) : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @result_type(%x: tensor<8xf32>) -> tensor<8xf64> {
  // expected-error @+1 {{'stablehlo.add' is of type 'tensor<8xf64>', expected elements of type 'f32'}}
  %y = "stablehlo.add"(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf64>
  return %y : tensor<8xf64>
}

// -----

func.func @total_order(%x: tensor<8xf32>) -> tensor<8xi1> {
  // expected-error @+1 {{'stablehlo.compare' compares 'f32' as 'TOTALORDER', which is not supported}}
  %y = "stablehlo.compare"(%x, %x) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  return %y : tensor<8xi1>
}

// -----

func.func @direction(%x: tensor<8xf32>) -> tensor<8xi1> {
  // expected-error @+1 {{'stablehlo.compare' compares by 'ABOUT', which is not understood}}
  %y = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction ABOUT>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  return %y : tensor<8xi1>
}

// -----

func.func @unknown_field(%x: tensor<8xf32>) -> tensor<f32> {
  // expected-error @+1 {{'stablehlo.dot_general' has the attribute 'dot_dimension_numbers' of 'dot<lhs_contracting_dimensions = [0], rhs_sparse_dimensions = [0]>', which is not understood}}
  %y = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_sparse_dimensions = [0]>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @wrong_field(%x: tensor<8xf32>, %z: tensor<4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'stablehlo.dot_general' of 'tensor<8xf32>' and 'tensor<4xf32>' to 'tensor<f32>' is not understood}}
  %y = "stablehlo.dot_general"(%x, %z) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<8xf32>, tensor<4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @mixed(%x: tensor<8xf32>, %z: tensor<8xf64>) -> tensor<f32> {
  // expected-error @+1 {{'stablehlo.dot_general' of 'f64' to 'f32' is not supported}}
  %y = "stablehlo.dot_general"(%x, %z) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<8xf32>, tensor<8xf64>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @region(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @+1 {{'stablehlo.reshape' in a region of 'stablehlo.reduce' is not supported}}
    %c = "stablehlo.reshape"(%a) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @capture(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @+1 {{'stablehlo.add' uses a value from outside its region, which is not supported}}
    %c = "stablehlo.add"(%a, %z) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @repeated_dimension(%x: tensor<8x4xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  // expected-error @+1 {{'stablehlo.reduce' has dimension 5 of 'tensor<8x4xf32>'}}
  %y = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @reshape(%x: tensor<8x4xf32>) -> tensor<33xf32> {
  // expected-error @+1 {{'stablehlo.reshape' cannot reshape 'tensor<8x4xf32>' to 'tensor<33xf32>'}}
  %y = "stablehlo.reshape"(%x) : (tensor<8x4xf32>) -> tensor<33xf32>
  return %y : tensor<33xf32>
}

// -----

func.func @slice(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'stablehlo.slice' cannot cut 'tensor<4xf32>' from 'tensor<8xf32>'}}
  %y = "stablehlo.slice"(%x) <{start_indices = array<i64: 5>, limit_indices = array<i64: 9>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @negative_padding(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<7xf32> {
  // expected-error @+1 {{'stablehlo.pad' with a negative number is not supported}}
  %y = "stablehlo.pad"(%x, %z) <{edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<8xf32>, tensor<f32>) -> tensor<7xf32>
  return %y : tensor<7xf32>
}

// -----

func.func @broadcast(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' cannot broadcast 'tensor<8xf32>' to 'tensor<4xf32>'}}
  %y = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @gather(%x: tensor<8x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  // expected-error @+1 {{'stablehlo.gather' of 'tensor<8x4xf32>' by 'tensor<3xi64>' to 'tensor<3x4xf32>' is not understood}}
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [7], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

func.func @select_of_two_types(%c: tensor<8xi1>, %x: tensor<8xf32>, %z: tensor<8xf64>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.select' has operands of 'f32' and 'f64'}}
  %y = "stablehlo.select"(%c, %x, %z) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf64>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @region_type(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'stablehlo.reduce' has a region with an argument of type 'tensor<f64>', expected a tensor of rank 0 of 'f32'}}
  %y = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    "stablehlo.return"(%a) : (tensor<f64>) -> ()
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @region_without_results(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @+1 {{'stablehlo.add' has 0 results, expected 1}}
    "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> ()
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
