// RUN: ring-opt %s --allow-unregistered-dialect | ring-opt --allow-unregistered-dialect | FileCheck %s
// RUN: ring-opt %s --allow-unregistered-dialect --emit-bytecode | ring-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: contiguous = #ring.layout<contiguous>
"test.op"() {contiguous = #ring.layout<contiguous>} : () -> ()

// CHECK: zigzag = #ring.layout<zigzag>
"test.op"() {zigzag = #ring.layout<zigzag>} : () -> ()

// CHECK: striped = #ring.layout<striped>
"test.op"() {striped = #ring.layout<striped, 1>} : () -> ()

// CHECK: striped_by_16 = #ring.layout<striped, 16>
"test.op"() {striped_by_16 = #ring.layout<striped, 16>} : () -> ()

// CHECK: balanced = #ring.layout<balanced>
"test.op"() {balanced = #ring.layout<balanced>} : () -> ()
