//===- RingAttentionOps.td - Attention and its parts --------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGATTENTIONOPS_TD
#define RING_DIALECT_RING_IR_RINGATTENTIONOPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ring/Dialect/Ring/IR/RingAttributes.td"
include "ring/Dialect/Ring/IR/RingDialect.td"
include "ring/Dialect/Ring/IR/RingTypes.td"

/// No op of the dialect knows what an encoding means, so none may be given.
class Ring_TensorOf<list<Type> types, int rank>
    : ConfinedType<TensorRankOf<types, [rank]>, [
        CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">],
        TensorRankOf<types, [rank]>.summary # " without encoding",
        "::mlir::RankedTensorType">;
class Ring_ShapedOf<list<Type> types, int rank>
    : AnyTypeOf<[Ring_TensorOf<types, rank>, MemRefRankOf<types, [rank]>]>;
def Ring_Table : AnyTypeOf<[Ring_TensorOf<[I64], 2>, MemRefRankOf<[I64], [2]>],
                           "layout table [entries, 5] of i64">;

def Ring_AttentionOp : Ring_Op<"attention", [
    Pure, AttrSizedOperandSegments, SingleBlock,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "exact attention over the whole sequence";
  let description = [{
    `softmax(mask(score(softcap(scale * q . k) + bias))) . v`, the softmax with
    the sink's logit in its denominator. `lse` is the natural logarithm of that
    denominator. Query head h reads key and value head
    floor(h / (heads / kv_heads)). Every clause is optional; those that are
    given stand in this order, and so do the types of their operands:

    | clause | shape | meaning |
    |---|---|---|
    | `bias(%b)` | [1 or batch, 1 or heads, 1 or Sq, Sk] | added to the capped score; f32 or the inputs' type |
    | `segments(%sq, %sk)` | i32 [batch, Sq], [batch, Sk] | a pair attends iff the ids are equal and not negative |
    | `lengths(%n)` | i32 [batch] | keys at and beyond it are invisible |
    | `offsets(%o)` | i32 [batch] | the position of query i is i + offset |
    | `sinks(%s)` | f32 [heads] | one more logit of the denominator, not scaled, not capped |
    | `mask(<...>)` | | visibility by position, see `#ring.mask` |
    | `scale(c)` | | factor of q . k; 1 / sqrt(d) where it is left out |
    | `softcap(c)` | | c * tanh(x / c) of the scaled score |
    | `empty_rows(...)` | | what a query that sees nothing gives: `zero` (default), `uniform` (the mean of v), `nan` |
    | `score {...}` | | any elementwise function of the score and of the pair's batch, head, query and key index in the whole sequence |

    The lse of a query that sees nothing is -inf, or the sink's logit. A bias is
    broadcast along its sizes of 1.

    Example:

    ```mlir
    %out, %lse = ring.attention %q, %k, %v mask(<causal, window = [127, 0]>) scale(0.125)
      : (tensor<1x8x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>)
      -> (tensor<1x8x256x64xbf16>, tensor<1x8x256xf32>)
    ```

    Constraints:
    - query [batch, heads, Sq, d], key [batch, kv_heads, Sk, d], value
      [batch, kv_heads, Sk, dv], all of one element type (f32, f16, bf16);
    - heads and head sizes are static and positive, and heads are a multiple of
      kv_heads; batch, Sq and Sk may be dynamic;
    - out is [batch, heads, Sq, dv] of the inputs' type, lse [batch, heads, Sq]
      f32;
    - operands of clauses have the shapes and types above; a bias of dynamic
      size along a dimension has the whole size there, not 1;
    - `segments` come in pairs;
    - a mask that depends on positions needs `align` or `offsets` unless
      Sq = Sk, where two dynamic sizes are taken to be equal;
    - `align` and `offsets` exclude one another;
    - scale is finite, softcap finite and positive;
    - the `score` region is one block that takes (f32, index, index, index,
      index) and ends in a `ring.yield` of f32; it holds elementwise ops on
      scalars, constants, index arithmetic and `tensor.extract` only. Values
      that it captures are given to every rank as they are.
  }];
  let arguments = (ins
    Ring_TensorOf<[F32, F16, BF16], 4>:$query,
    Ring_TensorOf<[F32, F16, BF16], 4>:$key,
    Ring_TensorOf<[F32, F16, BF16], 4>:$value,
    Optional<Ring_TensorOf<[F32, F16, BF16], 4>>:$bias,
    Optional<Ring_TensorOf<[I32], 2>>:$query_segments,
    Optional<Ring_TensorOf<[I32], 2>>:$key_segments,
    Optional<Ring_TensorOf<[I32], 1>>:$lengths,
    Optional<Ring_TensorOf<[I32], 1>>:$offsets,
    Optional<Ring_TensorOf<[F32], 1>>:$sinks,
    OptionalAttr<Ring_MaskAttr>:$mask,
    OptionalAttr<F32Attr>:$scale,
    OptionalAttr<F32Attr>:$softcap,
    OptionalAttr<Ring_EmptyRowsAttr>:$empty_rows);
  let results = (outs
    Ring_TensorOf<[F32, F16, BF16], 4>:$out,
    Optional<Ring_TensorOf<[F32], 3>>:$lse);
  let regions = (region MaxSizedRegion<1>:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    (`bias` `(` $bias^ `)`)?
    (`segments` `(` $query_segments^ `,` $key_segments `)`)?
    (`lengths` `(` $lengths^ `)`)?
    (`offsets` `(` $offsets^ `)`)?
    (`sinks` `(` $sinks^ `)`)?
    (`mask` `(` $mask^ `)`)?
    (`scale` `(` $scale^ `)`)?
    (`softcap` `(` $softcap^ `)`)?
    (`empty_rows` `(` custom<EmptyRows>($empty_rows)^ `)`)?
    (`score` custom<Score>($score)^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The factor of q . k: `scale`, or 1 / sqrt(d).
    float getEffectiveScale();
    /// The mask, or one that hides nothing.
    MaskAttr getEffectiveMask();
    /// True iff a `score` region is given.
    bool hasScore() { return !getScore().empty(); }
  }];
}

def Ring_YieldOp : Ring_Op<"yield", [
    Pure, Terminator, ReturnLike,
    ParentOneOf<["AttentionOp", "OnlineAttentionOp"]>]> {
  let summary = "the result of a score region";
  let description = [{
    Ends the `score` region of `ring.attention` and `ring.online_attention`;
    the operand is the score that the softmax takes.

    Example: `ring.yield %y : f32`
  }];
  let arguments = (ins F32:$score);
  let assemblyFormat = "$score attr-dict `:` type($score)";
}

def Ring_SlicesOp : Ring_Op<"slices", [
    AlwaysSpeculatable, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the work list of a round";
  let description = [{
    Which pairs of (query of rank `rank`, key of rank `owner`) are to be
    computed: per query range its key ranges, each full or partial, from the
    two layout tables, the mask, and the whole sequence's segments, lengths and
    offsets where given (all as in `ring.attention`). `whole` lists the whole
    block as one partial range per query range: what a program computes before
    `ring-classify-blocks`. Has no effect but to read its memrefs.

    Example:

    ```mlir
    %s = ring.slices at(%rank, %owner in %queries, %keys) mask(<causal>)
      : tensor<4x5xi64>, tensor<4x5xi64>
    ```

    Constraints:
    - tables are [entries, 5], see `#ring.layout`;
    - `segments` come in pairs, and segments, lengths and offsets are of one
      batch size;
    - the mask's `align` and `offsets` exclude one another.
  }];
  let arguments = (ins
    Index:$rank, Index:$owner, Ring_Table:$query_table, Ring_Table:$key_table,
    Optional<Ring_ShapedOf<[I32], 2>>:$query_segments,
    Optional<Ring_ShapedOf<[I32], 2>>:$key_segments,
    Optional<Ring_ShapedOf<[I32], 1>>:$lengths,
    Optional<Ring_ShapedOf<[I32], 1>>:$offsets,
    OptionalAttr<Ring_MaskAttr>:$mask,
    UnitAttr:$whole);
  let results = (outs Ring_SlicesType:$slices);
  let assemblyFormat = [{
    `at` `(` $rank `,` $owner `in` $query_table `,` $key_table `)`
    (`segments` `(` $query_segments^ `,` $key_segments `:`
       type($query_segments) `,` type($key_segments) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    (`mask` `(` $mask^ `)`)? (`whole` $whole^)?
    attr-dict `:` type($query_table) `,` type($key_table)
  }];
  let hasVerifier = 1;
}

class Ring_StateOp<string mnemonic, list<Trait> traits>
    : Ring_Op<mnemonic, !listconcat(traits, [
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

def Ring_OnlineAttentionOp : Ring_StateOp<"online_attention", [
    SingleBlock]> {
  let summary = "one block step of the online softmax";
  let description = [{
    Folds the visiting keys and values into the running state
    (acc, max, sum) of the rank's queries, for the pairs that the work list
    names. The state is f32: `acc` [batch, heads, Lq, dv] the weighted sum of
    values, `max` [batch, heads, Lq] the largest score so far, `sum` the sum of
    exp(score - max). The identity is (0, -inf, 0).

    With m' = max(m, max_j s_j): acc' = acc * exp(m - m') + sum_j
    exp(s_j - m') v_j, and likewise for sum (Milakov, Gimelshein 2018;
    FlashAttention). A query that sees no key of the block keeps its state bit
    by bit.

    Example:

    ```mlir
    %a, %m, %l = ring.online_attention %q, %k, %v slices(%s) scale(0.125)
        outs(%a0, %m0, %l0)
      : (tensor<1x8x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, !ring.slices,
         tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
      -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    ```

    Constraints:
    - query [batch, heads, Lq, d], key [batch, kv_heads, Lk, d], value
      [batch, kv_heads, Lk, dv] and the `score` region as in `ring.attention`,
      the state as above;
    - bias is [1 or batch, 1 or heads, 1 or Lq, Sk]: the rank's own rows (or the
      one row), all columns in the order of the whole sequence; f32 or the
      inputs' type;
    - scale is finite, softcap finite and positive;
    - query and the state are all tensors, which the op returns, or all memrefs,
      which it updates.
  }];
  let arguments = (ins
    Ring_ShapedOf<[F32, F16, BF16], 4>:$query,
    Ring_ShapedOf<[F32, F16, BF16], 4>:$key,
    Ring_ShapedOf<[F32, F16, BF16], 4>:$value,
    Ring_SlicesType:$slices,
    Optional<Ring_ShapedOf<[F32, F16, BF16], 4>>:$bias,
    F32Attr:$scale,
    OptionalAttr<F32Attr>:$softcap,
    Ring_ShapedOf<[F32], 4>:$acc,
    Ring_ShapedOf<[F32], 3>:$max,
    Ring_ShapedOf<[F32], 3>:$sum);
  let results = (outs Variadic<AnyTypeOf<[AnyTensor]>>:$results);
  let regions = (region MaxSizedRegion<1>:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $value `slices` `(` $slices `)`
    (`bias` `(` $bias^ `)`)?
    `scale` `(` $scale `)` (`softcap` `(` $softcap^ `)`)?
    `outs` `(` $acc `,` $max `,` $sum `)`
    (`score` custom<Score>($score)^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() {
      unsigned first = getAccMutable().getOperandNumber();
      return MutableOperandRange(getOperation(), first, 3);
    }
    bool hasScore() { return !getScore().empty(); }
  }];
}

def Ring_MergeOp : Ring_StateOp<"merge", []> {
  let summary = "the associative operator on two states";
  let description = [{
    Merges the state `ins` into the state `outs`, row by row: with
    m = max(m1, m2), acc = acc1 * exp(m1 - m) + acc2 * exp(m2 - m), and
    likewise for sum. The identity is (0, -inf, 0); merging with it changes no
    bit.

    Example:

    ```mlir
    %a, %m, %l = ring.merge ins(%a1, %m1, %l1) outs(%a0, %m0, %l0)
      : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>,
         tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
      -> (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>)
    ```

    Constraints:
    - in both states acc is [batch, heads, Lq, dv], max and sum are
      [batch, heads, Lq];
    - both states are all tensors, or all memrefs.
  }];
  let arguments = (ins
    Ring_ShapedOf<[F32], 4>:$other_acc,
    Ring_ShapedOf<[F32], 3>:$other_max, Ring_ShapedOf<[F32], 3>:$other_sum,
    Ring_ShapedOf<[F32], 4>:$acc,
    Ring_ShapedOf<[F32], 3>:$max, Ring_ShapedOf<[F32], 3>:$sum);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $other_acc `,` $other_max `,` $other_sum `)`
    `outs` `(` $acc `,` $max `,` $sum `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() {
      return MutableOperandRange(getOperation(), 3, 3);
    }
  }];
}

def Ring_FinalizeOp : Ring_StateOp<"finalize", [AttrSizedOperandSegments]> {
  let summary = "the result of a state";
  let description = [{
    out = acc / sum and lse = max + log(sum), natural logarithm. Sinks, one per
    head, enter here and only here: each adds exp(sink - max) to the sum of its
    head's rows, with max raised to the sink first. A row whose sum was 0 before
    the sink saw nothing. Its lse is -inf, or the sink; its out is 0, or as
    `empty_rows` says: NaN (`nan`), or the row of `mean` for its batch entry and
    key/value head (`uniform`). What `outs` held before is not read.

    Example:

    ```mlir
    %out, %lse = ring.finalize %acc, %max, %sum outs(%o, %l)
      : (tensor<1x8x?x64xf32>, tensor<1x8x?xf32>, tensor<1x8x?xf32>,
         tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
      -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
    ```

    Constraints:
    - acc is [batch, heads, Lq, dv], max and sum are [batch, heads, Lq];
    - out has the shape of acc, lse that of max; sinks are [heads];
    - `mean` comes with `empty_rows(uniform)` and is [batch, kv_heads, dv], where
      heads are a multiple of kv_heads;
    - the state and `outs` are all tensors, or all memrefs.
  }];
  let arguments = (ins
    Ring_ShapedOf<[F32], 4>:$acc,
    Ring_ShapedOf<[F32], 3>:$max, Ring_ShapedOf<[F32], 3>:$sum,
    Optional<Ring_ShapedOf<[F32], 1>>:$sinks,
    Optional<Ring_ShapedOf<[F32], 3>>:$mean,
    Ring_ShapedOf<[F32, F16, BF16], 4>:$out,
    Optional<Ring_ShapedOf<[F32], 3>>:$lse,
    OptionalAttr<Ring_EmptyRowsAttr>:$empty_rows);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    $acc `,` $max `,` $sum (`sinks` `(` $sinks^ `)`)?
    (`empty_rows` `(` custom<EmptyRows>($empty_rows)^ `)`)?
    (`mean` `(` $mean^ `)`)?
    `outs` `(` $out (`,` $lse^)? `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() {
      unsigned first = getOutMutable().getOperandNumber();
      return MutableOperandRange(getOperation(), first, getLse() ? 2 : 1);
    }
  }];
}

#endif // RING_DIALECT_RING_IR_RINGATTENTIONOPS_TD
