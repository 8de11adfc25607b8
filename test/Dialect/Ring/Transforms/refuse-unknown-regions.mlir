// RUN: ring-opt %s --split-input-file --allow-unregistered-dialect --ring-refuse-unknown-regions --verify-diagnostics -o %t
// RUN: grep -c 'foo.flat\|scf.execute_region' %t | FileCheck %s
// CHECK: 2

// Ops without regions pass, and known ones with regions.
func.func @known(%x: f32) {
  "foo.flat"(%x) : (f32) -> ()
  scf.execute_region {
    scf.yield
  }
  return
}

// -----

func.func @unknown() {
  // expected-error @+1 {{'foo.region' has regions and is of no known dialect}}
  "foo.region"() ({
    "foo.flat"() : () -> ()
  }) : () -> ()
  return
}
