// RUN: ring-opt %s --allow-unregistered-dialect --convert-torch-to-ring --split-input-file --verify-diagnostics

!t = !torch.vtensor<[1,4,8,32],f32>

func.func @dropout(%q: !t) -> !t {
  %none = "torch.constant.none"() : () -> !torch.none
  %half = "torch.constant.float"() <{value = 0.5 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @+1 {{'torch.aten.scaled_dot_product_attention' has dropout, which is not supported}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %none, %half, %no, %none, %no)
    : (!t, !t, !t, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
func.func @causal_at_run_time(%q: !t, %causal: !torch.bool) -> !t {
  // expected-error @-1 {{takes or gives '!torch.bool', which is not understood}}
  return %q : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
func.func @mask_and_causal(%q: !t, %m: !torch.vtensor<[8,8],f32>) -> !t {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %yes = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  // expected-error @+1 {{'torch.aten.scaled_dot_product_attention' has a mask and is causal, which PyTorch refuses}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %m, %zero, %yes, %none, %yes)
    : (!t, !t, !t, !torch.vtensor<[8,8],f32>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[4,8,32],f32>
func.func @rank(%q: !t) -> !t {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @+1 {{'torch.aten.scaled_dot_product_attention' has an operand of type 'tensor<4x8x32xf32>', expected [batch, heads, positions, channels]}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %none, %zero, %no, %none, %no)
    : (!t, !t, !t, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
func.func @another_op(%q: !t) -> !t {
  // expected-error @+1 {{'torch.aten.relu' is not supported}}
  %o = "torch.aten.relu"(%q) : (!t) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
func.func @another_operator(%q: !t) -> !t {
  // expected-error @+1 {{'torch.operator' "onnx.Relu" is not supported}}
  %o = "torch.operator"(%q) <{name = "onnx.Relu"}> : (!t) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
func.func @onnx_attribute(%q: !t) -> !t {
  // expected-error @+1 {{'torch.operator' onnx.Attention has the attribute 'q_num_heads', which is not understood}}
  %o = "torch.operator"(%q, %q, %q) <{name = "onnx.Attention"}> {torch.onnx.q_num_heads = 4 : si64} : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
!k = !torch.vtensor<[1,4,9,32],f32>
func.func @onnx_causal(%q: !t, %k: !k) -> !t {
  // expected-error @+1 {{'torch.operator' onnx.Attention is causal with other numbers of queries and keys, which is not supported}}
  %o = "torch.operator"(%q, %k, %k) <{name = "onnx.Attention"}> {torch.onnx.is_causal = 1 : si64} : (!t, !k, !k) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
func.func @onnx_softcap(%q: !t, %m: !torch.vtensor<[8,8],f32>) -> !t {
  // expected-error @+1 {{'torch.operator' onnx.Attention has a softcap and a mask, which is not supported}}
  %o = "torch.operator"(%q, %q, %q, %m) <{name = "onnx.Attention"}> {torch.onnx.softcap = 3.0 : f32} : (!t, !t, !t, !torch.vtensor<[8,8],f32>) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[1,4,8,32],f32>
func.func @onnx_past(%q: !t) -> !t {
  %none = "torch.constant.none"() : () -> !torch.none
  // expected-error @+1 {{'torch.operator' onnx.Attention has a past, which is not supported}}
  %o = "torch.operator"(%q, %q, %q, %none, %q, %q) <{name = "onnx.Attention"}> : (!t, !t, !t, !torch.none, !t, !t) -> !t
  return %o : !t
}

// -----

func.func @complex(%q: !torch.vtensor<[1,4],complex<f32>>) {
  // expected-error @-1 {{takes or gives '!torch.vtensor<[1,4],complex<f32>>', which is not understood}}
  return
}

// -----

!t = !torch.vtensor<[3,8,4],f32>
func.func @alpha(%x: !t) -> !t {
  %two = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
  // expected-error @+1 {{'torch.aten.add.Tensor' with these operands is not supported}}
  %o = "torch.aten.add.Tensor"(%x, %x, %two) : (!t, !t, !torch.int) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[3,8,4],f32>
func.func @product(%x: !t) -> !t {
  // expected-error @+1 {{'torch.aten.bmm' with these operands is not supported}}
  %o = "torch.aten.bmm"(%x, %x) : (!t, !t) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[3,8,4],f32>
func.func @axis(%x: !t) -> !t {
  %three = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @+1 {{'torch.aten._softmax' with these operands is not supported}}
  %o = "torch.aten._softmax"(%x, %three, %no) : (!t, !torch.int, !torch.bool) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[3,8,4],f32>
func.func @permutation(%x: !t) -> !t {
  // expected-error @+1 {{'torch.operator' with these operands is not supported}}
  %o = "torch.operator"(%x) <{name = "onnx.Transpose"}> {torch.onnx.perm = [0 : si64, 0 : si64, 1 : si64]} : (!t) -> !t
  return %o : !t
}

// -----

!t = !torch.vtensor<[?,8,4],f32>
func.func @dynamic(%x: !t) -> !t {
  // expected-error @+1 {{'torch.aten.mul.Tensor' is not supported}}
  %o = "torch.aten.mul.Tensor"(%x, %x) : (!t, !t) -> !t
  return %o : !t
}
