//===- ScheduleInterpreter.h - Runs a rank function on names ----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes a rank function for one rank: integers are concrete, a tensor is
// the name of a block or of a state. What an unknown op makes is unknown, and
// using it as an integer, block, state or future is an error.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULEINTERPRETER_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULEINTERPRETER_H

#include "ScheduleTrace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ring {

class ScheduleInterpreter {
public:
  ScheduleInterpreter(func::FuncOp function, const ScheduleRing &ring)
      : function(function), ring(ring) {}
  ~ScheduleInterpreter();

  /// The events of `rank`. Fails, with an error at the op, on what it does not
  /// understand. The function is not changed.
  FailureOr<RankTrace> run(int64_t rank);

private:
  struct AbstractValue {
    enum class Kind {
      Unknown,
      Constant,  ///< `attribute`
      Filled,    ///< a tensor whose elements are all `attribute`
      Block,     ///< `index` as BlockRef::transfer, `part` as its position;
                 ///< any argument, also a scalar
      Future,    ///< of transfer `index`
      Slices,    ///< work list `index`
      State,     ///< component `part` (acc, max, sum) of state `index`
      Finalized, ///< result `part` of the ring.finalize `index`
    };
    Kind kind = Kind::Unknown;
    Attribute attribute;
    int64_t index = 0, part = 0;
    Operation *origin = nullptr; ///< who made an unknown value, if known
  };
  using Kind = AbstractValue::Kind;

  LogicalResult execute(Operation *op);
  /// Executes a block up to its terminator, whose operands it returns.
  LogicalResult execute(Block &block, SmallVectorImpl<AbstractValue> &yielded);

  LogicalResult visit(scf::ForOp op);
  LogicalResult visit(scf::IfOp op);
  LogicalResult visit(shard::ProcessLinearIndexOp op);
  LogicalResult visit(shard::ProcessMultiIndexOp op);
  LogicalResult visit(OwnerOp op);
  LogicalResult visit(SlicesOp op);
  LogicalResult visit(OnlineAttentionOp op);
  LogicalResult visit(MergeOp op);
  LogicalResult visit(FinalizeOp op);
  LogicalResult visit(PermuteStartOp op);
  LogicalResult visit(PermuteWaitOp op);
  LogicalResult visitFill(Operation *op, Value scalar);
  LogicalResult visitOther(Operation *op);
  /// Folds an op under the constants that its operands are in this execution.
  bool fold(Operation *op);
  LogicalResult checkGrid(Operation *op, FlatSymbolRefAttr grid,
                          std::optional<int64_t> axis);
  LogicalResult finish(func::ReturnOp op, ArrayRef<AbstractValue> results);

  AbstractValue lookup(Value value) const { return values.lookup(value); }
  void assign(ValueRange targets, ArrayRef<AbstractValue> sources);
  void assignInteger(Value target, int64_t value);
  InFlightDiagnostic cannotVerify(Operation *op) const;
  /// What `value` is to `user`, or an error.
  FailureOr<AbstractValue> expect(Kind kind, Operation *user, Value value,
                                  StringRef what);
  FailureOr<int64_t> expectInteger(Operation *user, Value value,
                                   StringRef what);
  FailureOr<BlockRef> expectBlock(Operation *user, Value value, StringRef what);
  /// `what` ends in its verb: "bias is".
  FailureOr<FixedInput> expectFixed(Operation *user, Value value,
                                    StringRef what);
  /// The same of an operand that may be missing.
  LogicalResult expectOptional(Operation *user, Value value, StringRef what,
                               std::optional<FixedInput> &input);
  FailureOr<int64_t> expectState(Operation *user, Value acc, Value max,
                                 Value sum);
  void assignState(ResultRange results, StateNode node);

  func::FuncOp function;
  const ScheduleRing &ring;
  int64_t rank = 0;
  int64_t time = 0;
  int64_t executedOps = 0;
  RankTrace trace;
  DenseMap<Value, AbstractValue> values;
  /// Copies of ops to fold, since folding may change the op.
  DenseMap<Operation *, Operation *> scratch;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULEINTERPRETER_H
