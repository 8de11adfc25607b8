// RUN: ring-opt %s --allow-unregistered-dialect --convert-torch-to-ring --split-input-file | FileCheck %s --implicit-check-not=torch

// CHECK-LABEL: func @plain(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x64x32xf32>, %[[K:.*]]: tensor<1x2x48x32xf32>, %[[V:.*]]: tensor<1x2x48x16xf32>) -> tensor<1x4x64x16xf32>
// CHECK-NEXT: %[[O:.*]] = ring.attention %[[Q]], %[[K]], %[[V]] :
// CHECK-NEXT: return %[[O]]
func.func @plain(%q: !torch.vtensor<[1,4,64,32],f32>, %k: !torch.vtensor<[1,2,48,32],f32>, %v: !torch.vtensor<[1,2,48,16],f32>) -> !torch.vtensor<[1,4,64,16],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %gqa = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %zero, %no, %none, %gqa)
    : (!torch.vtensor<[1,4,64,32],f32>, !torch.vtensor<[1,2,48,32],f32>, !torch.vtensor<[1,2,48,16],f32>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[1,4,64,16],f32>
  return %o : !torch.vtensor<[1,4,64,16],f32>
}

// -----

// Causal is from the top left, also with other numbers of queries and keys, and
// with sizes that are known at run time only.
// CHECK-LABEL: func @causal
// CHECK: ring.attention %arg0, %arg1, %arg1 mask(<causal, align = top_left>) scale(2.500000e-01) : (tensor<?x4x?x32xbf16>,
func.func @causal(%q: !torch.vtensor<[?,4,?,32],bf16>, %k: !torch.vtensor<[?,4,?,32],bf16>) -> !torch.vtensor<[?,4,?,32],bf16> {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %scale = "torch.constant.float"() <{value = 0.25 : f64}> : () -> !torch.float
  %yes = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %k, %none, %zero, %yes, %scale, %no)
    : (!torch.vtensor<[?,4,?,32],bf16>, !torch.vtensor<[?,4,?,32],bf16>, !torch.vtensor<[?,4,?,32],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool) -> !torch.vtensor<[?,4,?,32],bf16>
  return %o : !torch.vtensor<[?,4,?,32],bf16>
}

// -----

// CHECK-LABEL: func @booleans
// CHECK: %[[M:.*]] = tensor.expand_shape %arg1 {{\[\[}}0, 1, 2], [3{{\]\]}} output_shape [1, 1, 8, 8]
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%[[M]] : tensor<1x1x8x8xi1>)
// CHECK: arith.select %{{.*}}, %[[ZERO:.*]], %
// CHECK: ring.attention %arg0, %arg0, %arg0 bias(%[[B]]) :
func.func @booleans(%q: !torch.vtensor<[1,4,8,32],f32>, %m: !torch.vtensor<[8,8],i1>) -> !torch.vtensor<[1,4,8,32],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %m, %zero, %no, %none, %no)
    : (!torch.vtensor<[1,4,8,32],f32>, !torch.vtensor<[1,4,8,32],f32>, !torch.vtensor<[1,4,8,32],f32>, !torch.vtensor<[8,8],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[1,4,8,32],f32>
  return %o : !torch.vtensor<[1,4,8,32],f32>
}

// -----

// CHECK-LABEL: func @onnx
// CHECK: ring.attention %arg0, %arg1, %arg1 mask(<causal>) scale(5.000000e-01) empty_rows(nan) :
func.func @onnx(%q: !torch.vtensor<[1,4,8,32],f32>, %k: !torch.vtensor<[1,2,8,32],f32>) -> !torch.vtensor<[1,4,8,32],f32> {
  %o = "torch.operator"(%q, %k, %k) <{name = "onnx.Attention"}> {torch.onnx.is_causal = 1 : si64, torch.onnx.scale = 5.0e-01 : f32, torch.onnx.softcap = 0.0 : f32, torch.onnx.qk_matmul_output_mode = 0 : si64}
    : (!torch.vtensor<[1,4,8,32],f32>, !torch.vtensor<[1,2,8,32],f32>, !torch.vtensor<[1,2,8,32],f32>) -> !torch.vtensor<[1,4,8,32],f32>
  return %o : !torch.vtensor<[1,4,8,32],f32>
}

// -----

// CHECK-LABEL: func @onnx_softcap
// CHECK: ring.attention %arg0, %arg0, %arg0 softcap(3.000000e+01) empty_rows(nan) :
func.func @onnx_softcap(%q: !torch.vtensor<[1,4,8,32],f32>) -> !torch.vtensor<[1,4,8,32],f32> {
  %o = "torch.operator"(%q, %q, %q) <{name = "onnx.Attention"}> {torch.onnx.softcap = 30.0 : f32}
    : (!torch.vtensor<[1,4,8,32],f32>, !torch.vtensor<[1,4,8,32],f32>, !torch.vtensor<[1,4,8,32],f32>) -> !torch.vtensor<[1,4,8,32],f32>
  return %o : !torch.vtensor<[1,4,8,32],f32>
}

// -----

// A decomposed attention is recognised once it is linalg; a constant of one
// number may lie in a resource.
// RUN: ring-opt %s --allow-unregistered-dialect --split-input-file \
// RUN:   --pass-pipeline='builtin.module(convert-torch-to-ring,func.func(ring-raise-attention))' | FileCheck %s --check-prefix=RAISED
// CHECK-LABEL: func @decomposed
// RAISED-LABEL: func @decomposed
// RAISED: ring.attention %{{.*}}, %{{.*}}, %{{.*}} scale(5.000000e-01)
!t = !torch.vtensor<[3,8,4],f32>
!p = !torch.vtensor<[3,8,8],f32>
func.func @decomposed(%q: !t, %k: !t, %v: !t) -> !t {
  %half = "torch.operator"() <{name = "onnx.Constant"}> {torch.onnx.value = dense_resource<half> : tensor<1xf32>} : () -> !torch.vtensor<[1],f32>
  %kt = "torch.operator"(%k) <{name = "onnx.Transpose"}> {torch.onnx.perm = [0 : si64, 2 : si64, 1 : si64]} : (!t) -> !torch.vtensor<[3,4,8],f32>
  %s = "torch.aten.bmm"(%q, %kt) : (!t, !torch.vtensor<[3,4,8],f32>) -> !p
  %scaled = "torch.operator"(%s, %half) <{name = "onnx.Mul"}> : (!p, !torch.vtensor<[1],f32>) -> !p
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %w = "torch.aten._softmax"(%scaled, %last, %no) : (!p, !torch.int, !torch.bool) -> !p
  %o = "torch.aten.bmm"(%w, %v) : (!p, !t) -> !t
  return %o : !t
}
{-#
  dialect_resources: { builtin: { half: "0x040000000000003F" } }
#-}
