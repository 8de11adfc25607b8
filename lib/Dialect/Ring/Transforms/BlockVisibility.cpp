//===- BlockVisibility.cpp - Which blocks a rank sees ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockVisibility.h"

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

using namespace mlir;
using namespace mlir::ring;

BlockVisibility::BlockVisibility(const WorkList &work) {
  SlicesOp op = work.op;
  auto queries = parseTable(op.getQueryTable());
  auto keys = parseTable(op.getKeyTable());
  MaskAttr attr = op.getMaskAttr();
  if (!queries || !keys || movesQueries(op))
    return;
  known = true;
  tables = {std::move(*queries), std::move(*keys)};
  keyCount = tables.keyView().sequenceLength();
  if (attr)
    mask = attr.bind(tables.queryView().sequenceLength(), keyCount);
}

bool BlockVisibility::isVisible(int64_t rank, int64_t owner) const {
  if (!known)
    return true;
  ::ring::RingBlock block{mask, tables.queryView().of(rank),
                          tables.keyView().of(owner), keyCount};
  // The cursor answers "nothing" fast, and "something" not always exactly.
  int64_t base = 0;
  for (const ::ring::LayoutEntry &entry : block.queries) {
    ::ring::Interval range{base, base + entry.size()};
    base = range.end;
    ::ring::KeyRange found;
    if (!range.empty() &&
        ::ring::KeyRangeCursor(block, range, /*classify=*/true).next(found))
      return ::ring::visiblePairs(block) > 0;
  }
  return false;
}
