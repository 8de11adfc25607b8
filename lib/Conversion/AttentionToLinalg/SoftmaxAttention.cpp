//===- SoftmaxAttention.cpp - The definition of attention -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mlir::ring;

using utils::IteratorType;

namespace {
/// Makes linalg ops over a common set of loops.
class LoopBuilder {
public:
  LoopBuilder(OpBuilder &b, Location loc, ArrayRef<int64_t> sizes)
      : b(b), loc(loc), sizes(sizes) {}

  Value constant(float value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }

  /// A tensor over the loops `kept` that starts at `start` and is `element` of
  /// the inputs' elements and what there is so far, over all loops of `all`.
  Value generic(ArrayRef<unsigned> all, ArrayRef<unsigned> kept, Value start,
                ArrayRef<std::pair<Value, AffineMap>> inputs,
                function_ref<Value(OpBuilder &, ValueRange)> element) {
    SmallVector<int64_t> shape;
    for (unsigned loop : kept)
      shape.push_back(sizes[loop]);
    Value init = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
    if (start)
      init = linalg::FillOp::create(b, loc, start, init).getResult(0);
    // The op has the loops of `all` only.
    SmallVector<AffineExpr> place(sizes.size(), b.getAffineConstantExpr(0));
    SmallVector<IteratorType> iterators;
    for (auto [i, loop] : llvm::enumerate(all)) {
      place[loop] = b.getAffineDimExpr(i);
      iterators.push_back(llvm::is_contained(kept, loop)
                              ? IteratorType::parallel
                              : IteratorType::reduction);
    }
    auto rename = [&](AffineMap map) {
      return map.replaceDimsAndSymbols(place, {}, all.size(), 0);
    };
    SmallVector<Value> tensors;
    SmallVector<AffineMap> maps;
    for (auto [tensor, map] : inputs) {
      tensors.push_back(tensor);
      maps.push_back(rename(map));
    }
    maps.push_back(rename(mapOf(kept)));
    return linalg::GenericOp::create(
               b, loc, TypeRange(init.getType()), tensors, ValueRange(init),
               maps, iterators,
               [&](OpBuilder &nested, Location at, ValueRange arguments) {
                 linalg::YieldOp::create(nested, at,
                                         element(nested, arguments));
               })
        ->getResult(0);
  }

  AffineMap mapOf(ArrayRef<unsigned> loops) {
    SmallVector<AffineExpr> exprs;
    for (unsigned loop : loops)
      exprs.push_back(b.getAffineDimExpr(loop));
    return AffineMap::get(sizes.size(), 0, exprs, b.getContext());
  }

private:
  OpBuilder &b;
  Location loc;
  ArrayRef<int64_t> sizes;
};
} // namespace

Value SoftmaxAttention::build(OpBuilder &b, Location loc,
                              std::string &error) const {
  unsigned loops = queryMap.getNumDims();
  SmallVector<int64_t> sizes(loops, -1);
  auto fail = [&](const char *reason) {
    error = reason;
    return Value();
  };
  for (auto [tensor, map] :
       {std::pair(query, queryMap), std::pair(key, keyMap),
        std::pair(value, valueMap), std::pair(mask, maskMap)}) {
    if (!tensor)
      continue;
    auto type = cast<RankedTensorType>(tensor.getType());
    if (map.getNumDims() != loops || map.getNumSymbols() != 0 ||
        !map.isProjectedPermutation() || map.getNumResults() != type.getRank())
      return fail("has indexing maps that do not fit its operands");
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      int64_t &known = sizes[map.getDimPosition(i)];
      if (known != -1 && known != size)
        return fail("has operands whose sizes do not agree");
      known = size;
    }
  }
  if (outputMap.getNumDims() != loops || !outputMap.isProjectedPermutation())
    return fail("has an indexing map of its result that is no permutation");

  auto in = [](AffineMap map, unsigned loop) {
    return map && map.isFunctionOfDim(loop);
  };
  SmallVector<unsigned> batch, rows, channels, keys, depth;
  for (unsigned loop = 0; loop < loops; ++loop) {
    bool q = in(queryMap, loop), k = in(keyMap, loop), v = in(valueMap, loop),
         o = in(outputMap, loop);
    if (o && q)
      (k || v ? batch : rows).push_back(loop);
    else if (o && v && !k)
      channels.push_back(loop);
    else if (k && v && !q && !o)
      keys.push_back(loop);
    else if (q && k && !v && !o)
      depth.push_back(loop);
    else
      return fail("has a loop that is none of an attention's");
  }
  if (rows.empty() || keys.empty() || depth.empty() || channels.empty())
    return fail("has no loop over queries, keys or channels");
  for (unsigned loop = 0; mask && loop < loops; ++loop)
    if (in(maskMap, loop) &&
        (llvm::is_contained(channels, loop) || llvm::is_contained(depth, loop)))
      return fail("has a mask that depends on channels");

  auto join = [](ArrayRef<unsigned> a, ArrayRef<unsigned> c) {
    SmallVector<unsigned> result(a);
    llvm::append_range(result, c);
    return result;
  };
  SmallVector<unsigned> row = join(batch, rows), pair = join(row, keys);
  LoopBuilder build(b, loc, sizes);
  Value zero = build.constant(0);
  Value lowest = build.constant(-std::numeric_limits<float>::infinity());
  auto sumOfProducts = [&](OpBuilder &nested, ValueRange x) -> Value {
    Value product = arith::MulFOp::create(nested, loc, x[0], x[1]);
    return arith::AddFOp::create(nested, loc, x[2], product);
  };

  AffineMap pairMap = build.mapOf(pair), rowMap = build.mapOf(row);
  Value scores =
      build.generic(join(pair, depth), pair, zero,
                    {{query, queryMap}, {key, keyMap}}, sumOfProducts);
  scores =
      build.generic(pair, pair, nullptr, {{scores, pairMap}},
                    [&](OpBuilder &nested, ValueRange x) -> Value {
                      return arith::MulFOp::create(nested, loc, x[0], scale);
                    });
  if (mask) {
    bool isCondition =
        cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1);
    scores = build.generic(
        pair, pair, nullptr, {{scores, pairMap}, {mask, maskMap}},
        [&](OpBuilder &nested, ValueRange x) -> Value {
          if (isCondition)
            return arith::SelectOp::create(nested, loc, x[1], x[0], lowest);
          return arith::AddFOp::create(nested, loc, x[0], x[1]);
        });
  }
  Value max =
      build.generic(pair, row, lowest, {{scores, pairMap}},
                    [&](OpBuilder &nested, ValueRange x) -> Value {
                      return arith::MaximumFOp::create(nested, loc, x[1], x[0]);
                    });
  Value weights =
      build.generic(pair, pair, nullptr, {{scores, pairMap}, {max, rowMap}},
                    [&](OpBuilder &nested, ValueRange x) -> Value {
                      Value difference =
                          arith::SubFOp::create(nested, loc, x[0], x[1]);
                      return math::ExpOp::create(nested, loc, difference);
                    });
  Value sum =
      build.generic(pair, row, zero, {{weights, pairMap}},
                    [&](OpBuilder &nested, ValueRange x) -> Value {
                      return arith::AddFOp::create(nested, loc, x[1], x[0]);
                    });
  weights =
      build.generic(pair, pair, nullptr, {{weights, pairMap}, {sum, rowMap}},
                    [&](OpBuilder &nested, ValueRange x) -> Value {
                      return arith::DivFOp::create(nested, loc, x[0], x[1]);
                    });
  SmallVector<unsigned> output;
  for (unsigned i = 0; i < outputMap.getNumResults(); ++i)
    output.push_back(outputMap.getDimPosition(i));
  return build.generic(join(output, keys), output, zero,
                       {{weights, pairMap}, {value, valueMap}}, sumOfProducts);
}
