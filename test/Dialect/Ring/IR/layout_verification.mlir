// RUN: ring-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{expected '<'}}
"test.op"() {layout = #ring.layout} : () -> ()

// -----

// expected-error @+1 {{expected valid keyword}}
"test.op"() {layout = #ring.layout<>} : () -> ()

// -----

// expected-error @+1 {{unknown layout 'zig_zag', expected contiguous, zigzag, striped or balanced}}
"test.op"() {layout = #ring.layout<zig_zag>} : () -> ()

// -----

// expected-error @+1 {{expected integer value}}
"test.op"() {layout = #ring.layout<striped, *>} : () -> ()

// -----

// expected-error @+1 {{expected '>'}}
"test.op"() {layout = #ring.layout<striped, 4, 4>} : () -> ()

// -----

// expected-error @+1 {{granularity is 0, expected 1 or more}}
"test.op"() {layout = #ring.layout<striped, 0>} : () -> ()

// -----

// expected-error @+1 {{granularity is 4, expected 1 on a layout that is not striped}}
"test.op"() {layout = #ring.layout<zigzag, 4>} : () -> ()
