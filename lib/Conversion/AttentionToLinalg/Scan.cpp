//===- Scan.cpp - Running sums --------------------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scan.h"

#include "../UnlinkedOp.h"

#include "ring/Dialect/Ring/Transforms/ConstantTensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
struct Scan {
  Value input, accumulator;
  RankedTensorType type;
  int64_t dim;
  bool inclusive;
};
} // namespace

static bool isSum(Operation *op) {
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return false;
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2 ||
      block.back().getNumOperands() != 1)
    return false;
  Operation *sum = block.back().getOperand(0).getDefiningOp();
  return isa_and_nonnull<arith::AddIOp, arith::AddFOp>(sum) &&
         sum->getBlock() == &block &&
         llvm::all_of(block.getArguments(), [&](Value argument) {
           return llvm::is_contained(sum->getOperands(), argument);
         });
}

static FailureOr<Scan> readScan(Operation *op) {
  if (failed(checkAttributes(
          op, {"dimension", "inclusive", "operandSegmentSizes"})))
    return failure();
  auto dim = op->getAttrOfType<IntegerAttr>("dimension");
  auto inclusive = op->getAttrOfType<BoolAttr>("inclusive");
  if (op->getNumOperands() != 3 || op->getNumResults() != 2 || !dim ||
      !inclusive)
    return emitNamedError(op) << "has " << op->getNumOperands()
                              << " operands, expected input, output and "
                                 "accumulator, with a dimension and whether it "
                                 "is inclusive";
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!type || !type.hasStaticShape() ||
      !type.getElementType().isIntOrFloat() ||
      op->getResult(0).getType() != type)
    return emitNamedError(op)
           << "has an input of type " << op->getOperand(0).getType()
           << ", expected a tensor of static shape, as its result is";
  int64_t place = dim.getValue().getSExtValue();
  if (place < 0 || place >= type.getRank())
    return emitNamedError(op)
           << "runs along dimension " << place << " of " << type.getRank();
  SmallVector<int64_t> rest(type.getShape());
  rest.erase(rest.begin() + place);
  if (op->getOperand(2).getType() != type.clone(rest))
    return emitNamedError(op)
           << "has an accumulator of type " << op->getOperand(2).getType()
           << ", expected " << type.clone(rest);
  // For one element, its accumulator is not what it is for more.
  if (!op->getResult(1).use_empty())
    return emitNamedError(op) << "has a use of its last sum, which is not "
                                 "supported";
  if (!isSum(op))
    return emitNamedError(op)
           << "combines elements by something else than an addition";
  return Scan{op->getOperand(0), op->getOperand(2), type, place,
              inclusive.getValue()};
}

/// The sums of integers that follow from constants. Raising attention looks at
/// a list, not into a loop.
static Value foldSums(OpBuilder &b, Location loc, const Scan &scan) {
  if (!isa<IntegerType>(scan.type.getElementType()))
    return {};
  ConstantTensors constants;
  const std::vector<Attribute> *input = constants.evaluate(scan.input);
  const std::vector<Attribute> *start =
      scan.inclusive ? nullptr : constants.evaluate(scan.accumulator);
  if (!input || (!scan.inclusive && !start))
    return {};
  int64_t size = scan.type.getDimSize(scan.dim), inner = 1;
  for (int64_t after : scan.type.getShape().drop_front(scan.dim + 1))
    inner *= after;
  std::vector<APInt> sums;
  for (auto [place, element] : llvm::enumerate(*input)) {
    auto valueOf = [](Attribute a) { return cast<IntegerAttr>(a).getValue(); };
    int64_t row = static_cast<int64_t>(place) / (inner * size) * inner +
                  static_cast<int64_t>(place) % inner;
    bool first = static_cast<int64_t>(place) / inner % size == 0;
    APInt before = first ? (scan.inclusive ? valueOf(element) - valueOf(element)
                                           : valueOf((*start)[row]))
                         : sums[place - inner];
    if (scan.inclusive)
      sums.push_back(before + valueOf(element));
    else
      sums.push_back(first ? before
                           : before + valueOf((*input)[place - inner]));
  }
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(scan.type, ArrayRef<APInt>(sums)));
}

/// A loop over the dimension that carries the sum, of which the dimension keeps
/// size 1.
static Value buildLoop(OpBuilder &b, Location loc, const Scan &scan) {
  Type element = scan.type.getElementType();
  int64_t rank = scan.type.getRank();
  SmallVector<int64_t> shape(scan.type.getShape());
  shape[scan.dim] = 1;
  RankedTensorType sumType = scan.type.clone(shape);
  Value sum;
  if (scan.inclusive) {
    // -0.0 is the float that changes no other, not even its sign.
    TypedAttr none = isa<FloatType>(element)
                         ? TypedAttr(b.getFloatAttr(element, -0.0))
                         : TypedAttr(b.getIntegerAttr(element, 0));
    Value empty = tensor::EmptyOp::create(b, loc, shape, element);
    sum =
        linalg::FillOp::create(
            b, loc, arith::ConstantOp::create(b, loc, none).getResult(), empty)
            .getResult(0);
  } else {
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 0; dim < rank; ++dim) {
      // The new dimension joins its neighbour.
      bool joins = dim == scan.dim ? dim != 0 : scan.dim == 0 && dim == 1;
      if (!joins)
        groups.push_back({});
      groups.back().push_back(dim);
    }
    if (rank == 1)
      groups.clear();
    sum = tensor::ExpandShapeOp::create(b, loc, sumType, scan.accumulator,
                                        groups);
  }
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value init = tensor::EmptyOp::create(b, loc, scan.type.getShape(), element);
  auto loop = scf::ForOp::create(
      b, loc, index(0), index(scan.type.getDimSize(scan.dim)), index(1),
      ValueRange{init, sum},
      [&](OpBuilder &nested, Location at, Value i, ValueRange carried) {
        SmallVector<OpFoldResult> offsets(rank, nested.getIndexAttr(0)),
            sizes = getAsIndexOpFoldResult(nested.getContext(), shape),
            strides(rank, nested.getIndexAttr(1));
        offsets[scan.dim] = i;
        Value part = tensor::ExtractSliceOp::create(
            nested, at, sumType, scan.input, offsets, sizes, strides);
        auto insert = [&](Value sums) -> Value {
          return tensor::InsertSliceOp::create(nested, at, sums, carried[0],
                                               offsets, sizes, strides);
        };
        // The sum is updated in place, so what is before it goes first.
        Value before = scan.inclusive ? Value() : insert(carried[1]);
        SmallVector<AffineMap> maps(2, nested.getMultiDimIdentityMap(rank));
        SmallVector<utils::IteratorType> iterators(
            rank, utils::IteratorType::parallel);
        Value next =
            linalg::GenericOp::create(
                nested, at, TypeRange(sumType), part, carried[1], maps,
                iterators,
                [&](OpBuilder &inside, Location in, ValueRange x) {
                  Value added =
                      isa<FloatType>(element)
                          ? arith::AddFOp::create(inside, in, x[1], x[0])
                                .getResult()
                          : arith::AddIOp::create(inside, in, x[1], x[0])
                                .getResult();
                  linalg::YieldOp::create(inside, in, added);
                })
                ->getResult(0);
        Value result = before ? before : insert(next);
        scf::YieldOp::create(nested, at, ValueRange{result, next});
      });
  return loop.getResult(0);
}

LogicalResult mlir::ring::convertScan(OpBuilder &b, Operation *op) {
  FailureOr<Scan> scan = readScan(op);
  if (failed(scan))
    return failure();
  Value sums = foldSums(b, op->getLoc(), *scan);
  if (!sums)
    sums = buildLoop(b, op->getLoc(), *scan);
  op->getResult(0).replaceAllUsesWith(sums);
  op->erase();
  return success();
}
