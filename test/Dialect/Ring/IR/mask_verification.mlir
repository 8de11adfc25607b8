// RUN: ring-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{expected '<'}}
"test.op"() {mask = #ring.mask} : () -> ()

// -----

// expected-error @+1 {{unknown mask part 'casual', expected causal, window, chunk, prefix or align}}
"test.op"() {mask = #ring.mask<casual>} : () -> ()

// -----

// expected-error @+1 {{duplicate mask part 'causal'}}
"test.op"() {mask = #ring.mask<causal, causal>} : () -> ()

// -----

// expected-error @+1 {{duplicate mask part 'window'}}
"test.op"() {mask = #ring.mask<window = [1, 0], chunk = 4, window = [*, *]>} : () -> ()

// -----

// expected-error @+1 {{expected valid keyword}}
"test.op"() {mask = #ring.mask<causal,>} : () -> ()

// -----

// expected-error @+1 {{expected '>'}}
"test.op"() {mask = #ring.mask<causal align = top_left>} : () -> ()

// -----

// expected-error @+1 {{expected '='}}
"test.op"() {mask = #ring.mask<window>} : () -> ()

// -----

// expected-error @+1 {{expected '['}}
"test.op"() {mask = #ring.mask<window = 4>} : () -> ()

// -----

// expected-error @+1 {{expected ','}}
"test.op"() {mask = #ring.mask<window = [4]>} : () -> ()

// -----

// expected-error @+1 {{expected ']'}}
"test.op"() {mask = #ring.mask<window = [4, 0, 0]>} : () -> ()

// -----

// expected-error @+1 {{expected integer value}}
"test.op"() {mask = #ring.mask<window = [?, 0]>} : () -> ()

// -----

// expected-error @+1 {{integer value too large}}
"test.op"() {mask = #ring.mask<window = [9223372036854775808, 0]>} : () -> ()

// -----

// expected-error @+1 {{window side is -1, expected 0 or more, or * for unbounded}}
"test.op"() {mask = #ring.mask<window = [-1, 0]>} : () -> ()

// -----

// expected-error @+1 {{window side is -3, expected 0 or more, or * for unbounded}}
"test.op"() {mask = #ring.mask<window = [*, -3]>} : () -> ()

// -----

// expected-error @+1 {{chunk is 0, expected 1 or more}}
"test.op"() {mask = #ring.mask<chunk = 0>} : () -> ()

// -----

// expected-error @+1 {{prefix is -1, expected 0 or more}}
"test.op"() {mask = #ring.mask<causal, prefix = -1>} : () -> ()

// -----

// expected-error @+1 {{prefix is given without causal}}
"test.op"() {mask = #ring.mask<window = [8, 0], prefix = 4>} : () -> ()

// -----

// expected-error @+1 {{unknown alignment 'top_right', expected top_left or bottom_right}}
"test.op"() {mask = #ring.mask<align = top_right>} : () -> ()

// -----

// A mask of an op is located and named the same way.
func.func @in_op(%q: tensor<1x8x256x64xf32>) {
  // expected-error @+1 {{unknown mask part 'casual', expected causal, window, chunk, prefix or align}}
  %out = ring.attention %q, %q, %q mask(<casual>)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}
