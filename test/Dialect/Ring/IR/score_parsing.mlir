// Values of a score region that operations before it name. They would keep uses
// in freed memory where the text after the region is wrong, so they are refused
// as soon as the region ends.

// RUN: ring-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @result(%q: tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32> {
  // expected-note @+1 {{used here}}
  "test.use"(%s) : (f32) -> ()
  // expected-error @+1 {{a value of the score region is used outside it}}
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %s = arith.mulf %x, %x : f32
    ring.yield %s : f32
  } garbage
  return %o : tensor<1x1x8x4xf32>
}

// -----

func.func @argument(%q: tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32> {
  // expected-note @+1 {{used here}}
  "test.use"(%x) : (f32) -> ()
  // expected-error @+1 {{a value of the score region is used outside it}}
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    ring.yield %x : f32
  } : (tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32>
  return %o : tensor<1x1x8x4xf32>
}

// -----

// In a region of the region.
func.func @nested(%q: tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32> {
  // expected-note @+1 {{used here}}
  "test.use"(%n) : (index) -> ()
  // expected-error @+1 {{a value of the score region is used outside it}}
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    "test.region"() ({
    ^bb0(%n: index):
      "test.use"(%n) : (index) -> ()
    }) : () -> ()
    ring.yield %x : f32
  } garbage
  return %o : tensor<1x1x8x4xf32>
}

// -----

func.func @online(%q: tensor<1x1x8x4xf32>, %sl: !ring.slices, %m: tensor<1x1x8xf32>) {
  // expected-note @+1 {{used here}}
  "test.use"(%s) : (f32) -> ()
  // expected-error @+1 {{a value of the score region is used outside it}}
  %o:3 = ring.online_attention %q, %q, %q slices(%sl) scale(1.0) outs(%q, %m, %m) score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %s = arith.mulf %x, %x : f32
    ring.yield %s : f32
  } garbage
  return
}

// -----

// What uses the values inside of the region may stand anywhere in it.
func.func @inside(%q: tensor<1x1x8x4xf32>) {
  %o = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %s = arith.mulf %x, %x : f32
    ring.yield %s : f32
  // expected-error @+1 {{expected ':'}}
  } garbage
  return
}

// -----

// Brackets without a block are no way to have no score.
func.func @empty(%q: tensor<1x1x8x4xf32>) {
  // expected-error @+1 {{'ring.attention' op expects a non-empty block}}
  %o = ring.attention %q, %q, %q score {
  } : (tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32>
  return
}
