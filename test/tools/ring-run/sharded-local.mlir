// A file with a local function can be read again: it keeps its layout, or gets
// another one, and computes the same.
// RUN: rm -rf %t && mkdir %t
// RUN: ring-run %s --ranks 1 --random 3 --output 0=%t/right.npy
// RUN: ring-opt %s --ring-shard-attention=ranks=3 --ring-shard-function --ring-apply-layout=layout=striped -o %t/sharded.mlir
// RUN: ring-opt %t/sharded.mlir --inline | FileCheck %s
// CHECK-LABEL: func.func @f(
// CHECK:         call @f_rank(
// CHECK-LABEL: func.func private @f_rank(
// RUN: ring-run %t/sharded.mlir --ranks 3 --random 3 --expect 0=%t/right.npy | FileCheck %s --check-prefix=OK
// RUN: ring-run %t/sharded.mlir --ranks 3 --layout zigzag --random 3 --expect 0=%t/right.npy | FileCheck %s --check-prefix=OK
// OK: result ok
!x = tensor<1x2x10x4xf32>
#m = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @f(%x: !x) -> !x {
  %e = tensor.empty() : !x
  %y = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : !x) outs(%e : !x) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %a : f32
    linalg.yield %r : f32
  } -> !x
  %o = ring.attention %y, %x, %y mask(<causal>) : (!x, !x, !x) -> !x
  return %o : !x
}
