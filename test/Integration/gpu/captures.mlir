// A score region that captures a tensor, a float and an index, and uses a function
// that a GPU has no instruction for; on GPUs, and on a CPU and a GPU in one ring.

// RUN: ring-run %s --ranks=2 --random=4 --device=vgpu --check | FileCheck %s
// RUN: ring-run %s --ranks=2 --random=4 --device=cpu,vgpu --check | FileCheck %s
// CHECK: result          ok

func.func @f(%q: tensor<1x2x70x32xf32>, %k: tensor<1x2x70x32xf32>, %v: tensor<1x2x70x32xf32>, %t: tensor<70xf32>, %n: tensor<1xf32>) -> tensor<1x2x70x32xf32> {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %w = tensor.extract %n[%c0] : tensor<1xf32>
  %i = arith.fptosi %w : f32 to i32
  %ix = arith.index_cast %i : i32 to index
  %o = ring.attention %q, %k, %v score {
    ^bb0(%x: f32, %b: index, %h: index, %qi: index, %ki: index):
      %a = tensor.extract %t[%ki] : tensor<70xf32>
      %p = arith.addi %qi, %ix : index
      %pi = arith.index_cast %p : index to i32
      %pf = arith.sitofp %pi : i32 to f32
      %m = arith.mulf %pf, %w : f32
      %z = arith.addf %x, %a : f32
      %s = math.sin %m : f32
      %y = arith.addf %z, %s : f32
      %big = arith.cmpi sgt, %p, %ki : index
      %neg = arith.subf %y, %a : f32
      %r = arith.select %big, %y, %neg : f32
      ring.yield %r : f32
    } : (tensor<1x2x70x32xf32>, tensor<1x2x70x32xf32>, tensor<1x2x70x32xf32>) -> tensor<1x2x70x32xf32>
  return %o : tensor<1x2x70x32xf32>
}
