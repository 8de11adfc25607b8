// RUN: ring-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @argument_missing(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op score region takes ('f32', 'index', 'index', 'index'), expected ('f32', 'index', 'index', 'index', 'index')}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index):
    ring.yield %x : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @score_of_16_bits(%q: tensor<1x8x256x64xbf16>) {
  // expected-error @+1 {{'ring.attention' op score region takes ('bf16', 'index', 'index', 'index', 'index'), expected ('f32', 'index', 'index', 'index', 'index')}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: bf16, %batch: index, %head: index, %qi: index, %ki: index):
    %y = arith.extf %x : bf16 to f32
    ring.yield %y : f32
  } : (tensor<1x8x256x64xbf16>, tensor<1x8x256x64xbf16>, tensor<1x8x256x64xbf16>) -> tensor<1x8x256x64xbf16>
  return
}

// -----

func.func @yield_of_16_bits(%q: tensor<1x8x256x64xbf16>) {
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %y = arith.truncf %x : f32 to bf16
    // expected-error @+1 {{'ring.yield' op operand #0 must be 32-bit float, but got 'bf16'}}
    ring.yield %y : bf16
  } : (tensor<1x8x256x64xbf16>, tensor<1x8x256x64xbf16>, tensor<1x8x256x64xbf16>) -> tensor<1x8x256x64xbf16>
  return
}

// -----

func.func @no_yield(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op score region ends in 'ub.unreachable', expected 'ring.yield'}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    ub.unreachable
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @empty_block(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op expects a non-empty block}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @two_blocks(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op expects region #0 to have 0 or 1 blocks}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    cf.br ^bb1
  ^bb1:
    ring.yield %x : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func private @callee(f32) -> f32

func.func @call(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op score region holds 'func.call', expected elementwise ops on scalars, constants, index arithmetic or tensor.extract}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    %y = func.call @callee(%x) : (f32) -> f32
    ring.yield %y : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @load(%q: tensor<1x8x256x64xf32>, %table: memref<8xf32>) {
  // expected-error @+1 {{'ring.attention' op score region holds 'memref.load', expected}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    %y = memref.load %table[%head] : memref<8xf32>
    ring.yield %y : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @control_flow(%q: tensor<1x8x256x64xf32>, %flag: i1) {
  // expected-error @+1 {{'ring.attention' op score region holds 'scf.if', expected}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    %y = scf.if %flag -> f32 {
      scf.yield %x : f32
    } else {
      %z = arith.negf %x : f32
      scf.yield %z : f32
    }
    ring.yield %y : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @elementwise_on_tensors(%q: tensor<1x8x256x64xf32>, %table: tensor<8xf32>) {
  // expected-error @+1 {{'ring.attention' op score region holds 'math.exp', expected elementwise ops on scalars}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    %all = math.exp %table : tensor<8xf32>
    %y = tensor.extract %all[%head] : tensor<8xf32>
    ring.yield %y : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @unregistered(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{'ring.attention' op score region holds 'my.op', expected}}
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    // expected-note @+1 {{the op is here}}
    %y = "my.op"(%x) : (f32) -> f32
    ring.yield %y : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// -----

func.func @yield_elsewhere(%x: f32) {
  // expected-error @+1 {{'ring.yield' op expects parent op to be one of 'ring.attention, ring.online_attention'}}
  ring.yield %x : f32
}
