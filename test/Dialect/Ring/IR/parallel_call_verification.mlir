// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func @unknown_function(%n: index) {
  // expected-error @+1 {{'ring.parallel_call' op unknown function @kernel}}
  ring.parallel_call @kernel(%n, %n) (%n) : index
  return
}

// -----

// expected-note @+1 {{the symbol is here}}
memref.global @table : memref<4xf32>
func.func @global_as_function(%n: index) {
  // expected-error @+1 {{'ring.parallel_call' op @table is no function}}
  ring.parallel_call @table(%n, %n) (%n) : index
  return
}

// -----

// expected-note @+1 {{the function is here}}
func.func private @kernel(index, memref<4xf32>)
func.func @argument_of_other_type(%n: index, %m: memref<?xf32>) {
  // expected-error @+1 {{'ring.parallel_call' op calls a function of type '(index, memref<4xf32>) -> ()', expected '(index, memref<?xf32>) -> ()'}}
  ring.parallel_call @kernel(%n, %n) (%m) : memref<?xf32>
  return
}

// -----

// expected-note @+1 {{the function is here}}
func.func private @kernel(memref<?xf32>)
func.func @no_item(%n: index, %m: memref<?xf32>) {
  // expected-error @+1 {{'ring.parallel_call' op calls a function of type '(memref<?xf32>) -> ()', expected '(index, memref<?xf32>) -> ()'}}
  ring.parallel_call @kernel(%n, %n) (%m) : memref<?xf32>
  return
}

// -----

// expected-note @+1 {{the function is here}}
func.func private @kernel(index, f32) -> f32
func.func @result(%n: index, %x: f32) {
  // expected-error @+1 {{'ring.parallel_call' op calls a function of type '(index, f32) -> f32', expected '(index, f32) -> ()'}}
  ring.parallel_call @kernel(%n, %n) (%x) : f32
  return
}

// -----

func.func private @kernel(index)
func.func @count_of_64_bits(%n: i64, %round: index) {
  // expected-error @+1 {{'ring.parallel_call' op operand #0 must be index, but got 'i64'}}
  "ring.parallel_call"(%n, %round) <{callee = @kernel}> : (i64, index) -> ()
  return
}
