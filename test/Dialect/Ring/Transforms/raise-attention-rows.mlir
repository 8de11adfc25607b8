// Masks that are more than bounds of the difference of positions. They are
// evaluated at each position, or read where they are a constant of queries x
// keys, and become the mask that leaves exactly the same keys to each query.

// DEFINE: %{raise} = ring-opt --ring-raise-attention --remarks-filter=ring-raise-attention
// DEFINE: %{check} = FileCheck %s --check-prefix
// DEFINE: %{generic} = %S/Inputs/generic_attention.mlir
// DEFINE: %{with} = sed -e 's/%%visible = arith.cmpi sge, %%i, %%j : index/

//===----------------------------------------------------------------------===//
// Computed
//===----------------------------------------------------------------------===//

// DEFINE: %{chunks} = %%qc = arith.divsi %%i, %%three : index\n    %%kc = arith.divsi %%j, %%three : index
// RUN: %{with}%{chunks}\n    %%visible = arith.cmpi eq, %%qc, %%kc : index/' %{generic} | %{raise} | %{check} CHUNK
// CHUNK: ring.attention %arg0, %arg1, %arg2 mask(<chunk = 3>) scale(2.500000e-01) :
// RUN: %{with}%{chunks}\n    %%same = arith.cmpi eq, %%qc, %%kc : index\n    %%past = arith.cmpi sge, %%i, %%j : index\n    %%visible = arith.andi %%same, %%past : i1/' %{generic} | %{raise} | %{check} BOTH
// BOTH: ring.attention %arg0, %arg1, %arg2 mask(<causal, chunk = 3>) scale(2.500000e-01) :
// RUN: %{with}%%past = arith.cmpi sge, %%i, %%j : index\n    %%prompt = arith.cmpi slt, %%j, %%three : index\n    %%visible = arith.ori %%past, %%prompt : i1/' %{generic} | %{raise} | %{check} PREFIX
// PREFIX: ring.attention %arg0, %arg1, %arg2 mask(<causal, prefix = 3>) scale(2.500000e-01) :

// Chunks as floats have them. Of 2.5 positions they are not of one length, and
// are documents.
// DEFINE: %{asfloat} = %%qn = arith.index_cast %%i : index to i64\n    %%kn = arith.index_cast %%j : index to i64\n    %%qf = arith.sitofp %%qn : i64 to f64\n    %%kf = arith.sitofp %%kn : i64 to f64\n    %%qd = arith.divf %%qf, %%by : f64\n    %%kd = arith.divf %%kf, %%by : f64\n    %%ql = math.floor %%qd : f64\n    %%kl = math.floor %%kd : f64\n    %%qc = arith.fptosi %%ql : f64 to i64\n    %%kc = arith.fptosi %%kl : f64 to i64\n    %%visible = arith.cmpi eq, %%qc, %%kc : i64
// RUN: %{with}%%by = arith.constant 3.0 : f64\n    %{asfloat}/' %{generic} | %{raise} | %{check} CHUNK
// RUN: %{with}%%by = arith.constant 2.5 : f64\n    %{asfloat}/' %{generic} | %{raise} | %{check} UNEVEN
// UNEVEN: ring.attention %arg0, %arg1, %arg2 segments(%{{.*}}, %{{.*}}) scale(2.500000e-01) empty_rows(nan) :
// Unsigned numbers below 0 are large ones.
// RUN: %{with}%%ql = arith.subi %%i, %%three : index\n    %%visible = arith.cmpi uge, %%ql, %%j : index/' %{generic} | %{raise} 2>&1 | %{check} UNSIGNED --implicit-check-not="= ring.attention"
// UNSIGNED: the mask compares positions in a way that is not understood", op=arith.cmpi
// Numbers wrap around: of 4 bits, 12 queries see 8 keys as two chunks would.
// RUN: sed -e 's/%%visible = .*/%%qi = arith.index_cast %%i : index to i4\n    %%ki = arith.index_cast %%j : index to i4\n    %%visible = arith.cmpi sge, %%qi, %%ki : i4/; s/^!query = .*/!query = tensor<2x4x12x16xf32>/; s/^!output = .*/!output = tensor<2x4x12x32xf32>/; s/^!pairs = .*/!pairs = tensor<2x4x12x8xf32>/; s/^!rows = .*/!rows = tensor<2x4x12xf32>/' \
// RUN:   %{generic} | %{raise} | %{check} OVERFLOW
// OVERFLOW: ring.attention %arg0, %arg1, %arg2 mask(<causal, chunk = 8, align = top_left>) scale(2.500000e-01) empty_rows(nan) :
// Of more than 2^17 positions nothing is evaluated.
// RUN: %{with}%{chunks}\n    %%visible = arith.cmpi eq, %%qc, %%kc : index/; s/^\(![qkvo].*\)x8x/\1x200000x/; s/^!pairs.*/!pairs = tensor<2x4x200000x200000xf32>/; s/^!rows.*/!rows = tensor<2x4x200000xf32>/' %{generic} | %{raise} 2>&1 | %{check} LONG --implicit-check-not="= ring.attention"
// LONG: the mask computes with positions in a way that is not understood", op=arith.divsi

//===----------------------------------------------------------------------===//
// Read
//===----------------------------------------------------------------------===//

// A constant that is read for each pair: hidden where it is 0.
// DEFINE: %{read} = sed -e 's/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%seen : !pairs, tensor<8x8xf32>) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, affine_map<(b, h, q, k) -> (q, k)>, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%flag: f32, %%out: f32):/; s/%%visible = .*/%%visible = arith.cmpf one, %%flag, %%zero : f32/; s/%%three = /%%seen = arith.constant
// DEFINE: %{rows} = [1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0],[1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0],[1.0,1.0,1.0,0.0,0.0,0.0,0.0,0.0],[1.0,1.0,1.0,1.0,0.0,0.0,0.0,0.0],[1.0,1.0,1.0,1.0,1.0,0.0,0.0,0.0],[1.0,1.0,1.0,1.0,1.0,1.0,0.0,0.0],[1.0,1.0,1.0,1.0,1.0,1.0,1.0,0.0]
// RUN: %{read} dense<[%{rows},[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]]> : tensor<8x8xf32>\n  %%three = /' %{generic} | %{raise} | %{check} TABLE
// TABLE: ring.attention %arg0, %arg1, %arg2 mask(<causal>) scale(2.500000e-01) :
// One pair that is hidden as well.
// RUN: %{read} dense<[%{rows},[1.0,1.0,1.0,1.0,0.0,1.0,1.0,1.0]]> : tensor<8x8xf32>\n  %%three = /' %{generic} | %{raise} 2>&1 | %{check} HOLE --implicit-check-not="= ring.attention"
// HOLE: the mask is not a conjunction of comparisons of positions", op=arith.cmpf
// RUN: %{read} dense<[%{rows},[0.0,0.0,1.0,1.0,1.0,1.0,1.0,1.0]]> : tensor<8x8xf32>\n  %%three = /' %{generic} | %{raise} 2>&1 | %{check} SHORT --implicit-check-not="= ring.attention"
// SHORT: no mask of ring.attention leaves the same pairs", op=arith.cmpf

// The first 8 of 9 rows, which are causal. As rows of 9, they are not.
// DEFINE: %{nine} = dense<[%{rows},[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0],[0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]]> : tensor<9x8xf32>
// DEFINE: %{ofcut} = s/ins(%%dot, %%seen/ins(%%dot, %%cut/
// RUN: %{read} %{nine}\n  %%cut = tensor.extract_slice %%seen[0, 0] [8, 8] [1, 1] : tensor<9x8xf32> to tensor<8x8xf32>\n  %%three = /; %{ofcut}' %{generic} | %{raise} | %{check} TABLE
// RUN: %{read} %{nine}\n  %%cut = tensor.extract_slice %%seen[1, 0] [8, 8] [1, 1] : tensor<9x8xf32> to tensor<8x8xf32>\n  %%three = /; %{ofcut}' %{generic} | %{raise} 2>&1 | %{check} OTHERS --implicit-check-not="= ring.attention"
// RUN: %{read} %{nine}\n  %%list = tensor.collapse_shape %%seen [[0, 1]] : tensor<9x8xf32> into tensor<72xf32>\n  %%wide = tensor.expand_shape %%list [[0, 1]] output_shape [8, 9] : tensor<72xf32> into tensor<8x9xf32>\n  %%cut = tensor.extract_slice %%wide[0, 0] [8, 8] [1, 1] : tensor<8x9xf32> to tensor<8x8xf32>\n  %%three = /; %{ofcut}' %{generic} | %{raise} 2>&1 | %{check} OTHERS --implicit-check-not="= ring.attention"
// OTHERS: the mask is not a conjunction of comparisons of positions", op=arith.cmpf
