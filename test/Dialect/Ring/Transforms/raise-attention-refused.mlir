// What is close to attention but is none stays as it is, and a remark names the
// op in the way.

// DEFINE: %{raise} = ring-opt --ring-raise-attention --remarks-filter=ring-raise-attention
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring.attention" --check-prefix
// DEFINE: %{sdpa} = %S/Inputs/torch_sdpa_causal_f32.mlir
// DEFINE: %{generic} = %S/Inputs/generic_attention.mlir

//===----------------------------------------------------------------------===//
// Near misses: nothing changes at all
//===----------------------------------------------------------------------===//

// RUN: %{raise} %S/Inputs/near_miss_mask_after_softmax.mlir 2>&1 | %{check} AFTER
// AFTER: remark: [Missed] RaiseAttention | Category:ring-raise-attention | Function=main | Remark="softmax left as it is: the weights of the values are not a softmax's quotient", op=arith.mulf
// RUN: ring-opt %S/Inputs/near_miss_mask_after_softmax.mlir -o %t.before
// RUN: ring-opt --ring-raise-attention %S/Inputs/near_miss_mask_after_softmax.mlir | diff %t.before -

// RUN: %{raise} %S/Inputs/near_miss_query_axis.mlir 2>&1 | %{check} AXIS
// AXIS: Remark="softmax left as it is: the maximum of the scores does not run over the keys of the same scores", op=arith.maximumf
// RUN: ring-opt %S/Inputs/near_miss_query_axis.mlir -o %t.before
// RUN: ring-opt --ring-raise-attention %S/Inputs/near_miss_query_axis.mlir | diff %t.before -

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

// A query that does not see itself.
// RUN: sed -e 's/cmpi sle/cmpi slt/' %{sdpa} | %{raise} 2>&1 | %{check} STRICT
// STRICT: no mask of ring.attention lets query i see the keys j <= i - 1", op=arith.select
// RUN: sed -e 's/cmpi sle/cmpi sgt/' %{sdpa} | %{raise} 2>&1 | %{check} ANTI
// ANTI: no mask of ring.attention lets query i see the keys i + 1 <= j", op=arith.select
// Not hidden but 0.
// RUN: sed -e 's/%%visible, %%0, %%ninf/%%visible, %%0, %%zero/' %{generic} | %{raise} 2>&1 | %{check} ZERO
// ZERO: the mask does not replace scores by -inf, or by a finite score that is as low", op=arith.select
// -inf times a negative factor shows what was hidden.
// RUN: sed -e 's/scale = arith.constant 0.25/scale = arith.constant -0.25/; s/%%0 = arith.mulf %%scale, %%x : f32/%%0 = arith.select %%visible, %%x, %%ninf : f32/; s/%%masked = .*/%%masked = arith.mulf %%0, %%scale : f32/' \
// RUN:   %{generic} | %{raise} 2>&1 | %{check} NEGATIVE
// NEGATIVE: the mask is multiplied by a factor that is not positive", op=arith.select

//===----------------------------------------------------------------------===//
// The softmax
//===----------------------------------------------------------------------===//

// RUN: sed -e 's/%%cst_0 = arith.constant 0xFF800000 : f32/%%cst_0 = arith.constant 0.0 : f32/' %{sdpa} | %{raise} 2>&1 | %{check} MAX0
// MAX0: the maximum of the scores does not start at -inf", op=arith.maximumf
// RUN: sed -e 's/maximumf/minimumf/' %{sdpa} | %{raise} 2>&1 | %{check} MIN
// MIN: what is subtracted from the scores is not their maximum", op=arith.minimumf
// RUN: sed -e 's/%%l0 = linalg.fill ins(%%zero/%%l0 = linalg.fill ins(%%one/' %{generic} | %{raise} 2>&1 | %{check} SUM1
// SUM1: the sum of the exponentials does not start at 0", op=arith.addf
// The sum over the queries.
// RUN: sed -e '/%%l = linalg.generic/,/linalg.yield/{s/#row/affine_map<(b, h, q, k) -> (b, h, k)>/; s/"parallel", "reduction"/"reduction", "parallel"/}' %{generic} | %{raise} 2>&1 | %{check} SUMAXIS
// SUMAXIS: the sum of the exponentials does not run over the keys of the same scores", op=arith.addf
// A maximum that is that of each score itself.
// RUN: sed -e 's/ins(%%s, %%m : !pairs, !rows)/ins(%%s, %%s : !pairs, !pairs)/; s/\[#pair, #row, #pair\]/[#pair, #pair, #pair]/' %{generic} | %{raise} 2>&1 | %{check} NOMAX
// NOMAX: what is subtracted from the scores is not their maximum", op=arith.select
// Other scores below the exponential than in the maximum.
// RUN: sed -e 's/ins(%%s, %%m : !pairs, !rows)/ins(%%dot, %%m : !pairs, !rows)/' %{generic} | %{raise} 2>&1 | %{check} OTHER
// OTHER: the maximum of the scores does not run over the keys of the same scores", op=arith.maximumf

// The test for rows that see nothing.
// RUN: sed -e 's/cmpf oeq/cmpf one/' %{sdpa} | %{raise} 2>&1 | %{check} TEST
// TEST: the test for rows without a visible key does not compare scores with -inf", op=arith.cmpf
// RUN: sed -e 's/0xFFF0000000000000/0.0/' %{sdpa} | %{raise} 2>&1 | %{check} TESTZERO
// TESTZERO: the test for rows without a visible key does not compare scores with -inf", op=arith.cmpf
// RUN: sed -e 's/%%true = arith.constant true/%%true = arith.constant false/' %{sdpa} | %{raise} 2>&1 | %{check} TESTINIT
// TESTINIT: the test for rows without a visible key does not start at true", op=arith.andi
// RUN: sed -e 's/ins(%%17 : tensor<1x4x64x64xf32>) outs(%%29/ins(%%28 : tensor<1x4x64x64xf32>) outs(%%29/' %{sdpa} | %{raise} 2>&1 | %{check} TESTOTHER
// TESTOTHER: the test for rows without a visible key does not run over the keys of the same scores", op=arith.andi

//===----------------------------------------------------------------------===//
// Scale and operands
//===----------------------------------------------------------------------===//

// RUN: sed -e 's/%%eo: !output)/%%eo: !output, %%factor: f32)/; s/mulf %%scale, %%x/mulf %%factor, %%x/' %{generic} | %{raise} 2>&1 | %{check} FACTOR
// FACTOR: the scale of the scores is not constant", op=arith.mulf
// RUN: sed -e 's/arith.mulf %%scale, %%x/arith.addf %%scale, %%x/' %{generic} | %{raise} 2>&1 | %{check} ADDED
// ADDED: what is added to the scores is no mask and no tensor", op=arith.constant
// RUN: sed -e 's/%%scale = arith.constant 0.25/%%scale = arith.constant 0x7F800000/' %{generic} | %{raise} 2>&1 | %{check} INFINITE
// INFINITE: the scale is not finite", op=linalg.generic
// RUN: sed -e 's/%%0 = arith.mulf %%scale, %%x : f32/%%0 = math.sin %%x : f32/' %{generic} | %{raise} 2>&1 | %{check} SIN
// SIN: the scores are changed before the softmax in a way that is not understood", op=math.sin
// RUN: sed -e 's/%%s0 = linalg.fill ins(%%zero/%%s0 = linalg.fill ins(%%one/' %{generic} | %{raise} 2>&1 | %{check} DOT1
// DOT1: the product of queries and keys does not start at 0", op=linalg.generic
// RUN: sed -e 's/%%o0 = linalg.fill ins(%%zero/%%o0 = linalg.fill ins(%%one/' %{generic} | %{raise} 2>&1 | %{check} OUT1
// OUT1: the product with the values does not start at 0", op=linalg.generic

// Values of another head, or of other positions, than the weights'.
// RUN: sed -e 's/^!value = .*/!value = tensor<2x4x4x32xf32>/; s/^#at_value = .*/#at_value = affine_map<(b, h, q, c, k) -> (b, h, h, c)>/' %{generic} | %{raise} 2>&1 | %{check} DIAGONAL
// DIAGONAL: the value is not read as [batch, floor(head / group), key position, channel] in some order"
// RUN: sed -e 's/^!value = .*/!value = tensor<2x4x8x8x32xf32>/; s/^#at_value = .*/#at_value = affine_map<(b, h, q, c, k) -> (b, h, q, k, c)>/; s/%%masked = .*/%%masked = arith.addf %%0, %%zero : f32/' %{generic} | %{raise} 2>&1 | %{check} PERQUERY
// PERQUERY: the value is not read as [batch, floor(head / group), key position, channel] in some order"

// Another use of the weights, of the scores, of the index of the maximum.
// RUN: sed -e 's/-> tensor<1x4x64x32xf32> {/-> (tensor<1x4x64x32xf32>, tensor<1x4x64x64xf32>) {/; s/return %%expanded_13 : tensor<1x4x64x32xf32>/return %%expanded_13, %%34 : tensor<1x4x64x32xf32>, tensor<1x4x64x64xf32>/' %{sdpa} | %{raise} 2>&1 | %{check} USE
// RUN: sed -e 's/-> tensor<1x4x64x32xf32> {/-> (tensor<1x4x64x32xf32>, tensor<4x64x64xf32>) {/; s/return %%expanded_13 : tensor<1x4x64x32xf32>/return %%expanded_13, %%15 : tensor<1x4x64x32xf32>, tensor<4x64x64xf32>/' %{sdpa} | %{raise} 2>&1 | %{check} USE
// RUN: sed -e 's/-> tensor<1x4x64x32xf32> {/-> (tensor<1x4x64x32xf32>, tensor<1x4x64xi64>) {/; s/return %%expanded_13 : tensor<1x4x64x32xf32>/return %%expanded_13, %%22#1 : tensor<1x4x64x32xf32>, tensor<1x4x64xi64>/' %{sdpa} | %{raise} 2>&1 | %{check} USE
// USE: the scores or the weights of the values have another use", op=func.return

// Other element types.
// RUN: sed -e 's/f32/f64/g; s/0xFF800000/0xFFF0000000000000/' %{generic} | %{raise} 2>&1 | %{check} TYPE
// TYPE: the element type is not f32, f16 or bf16"

// Sizes that ring.attention does not take.
// RUN: sed -e 's/x16xf32/x?xf32/' %{generic} | %{raise} 2>&1 | %{check} HEADSIZE
// RUN: sed -e 's/x16xf32/x0xf32/' %{generic} | %{raise} 2>&1 | %{check} HEADSIZE
// RUN: sed -e 's/2x4x/2x0x/' %{generic} | %{raise} 2>&1 | %{check} HEADSIZE
// So many heads that nobody finds those of the keys in time.
// RUN: sed -e 's/2x4x/2x8589934592x/' %{generic} | %{raise} 2>&1 | %{check} HEADS
// HEADS: the query has more than 2^32 heads", op=linalg.generic
// RUN: sed -e 's/2x4x/2x4294967296x/' %{generic} | %{raise} 2>&1 | FileCheck %s --check-prefix=MANY_HEADS
// MANY_HEADS: ring.attention
// HEADSIZE: heads and head sizes are not static and positive", op=linalg.generic
