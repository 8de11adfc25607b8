// What is added to the scores, or chooses between them and a low number, and
// does not follow from positions, stays a tensor: a bias, or a look-up in the
// score region. A remark says why a mask does.

// DEFINE: %{raise} = ring-opt --ring-raise-attention --remarks-filter=ring-raise-attention
// DEFINE: %{check} = FileCheck %s --check-prefix
// DEFINE: %{sdpa} = %S/Inputs/torch_sdpa_causal_f32.mlir
// DEFINE: %{generic} = %S/Inputs/generic_attention.mlir

//===----------------------------------------------------------------------===//
// Added
//===----------------------------------------------------------------------===//

// RUN: sed -e 's/%%10 = linalg.generic/%%unused = linalg.generic/; s/%%arg2: tensor<1x4x64x32xf32>)/%%arg2: tensor<1x4x64x32xf32>, %%10: tensor<64x64xf32>)/' \
// RUN:   %{sdpa} | %{raise} 2>&1 | %{check} BIAS --implicit-check-not="stays a tensor"
// BIAS: Remark="raised to ring.attention", bias=tensor, heads=4, kv_heads=4, mask=none, scale=1.767767e-01, score=none
// BIAS: %[[B:.*]] = tensor.expand_shape %arg3 {{\[\[}}0, 1, 2], [3{{\]\]}} output_shape [1, 1, 64, 64]
// BIAS: ring.attention %arg0, %arg1, %arg2 bias(%[[B]]) scale(0.176776692) : ({{.*}}, tensor<1x1x64x64xf32>)
// A mask that hides by a number which does not take up a score is a bias.
// RUN: sed -e 's/dense<0xFF800000>/dense<-1.0e9>/' %{sdpa} | %{raise} 2>&1 | %{check} FINITE
// RUN: sed -e 's/dense<0.000000e+00> : tensor<f32>/dense<1.0> : tensor<f32>/' %{sdpa} | %{raise} 2>&1 | %{check} FINITE
// FINITE: ring.attention %arg0, %arg1, %arg2 bias(%{{.*}}) scale(0.176776692) :

// Masks that have no words.
// RUN: sed -e 's/cmpi sle/cmpi ule/' %{sdpa} | %{raise} 2>&1 | %{check} COMPARE
// RUN: sed -e 's/cmpi sle/cmpi ne/' %{sdpa} | %{raise} 2>&1 | %{check} COMPARE
// COMPARE: bias=tensor, heads=4, kv_heads=4, mask=none
// COMPARE: Remark="mask stays a tensor: the mask compares positions in a way that is not understood", op=arith.cmpi
// COMPARE: ring.attention %arg0, %arg1, %arg2 bias(%{{.*}}) scale(0.176776692) :
// RUN: sed -e 's/subi %%in, %%in_14/addi %%in, %%in_14/' %{sdpa} | %{raise} 2>&1 | %{check} SUM
// SUM: Remark="mask stays a tensor: the mask does not compare the position of a key with that of a query", op=arith.cmpi
// RUN: sed -e 's/subi %%in, %%in_14/muli %%in, %%in_14/' %{sdpa} | %{raise} 2>&1 | %{check} PRODUCT
// PRODUCT: Remark="mask stays a tensor: the mask multiplies positions by something else than a small constant", op=arith.muli
// Nobody is hidden by an or with true.
// RUN: sed -e 's/andi %%in, %%in_14/ori %%in, %%in_14/' %{sdpa} | %{raise} 2>&1 | %{check} OR
// OR: bias=none, heads=4, kv_heads=4, mask=none
// The part that has words is a mask all the same, so that blocks are left out.
// RUN: sed -e 's/dense<true>/dense<false>/' %{sdpa} | %{raise} 2>&1 | %{check} PART
// PART: Remark="mask stays a tensor: no mask of ring.attention leaves the same pairs", op=arith.andi
// PART: ring.attention %arg0, %arg1, %arg2 bias(%{{.*}}) mask(<causal>) scale(0.176776692) :

// A row may be -inf all along: without a test for that, a softmax gives NaN.
// RUN: sed -e 's/%%masked = .*/%%masked = arith.addf %%0, %%data : f32/; s/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%es : !pairs, !pairs) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, #pair, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%data: f32, %%out: f32):/' \
// RUN:   %{generic} | %{raise} 2>&1 | %{check} MAYBEEMPTY
// MAYBEEMPTY: ring.attention %arg0, %arg1, %arg2 bias(%arg3) scale(2.500000e-01) empty_rows(nan) :

//===----------------------------------------------------------------------===//
// Chosen
//===----------------------------------------------------------------------===//

// By a tensor of booleans for each key of a batch entry.
// DEFINE: %{chosen} = -e 's/%%eo: !output)/%%eo: !output, %%c: tensor<2x8xi1>)/; s/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%c : !pairs, tensor<2x8xi1>) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, affine_map<(b, h, q, k) -> (b, k)>, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%data: i1, %%out: f32):/'
// RUN: sed %{chosen} -e 's/select %%visible/select %%data/' %{generic} | %{raise} 2>&1 | %{check} CHOSEN
// CHOSEN: bias=none, heads=4, kv_heads=4, mask=none, scale=2.500000e-01, score="mask from a tensor"
// CHOSEN: Remark="mask stays a tensor: the mask is not computed from positions"
// CHOSEN: %[[C:.*]] = tensor.expand_shape %arg6 {{.*}} output_shape [2, 1, 1, 8]
// CHOSEN: ring.attention %arg0, %arg1, %arg2 scale(2.500000e-01) empty_rows(nan) score {
// CHOSEN-NEXT: ^bb0(%[[X:.*]]: f32, %[[BATCH:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[KEY:.*]]: index):
// CHOSEN: %[[FLAG:.*]] = tensor.extract %[[C]][%[[BATCH]], %{{c0.*}}, %{{c0.*}}, %[[KEY]]]
// CHOSEN: %[[FILL:.*]] = arith.constant 0xFF800000 : f32
// CHOSEN: %[[Y:.*]] = arith.select %[[FLAG]], %[[X]], %[[FILL]]
// CHOSEN: ring.yield %[[Y]]
// The other way round, and by a finite number, which makes all weights of a row
// equal that is hidden all along.
// RUN: sed %{chosen} -e 's/select %%visible, %%0, %%ninf/select %%data, %%low, %%0/; s/%%three = /%%low = arith.constant -3.0e38 : f32\n  %%three = /' %{generic} | %{raise} 2>&1 | %{check} OPPOSITE
// OPPOSITE: ring.attention %arg0, %arg1, %arg2 scale(2.500000e-01) empty_rows(nan) score {
// OPPOSITE: ^bb0(%[[X:.*]]: f32, %
// OPPOSITE: %[[FLAG:.*]] = tensor.extract
// OPPOSITE: %[[FILL:.*]] = arith.constant -3.000000e+38 : f32
// OPPOSITE: arith.select %[[FLAG]], %[[FILL]], %[[X]]
// With a part that follows from positions.
// RUN: sed %{chosen} -e 's/%%near = .*/%%near = arith.andi %%visible, %%data : i1/; s/select %%visible/select %%near/' %{generic} | %{raise} 2>&1 | %{check} BOTH
// BOTH: ring.attention %arg0, %arg1, %arg2 mask(<causal>) scale(2.500000e-01) empty_rows(nan) score {
// By a finite number this would be another function: which rows are equal all
// along depends on both parts.
// RUN: sed %{chosen} -e 's/%%near = .*/%%near = arith.andi %%visible, %%data : i1/; s/select %%visible, %%0, %%ninf/select %%near, %%0, %%low/; s/%%three = /%%low = arith.constant -3.0e38 : f32\n  %%three = /' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} FINITEBOTH --implicit-check-not="= ring.attention"
// FINITEBOTH: Remark="softmax left as it is: the mask is not computed from positions"
// Nor where the positions are another mask, inside of it.
// RUN: sed %{chosen} -e 's/%%masked = .*/%%inner = arith.select %%visible, %%0, %%ninf : f32\n    %%masked = arith.select %%data, %%inner, %%low : f32/; s/%%three = /%%low = arith.constant -3.0e38 : f32\n  %%three = /' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} INSIDE --implicit-check-not="= ring.attention"
// INSIDE: a mask of positions beside a mask of data by a finite score", op=arith.select
// Which heads see what: computed for each, not for each query.
// RUN: sed -e 's/linalg.index 2/linalg.index 1/' %{generic} | %{raise} 2>&1 | %{check} HEAD
// HEAD: Remark="mask stays a tensor: the mask depends on an index that is no position of a query or a key", op=linalg.index
// HEAD: %[[C:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x4x1x8xi1>)
// HEAD: %[[H:.*]] = linalg.index 1 : index
// HEAD: %[[K:.*]] = linalg.index 3 : index
// HEAD: %[[SEEN:.*]] = arith.cmpi sge, %[[H]], %[[K]] : index
// HEAD: linalg.yield %[[SEEN]]
// HEAD: ring.attention %arg0, %arg1, %arg2 scale(2.500000e-01) empty_rows(nan) score {
// Two tensors that hide are joined. One for each pair is not needed for those
// that do not depend on the query.
// DEFINE: %{pairsof} = s/^func.func/#keys = affine_map<(b, h, q, k) -> (b, k)>\nfunc.func/; s/%%eo: !output)/%%eo: !output, %%c: tensor<2x8xi1>, %%n: tensor<2x8xi64>)/; s/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%c, %%n : !pairs, tensor<2x8xi1>, tensor<2x8xi64>) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, #keys, #keys, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%flag: i1, %%number: i64, %%out: f32):/
// RUN: sed -e '%{pairsof}; s/%%masked = .*/%%none = arith.constant 0 : i64\n    %%some = arith.cmpi ne, %%number, %%none : i64\n    %%inner = arith.select %%flag, %%ninf, %%0 : f32\n    %%seen = arith.andi %%some, %%visible : i1\n    %%masked = arith.select %%seen, %%inner, %%ninf : f32/' %{generic} | %{raise} | %{check} JOINED
// JOINED: %[[C:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<2x1x1x8xi64>, tensor<2x1x1x8xi1>) outs(%{{.*}} : tensor<2x1x1x8xi1>)
// JOINED-NEXT: ^bb0(%[[NUMBER:.*]]: i64, %[[FLAG:.*]]: i1, %
// JOINED: %[[SOME:.*]] = arith.cmpi ne, %[[NUMBER]], %
// JOINED: %[[SHOWN:.*]] = arith.xori %[[FLAG]], %
// JOINED: arith.andi %[[SOME]], %[[SHOWN]]
// JOINED: ring.attention %arg0, %arg1, %arg2 mask(<causal>) scale(2.500000e-01) empty_rows(nan) score {
// Added, it is a bias of keys.
// RUN: sed -e '%{pairsof}; s/%%masked = .*/%%seen = arith.andi %%flag, %%visible : i1\n    %%mask = arith.select %%seen, %%zero, %%ninf : f32\n    %%masked = arith.addf %%0, %%mask : f32/' %{generic} | %{raise} | %{check} ADDED
// ADDED: %[[B:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x1x1x8xf32>)
// ADDED: ring.attention %arg0, %arg1, %arg2 bias(%[[B]]) mask(<causal>) scale(2.500000e-01) empty_rows(nan) :
// Lengths are a clause, whatever the numbers are: from 0 to as many keys as there
// are.
// DEFINE: %{lengthof} = s/^func.func/#batch = affine_map<(b, h, q, k) -> (b)>\nfunc.func/; s/%%eo: !output)/%%eo: !output, %%n: tensor<2xi64>)/; s/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%n : !pairs, tensor<2xi64>) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, #batch, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%number: i64, %%out: f32):/
// RUN: sed -e '%{lengthof}; s/%%masked = .*/%%kn = arith.index_cast %%j : index to i64\n    %%shown = arith.cmpi sge, %%number, %%kn : i64\n    %%seen = arith.andi %%shown, %%visible : i1\n    %%masked = arith.select %%seen, %%0, %%ninf : f32/' %{generic} | %{raise} 2>&1 | %{check} LENGTHS --implicit-check-not="stays a tensor"
// LENGTHS: %[[N:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x1x1x1xi32>)
// LENGTHS: arith.maxsi %{{.*}}, %c-1
// LENGTHS: arith.minsi %{{.*}}, %c8
// LENGTHS: arith.addi %{{.*}}, %c1
// LENGTHS: %[[L:.*]] = tensor.collapse_shape %[[N]] {{.*}} into tensor<2xi32>
// LENGTHS: ring.attention %arg0, %arg1, %arg2 lengths(%[[L]]) mask(<causal>) scale(2.500000e-01) empty_rows(nan) :
// +inf does not hide: it takes all weight.
// RUN: sed -e '%{lengthof}; s/%%masked = .*/%%kn = arith.index_cast %%j : index to i64\n    %%shown = arith.cmpi sge, %%number, %%kn : i64\n    %%pinf = arith.constant 0x7F800000 : f32\n    %%masked = arith.select %%shown, %%0, %%pinf : f32/' %{generic} | %{raise} 2>&1 | %{check} PLUS --implicit-check-not="lengths("
// PLUS: func.func
// Equal ids are documents: each is named by the first key that has it.
// DEFINE: %{idsof} = s/^func.func/#queries = affine_map<(b, h, q, k) -> (b, q)>\n#keys = affine_map<(b, h, q, k) -> (b, k)>\nfunc.func/; s/%%eo: !output)/%%eo: !output, %%n: tensor<2x8xi64>)/; s/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%n, %%n : !pairs, tensor<2x8xi64>, tensor<2x8xi64>) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, #queries, #keys, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%mine: i64, %%other: i64, %%out: f32):/
// RUN: sed -e '%{idsof}; s/%%masked = .*/%%shown = arith.cmpi eq, %%mine, %%other : i64\n    %%masked = arith.select %%shown, %%0, %%ninf : f32/' %{generic} | %{raise} | %{check} SEGMENTS
// SEGMENTS: arith.cmpi eq
// SEGMENTS: arith.minsi
// SEGMENTS: ring.attention %arg0, %arg1, %arg2 segments(%{{.*}}, %{{.*}}) scale(2.500000e-01) empty_rows(nan) :
// Ids that are compared otherwise are not.
// RUN: sed -e '%{idsof}; s/%%masked = .*/%%shown = arith.cmpi sge, %%mine, %%other : i64\n    %%masked = arith.select %%shown, %%0, %%ninf : f32/' %{generic} | %{raise} 2>&1 | %{check} ORDERED --implicit-check-not="= ring.attention"
// ORDERED: the mask compares something else than positions"
// By a finite score it is not.
// RUN: sed -e '%{pairsof}; s/%%masked = .*/%%seen = arith.andi %%flag, %%visible : i1\n    %%low = arith.constant -3.0e38 : f32\n    %%mask = arith.select %%seen, %%zero, %%low : f32\n    %%masked = arith.addf %%0, %%mask : f32/' %{generic} | %{raise} 2>&1 | %{check} ADDEDLOW --implicit-check-not="= ring.attention"
// ADDEDLOW: what is added to the scores is no mask and no tensor", op=arith.select
// A bias is replaced with the score, so it has to be added before.
// DEFINE: %{biased} = -e 's/%%eo: !output)/%%eo: !output, %%c: tensor<2x8xi1>)/; s/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%c, %%es : !pairs, tensor<2x8xi1>, !pairs) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, affine_map<(b, h, q, k) -> (b, k)>, #pair, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%data: i1, %%bias: f32, %%out: f32):/'
// RUN: sed %{biased} -e 's/%%masked = .*/%%sum = arith.addf %%0, %%bias : f32\n    %%masked = arith.select %%data, %%sum, %%ninf : f32/' %{generic} | %{raise} | %{check} BEFORE
// BEFORE: ring.attention %arg0, %arg1, %arg2 bias(%arg3) scale(2.500000e-01) empty_rows(nan) score {
// RUN: sed %{biased} -e 's/%%masked = .*/%%inner = arith.select %%data, %%0, %%ninf : f32\n    %%masked = arith.addf %%inner, %%bias : f32/' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} AFTERWARDS --implicit-check-not="= ring.attention"
// AFTERWARDS: scores are replaced twice, or changed after that", op=arith.select
// A bias beside a finite mask: where all that a query sees is -inf, it would be
// the mean of what the mask hides.
// RUN: sed -e 's/%%masked = .*/%%biased = arith.addf %%0, %%data : f32\n    %%masked = arith.select %%visible, %%biased, %%low : f32/; s/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%es : !pairs, !pairs) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, #pair, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%data: f32, %%out: f32):/; s/%%three = /%%low = arith.constant -3.0e38 : f32\n  %%three = /' \
// RUN:   %{generic} | %{raise} 2>&1 | %{check} BESIDE --implicit-check-not="= ring.attention"
// BESIDE: Remark="softmax left as it is: pairs are hidden by a finite score beside a bias or a mask of data", op=arith.select

//===----------------------------------------------------------------------===//
// Other spellings of the softmax
//===----------------------------------------------------------------------===//

// A finite score hides as -inf does, where it is low enough; a row where all are
// hidden is the mean.
// RUN: sed -e 's/%%0, %%ninf : f32/%%0, %%low : f32/; s/%%three = /%%low = arith.constant -2.38e38 : f32\n  %%three = /' %{generic} | %{raise} | %{check} LOW
// LOW: ring.attention %arg0, %arg1, %arg2 mask(<causal>) scale(2.500000e-01) :
// RUN: sed -e 's/%%0, %%ninf : f32/%%0, %%low : f32/; s/%%three = /%%low = arith.constant -2.38e38 : f32\n  %%three = /; s/^!query = .*/!query = tensor<2x4x12x16xf32>/; s/^!output = .*/!output = tensor<2x4x12x32xf32>/; s/^!pairs = .*/!pairs = tensor<2x4x12x8xf32>/; s/^!rows = .*/!rows = tensor<2x4x12xf32>/; s/select %%visible/select %%both/' \
// RUN:   %{generic} | %{raise} | %{check} UNIFORM
// UNIFORM: mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(uniform) :
// RUN: sed -e 's/%%0, %%ninf : f32/%%0, %%low : f32/; s/%%three = /%%low = arith.constant -1.0e30 : f32\n  %%three = /' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} NOTLOW --implicit-check-not="= ring.attention"
// NOTLOW: the mask does not replace scores by -inf, or by a finite score that is as low", op=arith.select

// Multiplied, it may be any number.
// RUN: sed -e 's/%%0 = arith.mulf %%scale, %%x : f32/%%0 = arith.select %%visible, %%x, %%low : f32/; s/%%masked = .*/%%masked = arith.mulf %%0, %%scale : f32/; s/%%three = /%%low = arith.constant -2.38e38 : f32\n  %%three = /; s/%%scale = arith.constant 0.25/%%scale = arith.constant 1.0e-38/' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} MULTIPLIED --implicit-check-not="= ring.attention"
// MULTIPLIED: the mask does not replace scores by -inf, or by a finite score that is as low", op=arith.select
// A row that both hide has its weights where the higher score is.
// DEFINE: %{twice} = -e 's/%%masked = .*/%%first = arith.select %%visible, %%0, %%ninf : f32\n    %%masked = arith.select %%near, %%first, %%low : f32/; s/%%three = /%%low = arith.constant -2.38e38 : f32\n  %%three = /'
// RUN: sed %{twice} %{generic} | %{raise} | %{check} TWICE
// TWICE: ring.attention %arg0, %arg1, %arg2 mask(<causal, window = [2, 0]>) scale(2.500000e-01) :
// RUN: sed %{twice} -e 's/^!query = .*/!query = tensor<2x4x12x16xf32>/; s/^!output = .*/!output = tensor<2x4x12x32xf32>/; s/^!pairs = .*/!pairs = tensor<2x4x12x8xf32>/; s/^!rows = .*/!rows = tensor<2x4x12xf32>/' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} BOTHEMPTY --implicit-check-not="= ring.attention"
// BOTHEMPTY: several masks, one of a finite score, may hide all keys from a query", op=arith.select

// A product with the reciprocal.
// RUN: sed -e 's/%%0 = arith.divf %%x, %%y : f32/%%one_by = arith.divf %%one, %%y : f32\n    %%0 = arith.mulf %%one_by, %%x : f32/' %{generic} | %{raise} | %{check} SAME
// RUN: sed -e 's/%%0 = arith.divf %%x, %%y : f32/%%one_by = arith.divf %%one, %%y : f32\n    %%0 = arith.mulf %%x, %%one_by : f32/' %{generic} | %{raise} | %{check} SAME
// SAME: ring.attention %arg0, %arg1, %arg2 mask(<causal>) scale(2.500000e-01) :
// Where the maximum starts.
// RUN: sed -e 's/%%m0 = .*/%%lowest = arith.constant -3.40282347E+38 : f32\n  %%m0 = linalg.fill ins(%%lowest : f32) outs(%%er : !rows) -> !rows/' %{generic} | %{raise} | %{check} SAME
// RUN: sed -e 's/%%m0 = .*/%%nan = arith.constant 0x7FC00000 : f32\n  %%m0 = linalg.fill ins(%%nan : f32) outs(%%er : !rows) -> !rows/; s/maximumf/maxnumf/' %{generic} | %{raise} | %{check} SAME
// RUN: sed -e 's/%%m0 = .*/%%nan = arith.constant 0x7FC00000 : f32\n  %%m0 = linalg.fill ins(%%nan : f32) outs(%%er : !rows) -> !rows/' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} NAN --implicit-check-not="= ring.attention"
// NAN: the maximum of the scores does not start at -inf", op=arith.maximumf
// One more maximum, with -inf.
// RUN: sed -e 's/%%0 = arith.subf %%x, %%y : f32/%%above = arith.maximumf %%ninf, %%y : f32\n    %%0 = arith.subf %%x, %%above : f32/' %{generic} | %{raise} | %{check} SAME
// RUN: sed -e 's/%%0 = arith.subf %%x, %%y : f32/%%above = arith.maximumf %%zero, %%y : f32\n    %%0 = arith.subf %%x, %%above : f32/' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} ABOVE --implicit-check-not="= ring.attention"
// ABOVE: what is subtracted from the scores is not their maximum", op=arith.maximumf

// Conditions that choose between conditions.
// RUN: sed -e 's/%%masked = .*/%%no = arith.constant false\n    %%chosen = arith.select %%visible, %%near, %%no : i1\n    %%masked = arith.select %%chosen, %%0, %%ninf : f32/' %{generic} | %{raise} | %{check} SELECTED
// RUN: sed -e 's/%%masked = .*/%%yes = arith.constant true\n    %%hidden = arith.cmpi slt, %%i, %%j : index\n    %%far = arith.cmpi sge, %%i, %%later : index\n    %%chosen = arith.select %%hidden, %%yes, %%far : i1\n    %%masked = arith.select %%chosen, %%ninf, %%0 : f32/' %{generic} | %{raise} | %{check} SELECTED
// SELECTED: ring.attention %arg0, %arg1, %arg2 mask(<causal, window = [2, 0]>) scale(2.500000e-01) :
// RUN: sed -e 's/%%masked = .*/%%yes = arith.constant true\n    %%chosen = arith.select %%visible, %%yes, %%near : i1\n    %%masked = arith.select %%chosen, %%0, %%ninf : f32/' %{generic} | %{raise} | %{check} EITHER
// EITHER: ring.attention %arg0, %arg1, %arg2 scale(2.500000e-01) :

// Multiples of positions, and constant lists of them.
// RUN: sed -e 's/%%visible = .*/%%twice = arith.constant 2 : index\n    %%i2 = arith.muli %%i, %%twice : index\n    %%j2 = arith.muli %%twice, %%j : index\n    %%i1 = arith.subi %%i2, %%i : index\n    %%j1 = arith.subi %%j2, %%j : index\n    %%visible = arith.cmpi sge, %%i1, %%j1 : index/' %{generic} | %{raise} | %{check} SAME
// DEFINE: %{listed} = -e 's/ins(%%dot : !pairs) outs(%%es : !pairs)/ins(%%dot, %%list, %%list : !pairs, tensor<8xi32>, tensor<8xi32>) outs(%%es : !pairs)/; s/\[#pair, #pair\],/[#pair, affine_map<(b, h, q, k) -> (q)>, affine_map<(b, h, q, k) -> (k)>, #pair],/; s/^  ^bb0(%%x: f32, %%out: f32):/  ^bb0(%%x: f32, %%qi: i32, %%ki: i32, %%out: f32):/; s/%%visible = .*/%%visible = arith.cmpi sge, %%qi, %%ki : i32/'
// RUN: sed %{listed} -e 's/%%three = /%%list = arith.constant dense<[5, 6, 7, 8, 9, 10, 11, 12]> : tensor<8xi32>\n  %%three = /' %{generic} | %{raise} | %{check} SAME
// RUN: sed %{listed} -e 's/%%three = /%%list = arith.constant dense<[5, 6, 7, 8, 9, 10, 11, 13]> : tensor<8xi32>\n  %%three = /' %{generic} | %{raise} | %{check} SAME
// RUN: sed %{listed} -e 's/%%three = /%%list = arith.constant dense<[5, 6, 7, 8, 9, 10, 12, 11]> : tensor<8xi32>\n  %%three = /' %{generic} | %{raise} 2>&1 \
// RUN:   | %{check} UNEVEN --implicit-check-not="= ring.attention"
// UNEVEN: the mask compares something else than positions", op=arith.constant
