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

#define GET_OP_CLASSES
#include "ring/Dialect/Ring/IR/RingOps.cpp.inc"
