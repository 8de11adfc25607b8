//===- ProgramIdentity.cpp - What ranks compare before they begin ---------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramIdentity.h"

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mlir::ring;

/// Length of the sequence that a table deals, in words. Nobody has checked the
/// table yet.
static std::string lengthOf(Value table, StringRef what) {
  auto entries = parseTable(table);
  if (!entries)
    return ("any number of " + what).str();
  int64_t length = 0;
  for (const ::ring::LayoutEntry &entry : *entries) {
    if (entry.empty())
      continue;
    auto size = llvm::checkedMul(entry.block, entry.count);
    auto sum = size ? llvm::checkedAdd(length, *size) : std::nullopt;
    if (!sum)
      return ("too many " + what).str();
    length = *sum;
  }
  return (Twine(length) + " " + what).str();
}

/// Fields that are separated by "; ", which ring_begin relies on.
static std::string describe(func::FuncOp function) {
  SmallVector<std::string> fields;
  auto add = [&](auto print) {
    std::string field;
    llvm::raw_string_ostream os(field);
    print(os);
    if (!llvm::is_contained(fields, field)) // rounds say the same
      fields.push_back(field);
  };
  function.walk([&](shard::ProcessLinearIndexOp op) {
    if (auto grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(
            op, op.getGridAttr()))
      add([&](auto &os) {
        os << ShapedType::getNumElements(grid.getShape()) << " ranks";
      });
  });
  if (Attribute layout = function->getAttr(kLayoutAttrName))
    add([&](auto &os) { os << "layout " << layout; });
  function.walk([&](SlicesOp op) {
    add([&](auto &os) { os << lengthOf(op.getQueryTable(), "queries"); });
    add([&](auto &os) { os << lengthOf(op.getKeyTable(), "keys"); });
    add([&](auto &os) {
      os << "mask ";
      op.getMaskAttr() ? os << op.getMaskAttr() : os << "none";
      for (auto [operand, name] : {std::pair(op.getQuerySegments(), "segments"),
                                   {op.getLengths(), "lengths"},
                                   {op.getOffsets(), "offsets"}})
        if (operand)
          os << " with " << name;
    });
  });
  add([&](auto &os) { os << function.getFunctionType(); });
  return llvm::join(fields, "; ");
}

void mlir::ring::identifyProgram(func::FuncOp function) {
  if (function->hasAttr(kFingerprintAttrName))
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  function->print(os, OpPrintingFlags().elideLargeElementsAttrs(INT64_MAX));
  auto hash = static_cast<int64_t>(llvm::xxh3_64bits(text));
  Builder b(function.getContext());
  function->setAttr(kFingerprintAttrName, b.getI64IntegerAttr(hash));
  function->setAttr(kProgramAttrName, b.getStringAttr(describe(function)));
}
