//===- Verification.h - Checks that several ops share -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check emits an error at the op, with what was expected and what it got.
// Sizes that are dynamic agree with any size.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_IR_VERIFICATION_H
#define RING_LIB_DIALECT_RING_IR_VERIFICATION_H

#include "ring/Dialect/Ring/IR/RingDialect.h"

namespace mlir::ring {

/// True iff two sizes can be equal at run time.
bool areCompatible(int64_t a, int64_t b);

/// The size as types spell it: a number, or `?`.
std::string sizeText(int64_t size);

/// The sizes that query, key and value determine. Heads and head sizes are
/// static and positive, the others may be dynamic.
struct AttentionSizes {
  int64_t batch, heads, keyHeads, queries, keys, depth, valueDepth;
};

/// Query [batch, heads, Sq, d], key [batch, kv_heads, Sk, d] and value [batch,
/// kv_heads, Sk, dv] against one another; returns their sizes.
FailureOr<AttentionSizes> verifyInputs(Operation *op, ShapedType query,
                                       ShapedType key, ShapedType value);

/// The shape of `type`, named `what`, is `expected`.
LogicalResult expectShape(Operation *op, StringRef what, ShapedType type,
                          ArrayRef<int64_t> expected);

/// As `expectShape` for a tensor with heads in dimension 1 and, where it has
/// four, a head size in dimension 3; these must be static.
LogicalResult expectHeadShape(Operation *op, StringRef what, ShapedType type,
                              ArrayRef<int64_t> expected);

/// `bias` is [1 or batch, 1 or heads, 1 or queries, keys] of f32 or `element`.
LogicalResult verifyBias(Operation *op, Value bias, Type element,
                         const AttentionSizes &sizes, int64_t keys);

/// Both segments are given, or none.
LogicalResult verifySegmentPair(Operation *op, Value query, Value key);

/// Segments come in pairs, all run-time operands of `op`, a `ring.slices` or
/// `ring.tables`, are of one batch size, and offsets exclude `align`.
template <typename OpTy> LogicalResult verifyRunTimeVisibility(OpTy op) {
  if (failed(verifySegmentPair(op, op.getQuerySegments(), op.getKeySegments())))
    return failure();
  int64_t batch = ShapedType::kDynamic;
  for (Value value : {op.getQuerySegments(), op.getKeySegments(),
                      op.getLengths(), op.getOffsets()}) {
    if (!value)
      continue;
    int64_t size = cast<ShapedType>(value.getType()).getDimSize(0);
    if (!areCompatible(size, batch))
      return op.emitOpError("operands have batch sizes ")
             << batch << " and " << size << ", expected one";
    if (!ShapedType::isDynamic(size))
      batch = size;
  }
  if (op.getOffsets() && op.getMask() && op.getMask()->getAlign())
    return op.emitOpError("has both offsets and align, expected one of them");
  return success();
}

/// `scale` is finite, `softcap` finite and positive, where given.
LogicalResult verifyFactors(Operation *op, std::optional<APFloat> scale,
                            std::optional<APFloat> softcap);

/// A `score` region takes (f32, index, index, index, index), ends in
/// `ring.yield` and holds only what can be computed for any pair of indices, in
/// any order, on any target.
LogicalResult verifyScore(Operation *op, Region &region);

/// The operands of these groups, which are neither optional nor variadic, are
/// one each. ODS takes operandSegmentSizes for it, which the generic form
/// spells.
template <typename Op>
LogicalResult verifyRequiredOperands(Op op, ArrayRef<unsigned> groups) {
  for (unsigned group : groups)
    if (unsigned count = op.getODSOperandIndexAndLength(group).second;
        count != 1)
      return op.emitOpError("operandSegmentSizes gives operand group ")
             << group << " " << count << " operands, expected 1";
  return success();
}

/// From 1 to kMaxRingSize.
LogicalResult verifyRanks(Operation *op, int64_t ranks);

/// The layout table has five columns.
LogicalResult verifyTable(Operation *op, Value table);

/// The destinations of an op in destination style and `others` are all tensors
/// or all memrefs.
LogicalResult verifyOneSemantics(DestinationStyleOpInterface op,
                                 ValueRange others);

using MemoryEffectList =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Effects of an op in destination style on memrefs: reads its inputs, writes
/// its destinations, and reads them if `readsDestinations`. None on tensors.
void addDestinationEffects(DestinationStyleOpInterface op,
                           bool readsDestinations, MemoryEffectList &effects);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_IR_VERIFICATION_H
