//===- HLOOp.h - A StableHLO op in generic form -----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The StableHLO dialect is not linked, so its ops are unregistered and their
// attributes are text. Each accessor says at the op what it does not
// understand.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_STABLEHLOTOLINALG_HLOOP_H
#define RING_LIB_CONVERSION_STABLEHLOTOLINALG_HLOOP_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::ring {

class HLOOp {
public:
  /// `op` is one for which `isHLO` holds.
  explicit HLOOp(Operation *op) : op(op) {}

  /// True iff `op` is of the StableHLO or of the CHLO dialect.
  static bool isHLO(Operation *op);

  /// `add` of `stablehlo.add`, `chlo.square` of `chlo.square`.
  StringRef name() const;

  Operation *operator->() const { return op; }
  Operation *get() const { return op; }

  /// Operands and results are counted as given, the results are ranked tensors
  /// of static shape, and no attribute is there but those of `known` and ones
  /// of other dialects.
  LogicalResult check(int64_t operands, int64_t results,
                      ArrayRef<StringRef> known) const;

  RankedTensorType operandType(unsigned i) const {
    return cast<RankedTensorType>(op->getOperand(i).getType());
  }
  RankedTensorType resultType(unsigned i = 0) const {
    return cast<RankedTensorType>(op->getResult(i).getType());
  }

  /// `array<i64: ...>`, or `dense<...>` of one dimension as older files have
  /// it.
  FailureOr<SmallVector<int64_t>> integers(StringRef attribute) const;
  FailureOr<int64_t> integer(StringRef attribute) const;

  /// `GE` of `#stablehlo<comparison_direction GE>`.
  FailureOr<StringRef> keyword(StringRef attribute, StringRef kind) const;

  /// The fields of `#stablehlo.dot<a = [1, 2], b = 3>`, of which all are in
  /// `known`. A single number is a list of one; what is absent is empty.
  FailureOr<llvm::StringMap<SmallVector<int64_t>>>
  fields(StringRef attribute, StringRef kind, ArrayRef<StringRef> known) const;

  InFlightDiagnostic error() const;

private:
  FailureOr<StringRef> text(StringRef attribute) const;

  Operation *op;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_STABLEHLOTOLINALG_HLOOP_H
