// RUN: ring-opt %s --allow-unregistered-dialect --convert-torch-to-ring --split-input-file --verify-diagnostics

!q = !torch.vtensor<[1,4,8,16],f32>
!x = !torch.vtensor<[],f32>
!i = !torch.vtensor<[],si32>
func.func private @score(%x: !x, %b: !i, %h: !i, %i: !i, %j: !i) -> !x {
  // expected-error @+1 {{'torch.aten.erf' in a function of flex attention is not supported}}
  %s = "torch.aten.erf"(%x) : (!x) -> !x
  return %s : !x
}
func.func @op(%q: !q) -> !q {
  %none = "torch.constant.none"() : () -> !torch.none
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %no, %no) <{score_mod_fn = @score}> : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  return %o#0 : !q
}

// -----

// A sum of booleans is not the one of bits.
!q = !torch.vtensor<[1,4,8,16],f32>
!b = !torch.vtensor<[],i1>
!i = !torch.vtensor<[],si32>
func.func private @mask(%b: !i, %h: !i, %i: !i, %j: !i) -> !b {
  %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
  %m = "torch.aten.ge.Tensor"(%i, %j) : (!i, !i) -> !b
  // expected-error @+1 {{'torch.aten.add.Tensor' with these operands is not supported}}
  %s = "torch.aten.add.Tensor"(%m, %m, %one) : (!b, !b, !torch.int) -> !b
  return %s : !b
}
func.func @booleans(%q: !q) -> !q {
  %none = "torch.constant.none"() : () -> !torch.none
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %no, %no) <{mask_mod_fn = @mask}> : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !b, !b)
  return %o#0 : !q
}

// -----

!q = !torch.vtensor<[1,4,8,16],f32>
!x = !torch.vtensor<[],f32>
!i = !torch.vtensor<[],si32>
func.func private @score(%x: !x, %b: !i, %h: !i, %i: !i, %j: !i) -> !x {
  %two = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
  // expected-error @+1 {{'torch.aten.sub.Tensor' with these operands is not supported}}
  %s = "torch.aten.sub.Tensor"(%x, %i, %two) : (!x, !i, !torch.int) -> !x
  return %s : !x
}
func.func @alpha(%q: !q) -> !q {
  %none = "torch.constant.none"() : () -> !torch.none
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %no, %no) <{score_mod_fn = @score}> : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  return %o#0 : !q
}

// -----

!q = !torch.vtensor<[1,4,8,16],f32>
!x = !torch.vtensor<[],f32>
!i = !torch.vtensor<[],si32>
// expected-error @+1 {{takes or gives something else than what flex attention calls it with}}
func.func private @score(%x: !x, %b: !i, %h: !i, %i: !i) -> !x {
  return %x : !x
}
func.func @arguments(%q: !q) -> !q {
  %none = "torch.constant.none"() : () -> !torch.none
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %no, %no) <{score_mod_fn = @score}> : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  return %o#0 : !q
}

// -----

!q = !torch.vtensor<[1,4,8,16],f32>
!x = !torch.vtensor<[1,4,8],f32>
func.func @lse(%q: !q) -> !x {
  %none = "torch.constant.none"() : () -> !torch.none
  %yes = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  // expected-error @+1 {{'torch.hop_flex_attention' has a use of its log-sum-exp or maximum, which is not supported}}
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %yes, %yes) : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  return %o#1 : !x
}

// -----

!q = !torch.vtensor<[1,4,8,16],f16>
!x = !torch.vtensor<[1,4,8],f32>
func.func @half(%q: !q) -> !q {
  %none = "torch.constant.none"() : () -> !torch.none
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @+1 {{'torch.hop_flex_attention' of 'f16' is not supported, expected f32}}
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %no, %no) : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  return %o#0 : !q
}

// -----

!q = !torch.vtensor<[1,4,8,16],f32>
!x = !torch.vtensor<[1,4,8],f32>
func.func @missing(%q: !q) -> !q {
  %none = "torch.constant.none"() : () -> !torch.none
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @+1 {{'torch.hop_flex_attention' has @nowhere as mask_mod_fn, expected a function of one block}}
  %o:3 = "torch.hop_flex_attention"(%q, %q, %q, %none, %no, %no) <{mask_mod_fn = @nowhere}> : (!q, !q, !q, !torch.none, !torch.bool, !torch.bool) -> (!q, !x, !x)
  return %o#0 : !q
}

// -----

// An op that writes in place is not dead.
!q = !torch.vtensor<[1,4,8,16],f32>
func.func @inplace(%q: !q) -> !q {
  // expected-error @+1 {{'torch.aten.zero_' is not supported}}
  %unused = "torch.aten.zero_"(%q) : (!q) -> !q
  return %q : !q
}
