//===- RingOps.cpp - What ODS generates for the ops -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/RingDialect.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Custom directives of the assembly formats
//===----------------------------------------------------------------------===//

/// `zero`, without the brackets that the attribute has elsewhere.
static ParseResult parseEmptyRows(OpAsmParser &parser, EmptyRowsAttr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<EmptyRows> value = symbolizeEmptyRows(name);
  if (!value)
    return parser.emitError(loc) << "unknown empty_rows '" << name
                                 << "', expected zero, uniform or nan";
  attr = EmptyRowsAttr::get(parser.getContext(), *value);
  return success();
}

static void printEmptyRows(OpAsmPrinter &printer, Operation *,
                           EmptyRowsAttr attr) {
  printer << stringifyEmptyRows(attr.getValue());
}

/// `!ring.future<...>`, which a declarative format would shorten to `<...>`.
static ParseResult parseWholeType(OpAsmParser &parser, Type &type) {
  return parser.parseType(type);
}

static void printWholeType(OpAsmPrinter &printer, PermuteWaitOp, Type type) {
  printer << type;
}

/// An operation outside `region` that uses a value from it; null if none does.
/// While `region` is parsed it has no parent, nor have those around it.
static Operation *findUserOutside(Region &region) {
  auto isInside = [&](Operation *user) {
    for (; user; user = user->getParentOp())
      if (user->getParentRegion() == &region)
        return true;
    return false;
  };
  Operation *found = nullptr;
  auto look = [&](ValueRange values) {
    for (Value value : values)
      for (Operation *user : value.getUsers())
        if (!isInside(user))
          found = user;
  };
  auto lookAtArguments = [&](Region &of) {
    for (Block &block : of)
      look(block.getArguments());
  };
  lookAtArguments(region);
  region.walk([&](Operation *op) {
    look(op->getResults());
    llvm::for_each(op->getRegions(), lookAtArguments);
  });
  return found;
}

/// A score region. The parser that ODS generates destroys the region where what
/// follows it is wrong, and operations before it may have named its values:
/// they would be left with uses in freed memory. So those are an error here.
static ParseResult parseScore(OpAsmParser &parser, Region &score) {
  SMLoc loc = parser.getCurrentLocation();
  ParseResult parsed = parser.parseRegion(score);
  Operation *user = findUserOutside(score);
  if (parsed || user)
    for (Block &block : score)
      block.dropAllDefinedValueUses();
  if (parsed)
    return failure();
  if (user) {
    InFlightDiagnostic error =
        parser.emitError(loc, "a value of the score region is used outside it");
    error.attachNote(user->getLoc()) << "used here";
    return error;
  }
  if (score.empty())
    score.emplaceBlock();
  return success();
}

static void printScore(OpAsmPrinter &printer, Operation *, Region &score) {
  printer.printRegion(score);
}

#define GET_OP_CLASSES
#include "ring/Dialect/Ring/IR/RingOps.cpp.inc"
