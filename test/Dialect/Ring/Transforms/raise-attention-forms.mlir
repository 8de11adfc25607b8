// What is recognised does not depend on how it is cut into ops, in which order
// the dimensions are, or how a mask is spelled.

// DEFINE: %{raise} = ring-opt --ring-raise-attention
// DEFINE: %{in} = %S/Inputs/generic_attention.mlir

// RUN: %{raise} %{in} | FileCheck %s --check-prefix=PLAIN
// PLAIN: func.func @generic(%[[Q:.*]]: tensor<2x4x8x16xf32>, %[[K:.*]]: tensor<2x4x8x16xf32>, %[[V:.*]]: tensor<2x4x8x32xf32>,
// PLAIN: %[[O:.*]] = ring.attention %[[Q]], %[[K]], %[[V]] mask(<causal>) scale(2.500000e-01) :
// PLAIN-NEXT: return %[[O]]

// Masks.
// RUN: sed -e 's/select %%visible/select %%near/' %{in} | %{raise} | FileCheck %s --check-prefix=NEAR
// NEAR: mask(<window = [2, *]>) scale
// RUN: sed -e 's/slt, %%i, %%later/sgt, %%later, %%i/; s/select %%visible/select %%near/' %{in} | %{raise} | FileCheck %s --check-prefix=NEAR
// RUN: sed -e 's/select %%visible/select %%both/' %{in} | %{raise} | FileCheck %s --check-prefix=BOTH
// BOTH: mask(<causal, window = [2, 0]>) scale
// RUN: sed -e 's/sge, %%i, %%j/sge, %%i, %%earlier/' %{in} | %{raise} | FileCheck %s --check-prefix=AHEAD
// AHEAD: mask(<window = [*, 3]>) scale
// RUN: sed -e 's/sge, %%i, %%j/sle, %%i, %%j/' %{in} | %{raise} | FileCheck %s --check-prefix=ANTI
// ANTI: mask(<window = [0, *]>) scale
// RUN: sed -e 's/sge, %%i, %%j/eq, %%i, %%j/' %{in} | %{raise} | FileCheck %s --check-prefix=SELF
// SELF: mask(<causal, window = [0, 0]>) scale
// RUN: sed -e 's/sge, %%i, %%j/slt, %%i, %%j/; s/%%0, %%ninf : f32/%%ninf, %%0 : f32/' %{in} | %{raise} | FileCheck %s --check-prefix=INVERTED
// INVERTED: mask(<causal>) scale
// RUN: sed -e 's/constant 3 : index/constant 7 : index/; s/select %%visible/select %%near/' %{in} | %{raise} | FileCheck %s --check-prefix=LAST
// LAST: mask(<window = [6, *]>) scale
// RUN: sed -e 's/constant 3 : index/constant 8 : index/; s/select %%visible/select %%near/' %{in} | %{raise} | FileCheck %s --check-prefix=ALL
// ALL: ring.attention %arg0, %arg1, %arg2 scale(2.500000e-01)

// Lengths differ. Query i then is where the comparison puts it.
// DEFINE: %{fewer} = -e 's/^!query = .*/!query = tensor<2x4x5x16xf32>/; s/^!output = .*/!output = tensor<2x4x5x32xf32>/; s/^!pairs = .*/!pairs = tensor<2x4x5x8xf32>/; s/^!rows = .*/!rows = tensor<2x4x5xf32>/'
// DEFINE: %{more} = -e 's/^!query = .*/!query = tensor<2x4x12x16xf32>/; s/^!output = .*/!output = tensor<2x4x12x32xf32>/; s/^!pairs = .*/!pairs = tensor<2x4x12x8xf32>/; s/^!rows = .*/!rows = tensor<2x4x12xf32>/'
// RUN: sed %{fewer} %{in} | %{raise} | FileCheck %s --check-prefix=FEWER
// FEWER: mask(<causal, align = top_left>) scale(2.500000e-01) :
// FEWER-SAME: (tensor<2x4x5x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x32xf32>) -> tensor<2x4x5x32xf32>
// RUN: sed %{fewer} -e 's/sge, %%i, %%j/sge, %%i, %%earlier/' %{in} | %{raise} | FileCheck %s --check-prefix=BOTTOM
// BOTTOM: mask(<causal, align = bottom_right>) scale(2.500000e-01) :
// RUN: sed %{more} %{in} | %{raise} | FileCheck %s --check-prefix=MORE
// MORE: mask(<causal, align = top_left>) scale(2.500000e-01) :
// Without a test for them, a softmax gives NaN for rows that see nothing.
// RUN: sed %{more} -e 's/select %%visible/select %%both/' %{in} | %{raise} | FileCheck %s --check-prefix=EMPTYROWS
// EMPTYROWS: mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(nan) :

// Dynamic batch and lengths.
// RUN: sed -e 's/2x4x8x8x/?x4x?x?x/; s/2x4x8x/?x4x?x/' %{in} | %{raise} | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: ring.attention %arg0, %arg1, %arg2 mask(<causal, align = top_left>) scale(2.500000e-01)
// DYNAMIC-SAME: : (tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>, tensor<?x4x?x32xf32>) -> tensor<?x4x?x32xf32>

// Other orders of the dimensions.
// RUN: sed -e 's/^!query = .*/!query = tensor<2x8x4x16xf32>/; s/-> (b, h, q, d)/-> (b, q, h, d)/; s/^!output = .*/!output = tensor<2x8x4x32xf32>/; s/-> (b, h, q, c)/-> (b, q, h, c)/' %{in} | %{raise} | FileCheck %s --check-prefix=ORDER
// ORDER: %[[Q:.*]] = linalg.transpose ins(%arg0 : {{.*}}) permutation = [0, 2, 1, 3]
// ORDER: %[[A:.*]] = ring.attention %[[Q]], %arg1, %arg2
// ORDER: %[[O:.*]] = linalg.transpose ins(%[[A]] : {{.*}}) permutation = [0, 2, 1, 3]
// ORDER: return %[[O]]
// RUN: sed -e 's/^!key = .*/!key = tensor<16x8x4x2xf32>/; s/-> (b, h, k, d)/-> (d, k, h, b)/' %{in} | %{raise} | FileCheck %s --check-prefix=KEY
// KEY: %[[K:.*]] = linalg.transpose ins(%arg1 : {{.*}}) permutation = [3, 2, 1, 0]
// KEY: ring.attention %arg0, %[[K]], %arg2
// RUN: sed -e 's/^!value = .*/!value = tensor<2x4x8x8xf32>/; s/^!output = .*/!output = tensor<2x4x8x8xf32>/; s/-> (b, h, k, c)/-> (b, h, c, k)/' %{in} | %{raise} | FileCheck %s --check-prefix=VALUE
// VALUE: %[[V:.*]] = linalg.transpose ins(%arg2 : {{.*}}) permutation = [0, 1, 3, 2]
// VALUE: ring.attention %arg0, %arg1, %[[V]]

// A score that is divided is multiplied by the inverse.
// RUN: sed -e 's/constant 0.25 : f32/constant 8.0 : f32/; s/mulf %%scale, %%x/divf %%x, %%scale/' %{in} | %{raise} | FileCheck %s --check-prefix=DIVIDED
// DIVIDED: mask(<causal>) scale(1.250000e-01)

// Base 2.
// RUN: sed -e 's/math.exp/math.exp2/' %{in} | %{raise} | FileCheck %s --check-prefix=EXP2
// EXP2: mask(<causal>) scale(0.173286796) :

// A cap below the mask.
// RUN: sed -e 's/%%masked = .*/%%1 = math.tanh %%0 : f32\n    %%2 = arith.mulf %%1, %%cap : f32\n    %%masked = arith.select %%visible, %%2, %%ninf : f32/; s/%%three = /%%cap = arith.constant 50.0 : f32\n  %%three = /' %{in} | %{raise} | FileCheck %s --check-prefix=CAPPED
// CAPPED: mask(<causal>) scale(1.250000e+01) softcap(5.000000e+01) :

// Batch and heads in one dimension of the products (einsum), and a mask that
// replaces the scores.
// RUN: %{raise} %S/Inputs/einsum_causal.mlir | FileCheck %s --check-prefix=EINSUM
// EINSUM-COUNT-3: linalg.transpose ins(%arg{{[012]}} : tensor<2x50x2x32xf32>) {{.*}} permutation = [0, 2, 1, 3]
// EINSUM: ring.attention %{{.*}} mask(<causal>) scale(0.176776692) : (tensor<2x2x50x32xf32>, tensor<2x2x50x32xf32>, tensor<2x2x50x32xf32>) -> tensor<2x2x50x32xf32>

// No keys at all.
// RUN: sed -e 's/x8x8x/x8x0x/; s/^!key = .*/!key = tensor<2x4x0x16xf32>/; s/^!value = .*/!value = tensor<2x4x0x32xf32>/' %{in} | %{raise} | FileCheck %s --check-prefix=NOKEYS
// NOKEYS: ring.attention %arg0, %arg1, %arg2 {{.*}}tensor<2x4x0x32xf32>) -> tensor<2x4x8x32xf32>
