// RUN: ring-opt %s --allow-unregistered-dialect --convert-torch-to-ring --split-input-file | FileCheck %s --implicit-check-not=torch

!q = !torch.vtensor<[1,4,8,16],f32>
!x = !torch.vtensor<[],f32>
!i = !torch.vtensor<[],si32>
!b = !torch.vtensor<[],i1>

// The functions become a region, and are gone.
// CHECK-NOT: @score
// CHECK-NOT: @mask
func.func private @score(%x: !x, %b: !i, %h: !i, %i: !i, %j: !i) -> !x {
  %half = "torch.constant.float"() <{value = 5.0e-01 : f64}> : () -> !torch.float
  %dead = "torch.aten.sin"(%x) : (!x) -> !x
  %r = "torch.aten.mul.Scalar"(%h, %half) : (!i, !torch.float) -> !x
  %s = "torch.aten.mul.Tensor"(%x, %r) : (!x, !x) -> !x
  return %s : !x
}
func.func private @mask(%b: !i, %h: !i, %i: !i, %j: !i) -> !b {
  %m = "torch.aten.ge.Tensor"(%i, %j) : (!i, !i) -> !b
  return %m : !b
}
// CHECK-LABEL: func @flex
// CHECK-NEXT: ring.attention %arg0, %arg0, %arg0 scale(2.500000e-01) score {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[HEAD:.*]] = arith.index_cast %[[H]] : index to i32
// CHECK: %[[F:.*]] = arith.sitofp %[[HEAD]] : i32 to f32
// CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: %[[R:.*]] = arith.mulf %[[F]], %[[HALF]]
// CHECK: %[[S:.*]] = arith.mulf %[[X]], %[[R]]
// CHECK: %[[II:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK: %[[JJ:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK: %[[SEEN:.*]] = arith.cmpi sge, %[[II]], %[[JJ]] : i32
// CHECK: %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[Y:.*]] = arith.select %[[SEEN]], %[[S]], %[[LOW]]
// CHECK: ring.yield %[[Y]]
func.func @flex(%q: !q) -> !q {
  %scale = "torch.constant.float"() <{value = 2.5e-01 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  %dead = "torch.aten.flip"(%q, %none) : (!q, !torch.none) -> !q
  %sorted:2 = "torch.operator"(%dead, %no) <{name = "torch.aten.sort.stable"}> : (!q, !torch.bool) -> (!q, !torch.vtensor<[1,4,8,16],si64>)
  "torch.aten._assert_tensor_metadata"(%sorted#1, %none) : (!torch.vtensor<[1,4,8,16],si64>, !torch.none) -> ()
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %scale, %no, %no) <{mask_mod_fn = @mask, score_mod_fn = @score}>
    : (!q, !q, !q, !torch.float, !torch.bool, !torch.bool) -> (!q, !torch.vtensor<[1,4,8],f32>, !torch.vtensor<[1,4,8],f32>)
  return %o#0 : !q
}

// -----

// Without functions, and with one that changes nothing.
!q = !torch.vtensor<[1,4,8,16],f32>
!x = !torch.vtensor<[],f32>
!i = !torch.vtensor<[],si32>
func.func private @score(%x: !x, %b: !i, %h: !i, %i: !i, %j: !i) -> !x {
  return %x : !x
}
// CHECK-LABEL: func @plain
// CHECK-NEXT: %[[A:.*]] = ring.attention %arg0, %arg0, %arg0 :
// CHECK-NEXT: %[[B:.*]] = ring.attention %[[A]], %arg0, %arg0 :
// CHECK-NEXT: return %[[B]]
func.func @plain(%q: !q) -> !q {
  %none = "torch.constant.none"() : () -> !torch.none
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %a:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %no, %no) : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  %b:3 = "torch.hop_flex_attention"(%a#0, %q, %q, %none, %no, %no) <{score_mod_fn = @score}> : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  return %b#0 : !q
}
