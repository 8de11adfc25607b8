// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @no_future() {
  // expected-error @+1 {{'ring.permute_wait' op requires a single operand}}
  %r = "ring.permute_wait"() : () -> tensor<4xf32>
  return
}

// -----

func.func @tensor_is_no_future(%t: tensor<4xf32>) {
  // expected-error @+1 {{'ring.permute_wait' op operand #0 must be future of a started transfer, but got 'tensor<4xf32>'}}
  %r = "ring.permute_wait"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @result_of_other_type(%f: !ring.future<tensor<4xf32>>) {
  // expected-error @+2 {{'ring.permute_wait' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @+1 {{'ring.permute_wait' op failed to infer returned types}}
  %r = "ring.permute_wait"(%f) : (!ring.future<tensor<4xf32>>) -> tensor<5xf32>
  return
}

// -----

func.func @more_results_than_payload(%f: !ring.future<tensor<4xf32>>) {
  // expected-error @+1 {{operation defines 1 results but was provided 2 to bind}}
  %r:2 = ring.permute_wait %f : !ring.future<tensor<4xf32>>
  return
}

// -----

func.func @tensor_is_no_future_in_custom_form(%t: tensor<4xf32>) {
  // expected-error @+1 {{wait for ('tensor<4xf32>'), expected one future}}
  %r = ring.permute_wait %t : tensor<4xf32>
  return
}
