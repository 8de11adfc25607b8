//===- ScheduleValues.cpp - What a value is to a rank ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleInterpreter.h"

using namespace mlir;
using namespace mlir::ring;

InFlightDiagnostic ScheduleInterpreter::cannotVerify(Operation *op) const {
  return op->emitError("cannot verify: ");
}

void ScheduleInterpreter::assign(ValueRange targets,
                                 ArrayRef<AbstractValue> sources) {
  for (auto [target, source] : llvm::zip_equal(targets, sources))
    values[target] = source;
}

void ScheduleInterpreter::assignInteger(Value target, int64_t value) {
  values[target] = {Kind::Constant, IntegerAttr::get(target.getType(), value)};
}

FailureOr<ScheduleInterpreter::AbstractValue>
ScheduleInterpreter::expect(Kind kind, Operation *user, Value value,
                            StringRef what) {
  AbstractValue known = lookup(value);
  if (known.kind == kind)
    return known;
  InFlightDiagnostic diag = cannotVerify(user)
                            << what << " is not known on rank " << rank;
  if (known.origin)
    diag.attachNote(known.origin->getLoc())
        << "it comes from '" << known.origin->getName() << "'";
  return diag;
}

FailureOr<int64_t> ScheduleInterpreter::expectInteger(Operation *user,
                                                      Value value,
                                                      StringRef what) {
  FailureOr<AbstractValue> known = expect(Kind::Constant, user, value, what);
  if (failed(known))
    return failure();
  auto integer = dyn_cast<IntegerAttr>(known->attribute);
  if (!integer || !integer.getValue().isSignedIntN(64))
    return cannotVerify(user) << what << " is no 64-bit integer";
  return integer.getValue().getSExtValue();
}

FailureOr<BlockRef>
ScheduleInterpreter::expectBlock(Operation *user, Value value, StringRef what) {
  FailureOr<AbstractValue> known = expect(Kind::Block, user, value, what);
  if (failed(known))
    return failure();
  return BlockRef{known->index, known->part};
}

FailureOr<FixedInput>
ScheduleInterpreter::expectFixed(Operation *user, Value value, StringRef what) {
  AbstractValue known = lookup(value);
  if (known.kind == Kind::Constant)
    return FixedInput{known.attribute, -1};
  if (known.kind == Kind::Block && known.index == BlockRef::kOwn)
    return FixedInput{{}, known.part};
  InFlightDiagnostic diag = cannotVerify(user)
                            << what
                            << " neither a constant nor an argument on rank "
                            << rank;
  if (known.origin)
    diag.attachNote(known.origin->getLoc())
        << "it comes from '" << known.origin->getName() << "'";
  return diag;
}

LogicalResult
ScheduleInterpreter::expectOptional(Operation *user, Value value,
                                    StringRef what,
                                    std::optional<FixedInput> &input) {
  if (!value)
    return success();
  FailureOr<FixedInput> known = expectFixed(user, value, what);
  if (failed(known))
    return failure();
  input = *known;
  return success();
}

/// True iff all elements are `expected`.
static bool isFilledWith(Attribute attribute, const APFloat &expected) {
  if (auto dense = dyn_cast_or_null<DenseFPElementsAttr>(attribute))
    return dense.isSplat() &&
           dense.getSplatValue<APFloat>().bitwiseIsEqual(expected);
  auto scalar = dyn_cast_or_null<FloatAttr>(attribute);
  return scalar && scalar.getValue().bitwiseIsEqual(expected);
}

FailureOr<int64_t> ScheduleInterpreter::expectState(Operation *user, Value acc,
                                                    Value max, Value sum) {
  AbstractValue known[] = {lookup(acc), lookup(max), lookup(sum)};
  constexpr StringLiteral names[] = {"acc", "max", "sum"};
  APFloat zero = APFloat::getZero(APFloat::IEEEsingle());
  APFloat infinity = APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true);
  if (llvm::all_of(known, [](const AbstractValue &value) {
        return value.kind == Kind::Filled || value.kind == Kind::Constant;
      })) {
    for (auto [part, value] : llvm::enumerate(known))
      if (!isFilledWith(value.attribute, part == 1 ? infinity : zero))
        return user->emitError(names[part])
               << " of the first state is not filled with "
               << (part == 1 ? "-inf" : "0") << " on rank " << rank;
    return StateNode::kIdentity;
  }
  for (auto [part, value] : llvm::enumerate(known)) {
    if (value.kind == Kind::Unknown || value.kind == Kind::Block) {
      InFlightDiagnostic diag =
          cannotVerify(user) << names[part] << " is not known on rank " << rank;
      if (value.origin)
        diag.attachNote(value.origin->getLoc())
            << "it comes from '" << value.origin->getName() << "'";
      return diag;
    }
    if (value.kind != Kind::State || value.index != known[0].index ||
        value.part != static_cast<int64_t>(part))
      return user->emitError("acc, max and sum are not those of one state on "
                             "rank ")
             << rank;
  }
  return known[0].index;
}

void ScheduleInterpreter::assignState(ResultRange results, StateNode node) {
  auto index = static_cast<int64_t>(trace.states.size());
  trace.states.push_back(node);
  for (auto [part, result] : llvm::enumerate(results))
    values[result] = {Kind::State, {}, index, static_cast<int64_t>(part)};
}
