//===- RingCommunicationOps.cpp - Moving data -----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ring;

/// The grid exists, has this axis, and it is a ring of a static size.
static LogicalResult verifyGrid(Operation *op, FlatSymbolRefAttr symbol,
                                int64_t axis, SymbolTableCollection &tables) {
  Operation *target = tables.lookupNearestSymbolFrom(op, symbol);
  if (!target)
    return op->emitOpError("unknown grid ") << symbol;
  auto grid = dyn_cast<shard::GridOp>(target);
  if (!grid) {
    InFlightDiagnostic diag = op->emitOpError()
                              << symbol << " is no shard.grid";
    diag.attachNote(target->getLoc()) << "the symbol is here";
    return diag;
  }
  ArrayRef<int64_t> shape = grid.getShape();
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) {
    InFlightDiagnostic diag = op->emitOpError("axis ")
                              << axis << " of grid " << symbol
                              << " does not exist, it has " << shape.size()
                              << (shape.size() == 1 ? " axis" : " axes");
    diag.attachNote(grid.getLoc()) << "the grid is here";
    return diag;
  }
  if (ShapedType::isDynamic(shape[axis])) {
    InFlightDiagnostic diag = op->emitOpError("axis ")
                              << axis << " of grid " << symbol
                              << " has no static size";
    diag.attachNote(grid.getLoc()) << "the grid is here";
    return diag;
  }
  if (shape[axis] < 1 || shape[axis] > kMaxRingSize) {
    InFlightDiagnostic diag = op->emitOpError("axis ")
                              << axis << " of grid " << symbol << " has "
                              << shape[axis] << " ranks, expected 1 to "
                              << kMaxRingSize;
    diag.attachNote(grid.getLoc()) << "the grid is here";
    return diag;
  }
  return success();
}

/// True iff the ring has one rank, so that nothing travels.
template <typename GridUser> static bool hasOneRank(GridUser op) {
  auto grid =
      SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, op.getGridAttr());
  return grid && grid.getShape()[op.getAxis()] == 1;
}

//===----------------------------------------------------------------------===//
// OwnerOp
//===----------------------------------------------------------------------===//

LogicalResult OwnerOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyGrid(*this, getGridAttr(), getAxis(), tables);
}

namespace {
/// The one rank of a ring owns every block.
struct OwnerOfOneRank : OpRewritePattern<OwnerOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(OwnerOp op,
                                PatternRewriter &rewriter) const override {
    if (!hasOneRank(op))
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, 0);
    return success();
  }
};
} // namespace

void OwnerOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<OwnerOfOneRank>(context);
}

//===----------------------------------------------------------------------===//
// Permute ops
//===----------------------------------------------------------------------===//

namespace {
/// Transfers on one axis run in order: starts and waits are not reordered,
/// merged or dropped.
struct TransportResource : SideEffects::Resource::Base<TransportResource> {
  StringRef getName() final { return "RingTransport"; }
};
} // namespace

LogicalResult PermuteStartOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> loc,
                                               ValueRange operands,
                                               DictionaryAttr, OpaqueProperties,
                                               RegionRange,
                                               SmallVectorImpl<Type> &types) {
  TypeRange sources = operands.getTypes();
  auto all = [&](auto isKind) { return llvm::all_of(sources, isKind); };
  if (sources.size() == 1 && isa<FutureType>(sources.front())) {
    types.push_back(sources.front());
    return success();
  }
  if (sources.empty() || (!all([](Type type) {
        return isa<RankedTensorType>(type);
      }) && !all([](Type type) { return isa<MemRefType>(type); })))
    return emitOptionalError(
        loc, "permute of (", sources,
        "), expected ranked tensors, memrefs or one future");
  types.push_back(FutureType::get(context, llvm::to_vector(sources)));
  return success();
}

LogicalResult PermuteStartOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyGrid(*this, getGridAttr(), getAxis(), tables);
}

void PermuteStartOp::getEffects(MemoryEffectList &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), TransportResource::get());
  for (OpOperand &source : getSourcesMutable())
    if (isa<MemRefType>(source.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &source,
                           SideEffects::DefaultResource::get());
}

LogicalResult PermuteWaitOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> loc,
                                              ValueRange operands,
                                              DictionaryAttr, OpaqueProperties,
                                              RegionRange,
                                              SmallVectorImpl<Type> &types) {
  if (operands.size() != 1 || !isa<FutureType>(operands.front().getType()))
    return emitOptionalError(loc, "wait for (", operands.getTypes(),
                             "), expected one future");
  auto future = cast<FutureType>(operands.front().getType());
  llvm::append_range(types, future.getPayload());
  return success();
}

void PermuteWaitOp::getEffects(MemoryEffectList &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), TransportResource::get());
}

namespace {
/// On a ring of one rank what arrives is what was sent.
struct WaitOfOneRank : OpRewritePattern<PermuteWaitOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PermuteWaitOp op,
                                PatternRewriter &rewriter) const override {
    auto start = op.getFuture().getDefiningOp<PermuteStartOp>();
    if (!start || !hasOneRank(start))
      return failure();
    if (start.getForwarded())
      rewriter.modifyOpInPlace(
          op, [&] { op.getFutureMutable().assign(start.getForwarded()); });
    else
      rewriter.replaceOp(op, start.getSources());
    return success();
  }
};

/// What `WaitOfOneRank` leaves: a start that nobody waits for.
struct StartOfOneRank : OpRewritePattern<PermuteStartOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PermuteStartOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.use_empty() || !hasOneRank(op))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void PermuteStartOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {
  patterns.add<StartOfOneRank>(context);
}

void PermuteWaitOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add<WaitOfOneRank>(context);
}

//===----------------------------------------------------------------------===//
// Scatter and gather
//===----------------------------------------------------------------------===//

/// `local` is `whole` with `dim` made dynamic.
static LogicalResult verifyBoundary(Operation *op, Type whole, Type local,
                                    int64_t dim, Value table) {
  auto type = cast<RankedTensorType>(whole);
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("dim is ")
           << dim << ", expected a dimension of " << type;
  if (localType(type, dim) != local)
    return op->emitOpError("local type is ")
           << local << ", expected " << localType(type, dim);
  return verifyTable(op, table);
}

LogicalResult ScatterOp::verify() {
  return verifyBoundary(*this, getSource().getType(), getLocal().getType(),
                        getDim(), getTable());
}
LogicalResult ScatterOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyGrid(*this, getGridAttr(), getAxis(), tables);
}

LogicalResult GatherOp::verify() {
  auto type = cast<RankedTensorType>(getWhole().getType());
  if (static_cast<int64_t>(getSizes().size()) !=
      static_cast<int64_t>(type.getNumDynamicDims()))
    return emitOpError("has ")
           << getSizes().size() << " sizes, expected one for each of the "
           << type.getNumDynamicDims() << " dynamic dimensions of " << type;
  return verifyBoundary(*this, type, getLocal().getType(), getDim(),
                        getTable());
}
LogicalResult GatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyGrid(*this, getGridAttr(), getAxis(), tables);
}
LogicalResult GatherOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &shapes) {
  auto type = cast<RankedTensorType>(getWhole().getType());
  shapes.push_back(getMixedValues(type.getShape(), getSizes(), b));
  return success();
}
