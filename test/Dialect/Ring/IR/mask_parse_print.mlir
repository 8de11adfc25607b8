// RUN: ring-opt %s --allow-unregistered-dialect | ring-opt --allow-unregistered-dialect | FileCheck %s
// RUN: ring-opt %s --allow-unregistered-dialect --emit-bytecode | ring-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: nothing = #ring.mask<>
"test.op"() {nothing = #ring.mask<>} : () -> ()

// CHECK: causal = #ring.mask<causal>
"test.op"() {causal = #ring.mask<causal>} : () -> ()

// CHECK: window = #ring.mask<window = [127, 0]>
"test.op"() {window = #ring.mask<window = [127, 0]>} : () -> ()

// CHECK: left_unbounded = #ring.mask<window = [*, 16]>
"test.op"() {left_unbounded = #ring.mask<window=[*,16]>} : () -> ()

// CHECK: right_unbounded = #ring.mask<window = [16, *]>
"test.op"() {right_unbounded = #ring.mask<window = [16, *]>} : () -> ()

// CHECK: both_unbounded = #ring.mask<window = [*, *]>
"test.op"() {both_unbounded = #ring.mask<window = [*, *]>} : () -> ()

// CHECK: only_itself = #ring.mask<window = [0, 0]>
"test.op"() {only_itself = #ring.mask<window = [0, 0]>} : () -> ()

// CHECK: largest = #ring.mask<window = [9223372036854775807, 0]>
"test.op"() {largest = #ring.mask<window = [9223372036854775807, 0]>} : () -> ()

// CHECK: chunk = #ring.mask<chunk = 8192>
"test.op"() {chunk = #ring.mask<chunk = 8192>} : () -> ()

// CHECK: prefix = #ring.mask<causal, prefix = 32>
"test.op"() {prefix = #ring.mask<causal, prefix = 32>} : () -> ()

// CHECK: no_prefix = #ring.mask<causal, prefix = 0>
"test.op"() {no_prefix = #ring.mask<causal, prefix = 0>} : () -> ()

// CHECK: top_left = #ring.mask<align = top_left>
"test.op"() {top_left = #ring.mask<align = top_left>} : () -> ()

// CHECK: bottom_right = #ring.mask<align = bottom_right>
"test.op"() {bottom_right = #ring.mask<align = bottom_right>} : () -> ()

// CHECK: any_order = #ring.mask<causal, window = [1, *], chunk = 4, prefix = 2, align = bottom_right>
"test.op"() {any_order = #ring.mask<align = bottom_right, prefix = 2, chunk = 4, window = [1, *], causal>} : () -> ()
